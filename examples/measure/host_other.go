//go:build !linux && !darwin

package main

import "os"

// lock does nothing here: there is no GPU to measure on either.
func lock(*os.File) error { return nil }
