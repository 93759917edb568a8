// Package folds deals rows to the folds of a calibration: each is left out once,
// and what a fit without it says of it is an honest error.
package folds
