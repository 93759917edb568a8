// Package stats sums up repeated measurements.
package stats
