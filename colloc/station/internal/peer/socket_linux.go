package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"example.com/colloc/internal/owner"
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
	if u.PID == 0 { // of processes that this one cannot see
		u.PID = -1
	}
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

// longestPath is how long the kernel lets a socket's path be.
const longestPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Listen makes a unix socket, for all users or for this one, and its folder if that is
// not there. One that nobody listens on any more is replaced. Whoever sees the socket can
// connect: it gets its name when it has its mode and is listened on.
func Listen(path string, all bool) (net.Listener, error) {
	dir, mode, open := filepath.Dir(path), fs.FileMode(0o700), fs.FileMode(0o600)
	if all {
		mode, open = 0o755, 0o666
	}
	unnamed := filepath.Join(dir, "."+strconv.Itoa(os.Getpid()))
	if n := max(len(path), len(unnamed)); n > longestPath {
		return nil, fmt.Errorf("%s: %d bytes, a socket's path has at most %d: choose another place", path, n, longestPath)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, err
	}
	check := ours
	if all {
		check = oursAbove
	}
	if err := check(dir); err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close() // it was only tried
		return nil, fmt.Errorf("%s: a station listens there already", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is there and is no socket: remove it or choose another place", path)
	}
	if err := os.Remove(unnamed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: unnamed, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(unnamed, open); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	made, err := os.Lstat(unnamed)
	if err == nil {
		err = os.Rename(unnamed, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.SetUnlinkOnClose(false) // its name is another now
	return &socket{UnixListener: l, path: path, made: made}, nil
}

// socket removes its file when it is closed, unless another has taken its place.
type socket struct {
	*net.UnixListener

	path string
	made fs.FileInfo
}

// Addr implements net.Listener.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close implements net.Listener.
func (s *socket) Close() error {
	var err error
	if now, gone := os.Lstat(s.path); gone == nil && os.SameFile(now, s.made) {
		err = os.Remove(s.path)
	}
	return errors.Join(err, s.UnixListener.Close())
}

const writable = 0o022 // by others

// ours is an error if others could replace what is in the folder.
func ours(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	uid, known := owner.Of(info)
	switch {
	case !known:
		return nil
	case int(uid) != os.Geteuid() && uid != 0:
		return fmt.Errorf("the folder %s belongs to another user: choose another place", dir)
	case info.Mode().Perm()&writable != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("others may write to the folder %s: chmod go-w it, or choose another place", dir)
	}
	return nil
}

// Keeps is an error if somebody but this user or root could put something into a folder, or another folder in its
// place: root must not write there what others are to get.
func Keeps(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&writable != 0 {
		return fmt.Errorf("others may write to the folder %s: chmod go-w it, or choose another place", dir)
	}
	return oursAbove(dir)
}

// oursAbove is an error if others could replace what is in a folder, or the folder, or a link that leads there.
func oursAbove(dir string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(full)
	if err != nil {
		return err
	}
	for _, path := range []string{full, target} {
		for ; ; path = filepath.Dir(path) {
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			if uid, known := owner.Of(info); known && int(uid) != os.Geteuid() && uid != 0 {
				return fmt.Errorf("%s, on the way to %s, belongs to another user: choose another place", path, dir)
			}
			if info.IsDir() {
				if err := ours(path); err != nil {
					return err
				}
			}
			if path == filepath.Dir(path) {
				break
			}
		}
	}
	return nil
}
