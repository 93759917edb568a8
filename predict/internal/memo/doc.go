// Package memo remembers answers of functions that never change, in a [Table] of
// fixed size that any number of goroutines may read and write.
package memo
