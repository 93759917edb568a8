// Package raw is the file of measurements as they were made: JSON Lines that only grow,
// a header, then a line for each workload's description and for each measured cell.
// Everything else, such as speeds, is worked out from it later.
package raw
