// Package gather is what all readers of logs share: the collector of samples by their
// source, quantities and their units, lines, numbers and times, and the bounds.
package gather
