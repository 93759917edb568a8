//go:build unix

package replace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSharedUmask: a file is for as many as its mode and the umask say; any other is its owner's alone.
func TestSharedUmask(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	path := filepath.Join(t.TempDir(), "a")
	for _, tt := range []struct {
		umask int
		put   func() error
		want  os.FileMode
	}{
		{0, func() error { return Shared(path, 0o644, nil) }, 0o644},
		{0o077, func() error { return Shared(path, 0o644, nil) }, 0o600},
		{0o027, func() error { return Shared(path, 0o755, nil) }, 0o750},
		{0, func() error { return Text(path, nil) }, 0o600},
	} {
		syscall.Umask(tt.umask)
		err := tt.put()
		info, wrong := os.Stat(path)
		if err != nil || wrong != nil || info.Mode().Perm() != tt.want {
			t.Errorf("umask %o: %v, %v, %v; want %o", tt.umask, info, err, wrong, tt.want)
		}
	}
}
