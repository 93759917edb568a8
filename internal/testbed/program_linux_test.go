package testbed

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestProgram: programs that are written while others are started can be started at once.
func TestProgram(t *testing.T) {
	const writers, each = 4, 50
	dir := t.TempDir()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				path := filepath.Join(dir, strconv.Itoa(w)+"."+strconv.Itoa(i))
				if err := Program(path, []byte("#!/bin/sh\n")); err != nil {
					t.Error(err)
					return
				}
				if err := exec.CommandContext(t.Context(), path).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
