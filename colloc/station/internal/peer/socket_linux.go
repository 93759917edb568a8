package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unsafe"
)

// Of asks the kernel who made a connection.
func Of(c net.Conn) (User, error) {
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return User{}, errors.New("no unix socket: nobody knows who is at the other end")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return User{}, err
	}
	var cred *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return User{}, err
	}
	if failed != nil {
		return User{}, failed
	}
	u := User{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}
	err = raw.Control(func(fd uintptr) { u.Groups = groups(fd) })
	return u, err
}

// groups are those of who made a connection; none before Linux 4.13.
func groups(fd uintptr) []uint32 {
	const peerGroups, most, each = 59, 1 << 16, 4 // SO_PEERGROUPS; the kernel's NGROUPS_MAX
	list := make([]uint32, most)
	size := uint32(most * each)
	_, _, fault := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.SOL_SOCKET, peerGroups,
		uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&size)), 0)
	if fault != 0 {
		return nil
	}
	return slices.Clone(list[:min(size/each, most)])
}

// Listen makes a unix socket, for all users or for this one, and its folder if that is
// not there. One that nobody listens on any more is replaced.
func Listen(path string, all bool) (net.Listener, error) {
	dir, mode, open := filepath.Dir(path), fs.FileMode(0o700), fs.FileMode(0o600)
	if all {
		mode, open = 0o755, 0o666
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, err
	}
	if err := ours(dir); err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close() // it was only tried
		return nil, fmt.Errorf("%s: a station listens there already", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%s is there and is no socket: remove it or choose another place", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, open); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ours is an error if others could replace what is in the folder.
func ours(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	const writable, sticky = 0o022, fs.ModeSticky
	switch {
	case !ok:
		return nil
	case int(stat.Uid) != os.Geteuid() && stat.Uid != 0:
		return fmt.Errorf("the folder %s belongs to another user: choose another place for the socket", dir)
	case info.Mode().Perm()&writable != 0 && info.Mode()&sticky == 0:
		return fmt.Errorf("others may write to the folder %s: chmod go-w it, or choose another place for the socket", dir)
	}
	return nil
}
