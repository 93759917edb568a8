//go:build !linux

package testbed

// Prepare does nothing: the tests that need it run on Linux.
func Prepare() {}
