//go:build linux

package peer

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

func self() uint32 { return uint32(os.Geteuid()) }

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestListen makes a socket where nobody else could replace it, in place of one that nobody
// listens on, and of nothing else.
func TestListen(t *testing.T) {
	for all, want := range map[bool]os.FileMode{false: 0o600, true: 0o666} {
		dir := filepath.Join(t.TempDir(), "d")
		path := filepath.Join(dir, "s")
		if Made(path) {
			t.Error("a socket that is not there was made")
		}
		l, err := Listen(path, all)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want || !Made(path) {
			t.Errorf("for all: %v: mode %v, %v; want %v", all, info.Mode(), err, want)
		}
		if _, err := Listen(path, all); err == nil || !strings.Contains(err.Error(), "a station listens there already") {
			t.Errorf("a second one: %v", err)
		}
		if s, ok := l.(*socket); !ok || s.Addr().String() != path {
			t.Errorf("it listens on %v", l.Addr())
		} else if err := s.UnixListener.Close(); err != nil { // as a crash leaves it
			t.Fatal(err)
		}
		if l, err = Listen(path, all); err != nil {
			t.Fatalf("in place of one that is left: %v", err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, nobody, nobody); err != nil || Made(path) {
				t.Errorf("another user's socket is ours, %v", err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, path)
		if _, err := Listen(path, all); err == nil || !strings.Contains(err.Error(), "is no socket") || Made(path) {
			t.Errorf("in place of a file: %v", err)
		}
	}
}

// TestListenThenName: who waits for the socket to be there can connect as soon as it is, so
// nothing is made under its name, but moved there.
func TestListenThenName(t *testing.T) {
	dir := t.TempDir()
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(watch) }()
	if _, err := syscall.InotifyAddWatch(watch, dir, syscall.IN_CREATE|syscall.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(filepath.Join(dir, "s"), false)
	if err != nil {
		t.Fatal(err)
	}
	var events [1024]byte
	n, err := syscall.Read(watch, events[:])
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32 // what happened under the name
	for at := 0; at < n; {
		name := events[at+syscall.SizeofInotifyEvent:][:binary.NativeEndian.Uint32(events[at+12:])]
		if string(bytes.TrimRight(name, "\x00")) == "s" {
			got = append(got, binary.NativeEndian.Uint32(events[at+4:]))
		}
		at += syscall.SizeofInotifyEvent + len(name)
	}
	if !slices.Equal(got, []uint32{syscall.IN_MOVED_TO}) {
		t.Errorf("the socket's name saw events %#x, want %#x alone", got, syscall.IN_MOVED_TO)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("closed, it leaves %v, %v", left, err)
	}
}

// TestListenElsewhere: a socket that took another's place stays when the other is closed,
// and a path that no client could name is refused.
func TestListenElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil || !Made(path) {
		t.Errorf("the first one took the second along, %v", err)
	}
	if err := second.Close(); err != nil || Made(path) {
		t.Errorf("it stays, %v", err)
	}
	if _, err := Listen(path+strings.Repeat("s", longestPath), false); err == nil || !strings.Contains(err.Error(), "at most 107") {
		t.Errorf("a path without end: %v", err)
	}
}

// TestOurs: a folder where others could put their own socket is refused.
func TestOurs(t *testing.T) {
	for _, tt := range []struct {
		mode os.FileMode
		uid  int
		want string
	}{
		{0o755, os.Geteuid(), ""},
		{0o777 | os.ModeSticky, os.Geteuid(), ""},
		{0o777, os.Geteuid(), "others may write to the folder"},
		{0o720, os.Geteuid(), "others may write to the folder"},
		{0o700, nobody, "belongs to another user"},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, tt.mode); err != nil {
			t.Fatal(err)
		}
		if tt.uid != os.Geteuid() {
			if os.Geteuid() != 0 {
				continue // only root can make it another's
			}
			if err := os.Chown(dir, tt.uid, -1); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Listen(filepath.Join(dir, "s"), false)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("mode %v of user %d: %v, want %q", tt.mode, tt.uid, err, tt.want)
		}
		if l != nil {
			_ = l.Close() // nobody called
		}
	}
}

