// Package draw makes errors out of names and seeds: the same question has the
// same answer, on every processor.
package draw
