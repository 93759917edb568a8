package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errLocked means that another instance is at work.
var errLocked = errors.New("another instance of this program holds the lock")

// lockDevice makes sure that no second instance measures on the same GPU. The
// file stays behind; the lock does not.
func lockDevice(dir, device string) (*os.File, error) {
	name := "colloc-measure-" + strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, device) + ".lock"
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the GPU: %w", err)
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock of the GPU: %w", err), f.Close())
	}
	return f, nil
}