// TestLimit: so many connections a user, root any number; what is closed counts no more, once.
func TestLimit(t *testing.T) {
	l := &limited{most: 1, open: make(map[uint32]int)}
	user := User{UID: 7}
	if !l.take(user) || l.take(user) || !l.take(User{UID: 8}) || !l.take(User{}) || !l.take(User{}) {
		t.Error("another number of connections than one for each user is open")
	}
	l.give(user)
	if !l.take(user) {
		t.Error("who closed one gets no other")
	}
	for _, u := range []User{user, {UID: 8}, {}, {}} {
		l.give(u)
	}
	if len(l.open) != 0 {
		t.Errorf("%v are kept of users without a connection", l.open)
	}
	path := filepath.Join(t.TempDir(), "s")
	inner, err := Listen(path, false)
	if err != nil {
		t.Fatal(err)
	}
	outer := Limit(inner, 1)
	defer func() { _ = outer.Close() }()
	for range 3 { // one after the other
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := outer.Accept()
		if err != nil {
			t.Fatal(err)
		}
		counted, ok := got.(*conn)
		if !ok {
			t.Fatalf("a connection is a %T", got)
		}
		u, err := Of(counted.UnixConn)
		if err != nil || u.UID != self() || u.PID != int32(os.Getpid()) {
			t.Errorf("it is %+v, %v", u, err)
		}
		for range 2 { // http closes twice
			if err := got.Close(); err != nil {
				t.Error(err)
			}
		}
		_ = c.Close() // the other end is gone
	}
	if counts, ok := outer.(*limited); !ok || len(counts.open) != 0 {
		t.Errorf("%+v: connections are counted that are closed", outer)
	}
}

// TestWho: a handler learns who is at the other end, with all groups, whether connections are
// counted or not; of what is no unix socket nobody knows it.
func TestWho(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	inner, err := Listen(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	ids, err := os.Getgroups()
	if os.Geteuid() == 0 && len(ids) == 0 { // only root can be in others
		ids = []int{7, 777}
		err = syscall.Setgroups(ids)
		defer func() { _ = syscall.Setgroups(nil) }()
	}
	if err != nil {
		t.Fatal(err)
	}
	var groups []uint32
	for _, id := range ids {
		groups = append(groups, uint32(id))
	}
	for name, l := range map[string]net.Listener{"counted": Limit(inner, 1), "plain": inner} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		u, ok := From(Context(t.Context(), got))
		if !ok || u.UID != self() || u.GID != uint32(os.Getegid()) || !slices.Equal(u.Groups, groups) {
			t.Errorf("%s: %+v, %v; want user %d in groups %v", name, u, ok, self(), groups)
		}
		_, _ = got.Close(), c.Close() // both ends are gone
	}
	one, other := net.Pipe()
	defer func() { _, _ = one.Close(), other.Close() }()
	if u, ok := From(Context(t.Context(), one)); ok {
		t.Errorf("of a pipe: %+v", u)
	}
	if u, ok := From(With(t.Context(), User{UID: 7})); !ok || u.UID != 7 {
		t.Errorf("where somebody says so: %+v, %v", u, ok)
	}
}

// TestNames: users go by their names, and by their numbers where they have none.
func TestNames(t *testing.T) {
	var names Names
	for range 2 {
		if root, other := names.Of(0), names.Of(4294900001); root != "root" || other != "4294900001" {
			t.Errorf("users are called %q and %q", root, other)
		}
	}
	for name, want := range map[string]bool{"root": true, "0": true, "no-such-user": false} {
		if uid, err := Lookup(name); uid != 0 || (err == nil) != want {
			t.Errorf("%s is user %d, %v", name, uid, err)
		}
	}
}
