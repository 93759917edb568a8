// Package report prints what a tidy table says: the noise floor, the throughput of sets,
// MPS against time-slicing, memory.
package report
