//go:build !linux

package probe

import "os"

// release leaves the file as it is.
func release(*os.File, int64) {}
