// Package tail keeps the end of what a program prints, for the error that says
// why it failed.
package tail
