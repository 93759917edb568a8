package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/internal/regular"
)

// A command that runs as a user is started in two steps: the supervisor, which may be
// root and therefore sees nothing of the user's environment, starts this program once
// more as that user, under the name ownerName. That one does what must be done with the
// user's rights, and becomes the command.
const (
	ownerName = "colloc-owner"
	orderFD   = 4 // of the supervisor, which reads an Order there
	faultFD   = 4 // of the owner's process, which says there why it does not become the command
)

// becomes stands before what an owner's process says after that it is about to become the command: one that ended before said nothing.
const becomes = "="

// errUnbegun is that end.
var errUnbegun = errors.New("its process ended before")

// ownerPatience is how long it may take until a command begins: a busy machine, a slow disk.
const ownerPatience = time.Minute

// runsAsOwner reports whether this process is to become a command.
func runsAsOwner() bool { return os.Args[0] == ownerName }

// isRoot reports whether this process can become any user.
func isRoot() bool { return os.Geteuid() == 0 }

// send writes an order to a pipe and returns its other end.
func (o *Order) send() (*os.File, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // it may be longer than a pipe holds; who reads it may die
		_, _ = to.Write(text)
		_ = to.Close()
	}()
	return from, nil
}

// readOrder reads what send wrote.
func readOrder(fd uintptr) (o Order, err error) {
	from := os.NewFile(fd, "order")
	text, err := io.ReadAll(from)
	_ = from.Close() // it was only read
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// start starts the command of an order in a group; an error says why it does not begin.
func (o *Order) start(in *group, argv []string) (pid int, err error) {
	order, err := o.send()
	if err != nil {
		return 0, err
	}
	defer func() { _ = order.Close() }() // it was only read
	faults, told, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = faults.Close() }()
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if isRoot() {
		sys.Credential = &syscall.Credential{Uid: o.UID, Gid: o.GID, Groups: o.Groups}
	}
	pid, err = in.start("/proc/self/exe", append([]string{ownerName}, argv...), syscall.ProcAttr{
		Dir: "/", Files: []uintptr{0, 1, 2, order.Fd(), told.Fd()}, Env: []string{threadsVariable + "1"}, Sys: sys,
	})
	_ = told.Close() // nothing was written here
	if err != nil {
		return 0, err
	}
	_ = faults.SetReadDeadline(time.Now().Add(ownerPatience))     //nolint:forbidigo // what it waits for is another process
	fault, err := io.ReadAll(io.LimitReader(faults, maxExitText)) // ends when it became the command, or ended
	if errors.Is(err, os.ErrDeadlineExceeded) {                   // stopped, or its folder or program is on a disk that hangs
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = wait(pid)
		return 0, fmt.Errorf("it has not begun after %v: its folder or its program does not answer", ownerPatience)
	}
	why, began := strings.CutPrefix(string(fault), becomes)
	if began && why == "" {
		return pid, nil
	}
	_, _ = wait(pid)
	if why == "" {
		return 0, errUnbegun
	}
	return 0, errors.New(why)
}

// roomless reports whether the log of a run has what Go says where it ends because there is no room for a thread.
func roomless(stem string) bool {
	const most = 64 << 10 // with the stacks of all goroutines
	text, err := regular.Tail(stem+LogEnd, most)
	return err == nil && (bytes.Contains(text, []byte("runtime/cgo: pthread_create failed")) || bytes.Contains(text, []byte("runtime: failed to create new OS thread")))
}

// become turns this process into the command of the order that it reads; it returns why
// it could not.
func become(argv []string) error {
	syscall.CloseOnExec(faultFD)
	o, err := readOrder(reportFD)
	if err != nil {
		return err
	}
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("its folder: %w", err)
	}
	path, err := LookPath(argv[0], o.Dir, o.Env)
	if err != nil {
		return err
	}
	syscall.Umask(o.Umask)
	for name, limit := range o.Limits {
		r := syscall.Rlimit{Cur: uint64(limit[0]), Max: uint64(limit[1])} //nolint:gosec // -1 is the largest, which is none
		if err := syscall.Setrlimit(resources()[name], &r); err != nil {
			return fmt.Errorf("limit %s: %w", name, err)
		}
	}
	_, _ = syscall.Write(faultFD, []byte(becomes)) // if not, it did not begin for who waits
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, o.Env))
}

// mainOfOwner is the whole of the process that becomes a command.
func mainOfOwner() {
	err := become(os.Args[1:])
	_, _ = syscall.Write(faultFD, []byte(strings.ToValidUTF8(err.Error(), "?")))
	syscall.Exit(exitNotStarted)
}
