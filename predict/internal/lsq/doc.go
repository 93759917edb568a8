// Package lsq solves linear least squares: with coefficients of at least 0
// ([NNLS]), and as a ridge regression whose solution takes further rows one at a
// time ([Solve], [Posterior.Update]). It knows rows and columns only.
package lsq
