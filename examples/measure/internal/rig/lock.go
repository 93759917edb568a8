package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/colloc/internal/filelock"
)

// lockDevice makes sure that no second instance measures on the same GPU. The
// file stays behind, for every user to lock; the lock does not.
func lockDevice(dir, device string) (*os.File, error) {
	name := "colloc-measure-" + strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, device) + ".lock"
	path := filepath.Join(dir, name)
	// To lock needs no right to write; and in /tmp not even root may open another
	// user's file as one that could be created (fs.protected_regular).
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644); err == nil {
			_ = f.Chmod(0o644) // whatever the umask; another one may have created it by now
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock of the GPU: %w", err)
	}
	if err := filelock.Take(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock of the GPU: %s: %w (does another instance of this program have it?)", path, err), f.Close())
	}
	return f, nil
}
