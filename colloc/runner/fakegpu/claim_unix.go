//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fakegpu

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
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

// folderOf opens the folder of a GPU's claims, and makes it, open to all if that of all is. Whatever somebody puts there who may
// write to it, nothing outside of uses is reached.
func folderOf(uses string, id nvmlx.DeviceID) (*os.Root, error) {
	all, err := os.OpenRoot(uses)
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }()
	if err := all.Mkdir(string(id), 0o700); err == nil {
		const everybody = 0o777
		if info, err := all.Stat("."); err == nil && info.Mode().Perm() == everybody {
			_ = all.Chmod(string(id), everybody) // who may not write there says so
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return all.OpenRoot(string(id))
}

// guarded opens the folder of a GPU's claims and keeps others from changing them until release. It waits for so long.
func guarded(uses string, id nvmlx.DeviceID, patience time.Duration) (folder *os.Root, release func(), err error) {
	if folder, err = folderOf(uses, id); err != nil {
		return nil, nil, err
	}
	guard, err := regular.Among(folder, lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, nil, errors.Join(err, folder.Close())
	}
	const pause = 5 * time.Millisecond
	for err = filelock.Take(guard); errors.Is(err, filelock.ErrInUse) && patience > 0; patience -= pause {
		time.Sleep(pause) //nolint:forbidigo // what it waits for is another process
		err = filelock.Take(guard)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", guard.Name(), err), guard.Close(), folder.Close())
	}
	return folder, func() { _ = errors.Join(guard.Close(), folder.Close()) }, nil
}

// claims lists who holds memory of a GPU.
func claims(uses string, id nvmlx.DeviceID) ([]claimed, error) {
	const patience = 2 * time.Second // a look waits for nobody who keeps the lock
	folder, release, err := guarded(uses, id, patience)
	if err != nil {
		return nil, err
	}
	defer release()
	return claimsIn(folder)
}

// claimsIn lists the claims in a guarded folder and removes those of processes that are gone. What else lies there is no claim.
func claimsIn(folder *os.Root) ([]claimed, error) {
	names, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return nil, err
	}
	var list []claimed
	for _, entry := range names {
		owner, _, _ := strings.Cut(entry.Name(), ".")
		pid, err := strconv.Atoi(owner)
		if err != nil {
			continue
		}
		file, err := regular.Among(folder, entry.Name(), os.O_RDWR)
		if err != nil {
			continue
		}
		c := claimed{pid: pid}
		if filelock.Take(file) == nil { // nobody holds it
			_ = folder.Remove(entry.Name()) // or somebody else did
		} else if _, err := fmt.Fscan(io.LimitReader(file, 32), &c.size); err == nil && c.size >= 0 && c.size <= most {
			list = append(list, c)
		}
		_ = file.Close()
	}
	return list, nil
}

// most is more memory than a GPU has: sums of claims do not overflow.
const most = 1 << 50

// allocate makes a claim if there is room.
func allocate(uses string, g gpu, size profile.Bytes) (free func() error, err error) {
	folder, release, err := guarded(uses, g.id, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	defer release()
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
	return func() error {
		folder, err := folderOf(uses, g.id)
		if err == nil {
			err = errors.Join(folder.Remove(filepath.Base(file.Name())), folder.Close())
		}
		return errors.Join(err, file.Close())
	}, nil
}

// claim writes a claim under a name that is free.
func claim(folder *os.Root, size profile.Bytes) (*os.File, error) {
	for n := 1; ; n++ {
		file, err := regular.Among(folder, fmt.Sprintf("%d.%d", os.Getpid(), n), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = filelock.Wait(file); err == nil {
			_, err = fmt.Fprintln(file, int64(size))
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	}
}
