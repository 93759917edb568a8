// Package pdhg solves linear programs nearly, by the primal-dual hybrid gradient method:
// a few thousand products of a sparse matrix and a vector, no factorisation. Whoever
// needs proof checks what it returns.
package pdhg
