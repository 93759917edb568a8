package workload

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/internal/procgroup"
	"example.com/colloc/internal/tail"
	"example.com/colloc/profile"
)

// maxLine bounds a line of a workload: a description of a large model, or the
// moments of a long run.
const maxLine = 8 << 20

// Process is a running workload process.
type Process struct {
	slot   plan.Slot
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	lines  chan line // closed when the process has ended and err is set
	err    error
	stderr tail.Buffer

	// Context is the process's device memory before the first tensor.
	Context profile.Opt[profile.Bytes]
	// Runs is how often it has measured.
	Runs int
}

// line is what a workload said, or why it cannot be understood.
type line struct {
	event Event
	err   error
}

// Start starts a workload in a process group of its own.
func Start(cmd *exec.Cmd, s plan.Slot) (*Process, error) {
	w := &Process{slot: s, cmd: cmd, lines: make(chan line, 1)}
	procgroup.Own(cmd)
	w.stderr.Size = 1 << 10 // it goes into one line of the raw file
	cmd.Stderr = &w.stderr
	cmd.WaitDelay = 2 * time.Second // a child may hold the pipes open
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	w.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdout = stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go w.read()
	return w, nil
}

// read passes lines on until the process ends. After a line that is no event
// nothing more is read: the process will be killed.
func (w *Process) read() {
	scanner := bufio.NewScanner(w.stdout)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	for scanner.Scan() {
		e, err := parseEvent(scanner.Bytes())
		if err != nil {
			w.lines <- line{err: fmt.Errorf("%w: %.80q", err, scanner.Bytes())}
			break
		}
		w.lines <- line{event: e}
	}
	if err := scanner.Err(); err != nil && errors.Is(err, bufio.ErrTooLong) {
		w.lines <- line{err: err}
	}
	_, _ = io.Copy(io.Discard, w.stdout) // a full pipe would keep it from ending
	w.err = w.cmd.Wait()
	close(w.lines)
}

// PID returns its number, as this program sees it.
func (w *Process) PID() int { return w.cmd.Process.Pid }

// Send writes a command. A process that does not listen any more is found out
// by Await.
func (w *Process) Send(c Command) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, _ = w.stdin.Write(append(text, '\n'))
	return nil
}

// Await returns the next event if it is of the wanted kind. Else it returns why
// the workload is of no use any more: as a *[EndError], or ctx's error if the whole
// program is to stop.
func (w *Process) Await(ctx context.Context, want string, patience time.Duration) (Event, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Event{}, ctx.Err()
	case <-timer.C:
		return Event{}, &EndError{Status: Timeout, Message: fmt.Sprintf("no %q within %v", want, patience)}
	case l, ok := <-w.lines:
		switch {
		case !ok:
			return Event{}, &EndError{Status: Crash, Message: fmt.Sprintf("ended before %q: %v%s", want, cmp.Or(w.err, errZero), w.stderr.Quoted())}
		case l.err != nil:
			return Event{}, &EndError{Status: Garbage, Message: l.err.Error()}
		case l.event.Event == want:
			return l.event, nil
		case l.event.Event == EventOOM:
			return Event{}, &EndError{Status: OOM, Message: l.event.Message, Free: l.event.Free, Held: l.event.Reserved}
		case l.event.Event == EventError:
			return Event{}, &EndError{Status: Crash, Message: l.event.Phase + ": " + l.event.Message}
		}
		return Event{}, &EndError{Status: Garbage, Message: fmt.Sprintf("%q where %q was due", l.event.Event, want)}
	}
}

// waiting reports whether the process lives and has said nothing unasked.
func (w *Process) waiting() bool {
	select {
	case <-w.lines:
		return false
	default:
		return true
	}
}

// EndError is the early end of a workload.
type EndError struct {
	Status  Status
	Message string // for people
	// Free is the device memory that was free when it ran out of it, and Held what
	// it had reserved itself.
	Free, Held profile.Opt[profile.Bytes]
}

// Error returns status and message.
func (f *EndError) Error() string { return string(f.Status) + ": " + f.Message }

// Kill ends the process and its children and waits for that.
func (w *Process) Kill() {
	procgroup.Kill(w.cmd)
	_ = w.stdin.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = w.stdout.Close() }) // a child that left the group may hold it
	defer timer.Stop()
	for range w.lines { // until it has ended
	}
}

// Quit asks the process to end, and kills it if it does not.
func (w *Process) Quit(patience time.Duration) {
	_ = w.Send(Command{Cmd: "quit"}) // a process that does not hear it is killed below
	_ = w.stdin.Close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-w.lines:
			if !ok {
				return
			}
		case <-timer.C:
			w.Kill()
			return
		}
	}
}

// errZero stands for the error that a process which ended well does not have.
var errZero = errors.New("exit status 0")
