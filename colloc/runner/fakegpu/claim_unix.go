//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fakegpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// claimed is memory that a process holds. It is a file, PID.NUMBER, that its
// process keeps locked as long as it lives.
type claimed struct {
	pid  int
	size profile.Bytes
}

const lockName = "lock"

// lock opens a file and takes it with how. In a folder that is open to all the file is too.
func lock(path string, how func(*os.File) error) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(filepath.Dir(path)); err == nil && info.Mode().Perm() == openMode {
		_ = file.Chmod(openMode) // it is another user's, who has done it
	}
	if err := how(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openMode is the mode of what all users may write to.
const openMode = 0o777

// folderOf makes the folder of a GPU's claims, open to all if that of all is.
func folderOf(uses string, id nvmlx.DeviceID) (string, error) {
	folder := filepath.Join(uses, string(id))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if info, err := os.Stat(uses); err == nil && info.Mode().Perm() == openMode {
		_ = os.Chmod(folder, openMode) // as with files
	}
	return folder, nil
}

// claims lists who holds memory of a GPU.
func claims(uses string, id nvmlx.DeviceID) ([]claimed, error) {
	folder, err := folderOf(uses, id)
	if err != nil {
		return nil, err
	}
	guard, err := lock(filepath.Join(folder, lockName), filelock.Wait)
	if err != nil {
		return nil, err
	}
	defer func() { _ = guard.Close() }()
	return claimsIn(folder)
}

// claimsIn lists the claims in a locked folder and removes those of processes
// that are gone.
func claimsIn(folder string) ([]claimed, error) {
	names, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list []claimed
	for _, entry := range names {
		pid, _, ok := strings.Cut(entry.Name(), ".")
		if !ok {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		file, err := lock(path, filelock.Take)
		if err == nil { // nobody holds it
			if err := errors.Join(os.Remove(path), file.Close()); err != nil {
				return nil, err
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var c claimed
		if _, err := fmt.Sscan(string(text), &c.size); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c.pid, err = strconv.Atoi(pid); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// allocate makes a claim if there is room.
func allocate(uses string, g gpu, size profile.Bytes) (free func() error, err error) {
	folder, err := folderOf(uses, g.id)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	guard, err := lock(filepath.Join(folder, lockName), filelock.Wait)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	defer func() { _ = guard.Close() }()
	others, err := claimsIn(folder)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	left := g.memory - g.foreign
	for _, c := range others {
		left -= c.size
	}
	if size > left {
		return nil, fmt.Errorf("fakegpu: %w: tried to allocate %v, %v of %v are free on %s", ErrOutOfMemory, size, max(0, left), g.memory, g.id)
	}
	file, err := claim(folder, size)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	return func() error { return errors.Join(os.Remove(file.Name()), file.Close()) }, nil
}

// claim writes a claim under a name that is free.
func claim(folder string, size profile.Bytes) (*os.File, error) {
	for n := 1; ; n++ {
		path := filepath.Join(folder, fmt.Sprintf("%d.%d", os.Getpid(), n))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		file, err := lock(path, filelock.Wait)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintln(file, int64(size)); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	}
}
