// Package filelock keeps other processes away from a file that one holds open. A
// lock ends with [Release], with the last descriptor of the file, or with its
// process. A child between fork and exec has the descriptors of its parent for an
// instant, so a lock may outlive Close by that.
package filelock

import "errors"

// ErrInUse says that another process has the file.
var ErrInUse = errors.New("in use")
