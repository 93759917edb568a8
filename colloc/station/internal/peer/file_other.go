//go:build !unix

package peer

import "os"

// Made reports whether there is a socket that this user made.
func Made(string) bool { return false }

// Open opens a file of a user to be read.
func Open(string, uint32) (*os.File, error) { return nil, errUnsupported }

// Append opens a file of a user that is there, to add to it.
func Append(string, uint32) (*os.File, error) { return nil, errUnsupported }
