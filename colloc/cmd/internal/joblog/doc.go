// Package joblog is the CSV file in which a sweep notes each task that is over.
// Whole rows are appended; the last row of a task counts. The columns are explained
// in the package comment of sweep.
package joblog
