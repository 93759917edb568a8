// Package filelock keeps a second process of a command away from a file.
package filelock

import "errors"

// ErrInUse says that another process has the file.
var ErrInUse = errors.New("in use")
