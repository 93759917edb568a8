package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"example.com/colloc/internal/procgroup"
	"example.com/colloc/internal/tail"
	"example.com/colloc/profile"
)

// maxLine bounds a line of a workload: a description of a large model, or the
// moments of a long run.
const maxLine = 8 << 20

// worker is a running workload process.
type worker struct {
	slot   slot
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	lines  chan line // closed when the process has ended and err is set
	err    error
	stderr tail.Buffer

	// context is the process's device memory before the first tensor.
	context profile.Opt[profile.Bytes]
	runs    int // how often it has measured
}

// line is what a workload said, or why it cannot be understood.
type line struct {
	event event
	err   error
}

// startWorker starts a workload in a process group of its own.
func startWorker(cmd *exec.Cmd, s slot) (*worker, error) {
	w := &worker{slot: s, cmd: cmd, lines: make(chan line, 1)}
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
func (w *worker) read() {
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

func (w *worker) pid() int { return w.cmd.Process.Pid }

// send writes a command. A process that does not listen any more is found out
// by await.
func (w *worker) send(c command) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, _ = w.stdin.Write(append(text, '\n'))
	return nil
}

// await returns the next event if it is of the wanted kind. Else it returns why
// the workload is of no use any more: as a *failure, or ctx's error if the whole
// program is to stop.
func (w *worker) await(ctx context.Context, want string, patience time.Duration) (event, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return event{}, ctx.Err()
	case <-timer.C:
		return event{}, &failure{status: statusTimeout, message: fmt.Sprintf("no %q within %v", want, patience)}
	case l, ok := <-w.lines:
		switch {
		case !ok:
			return event{}, &failure{status: statusCrash, message: fmt.Sprintf("ended before %q: %v%s", want, orZero(w.err), w.stderr.Quoted())}
		case l.err != nil:
			return event{}, &failure{status: statusGarbage, message: l.err.Error()}
		case l.event.Event == want:
			return l.event, nil
		case l.event.Event == eventOOM:
			return event{}, &failure{status: statusOOM, message: l.event.Message, free: l.event.Free, held: l.event.Reserved}
		case l.event.Event == eventError:
			return event{}, &failure{status: statusCrash, message: l.event.Phase + ": " + l.event.Message}
		}
		return event{}, &failure{status: statusGarbage, message: fmt.Sprintf("%q where %q was due", l.event.Event, want)}
	}
}

// waiting reports whether the process lives and has said nothing unasked.
func (w *worker) waiting() bool {
	select {
	case <-w.lines:
		return false
	default:
		return true
	}
}

// failure is the early end of a workload.
type failure struct {
	status     status
	message    string
	free, held profile.Opt[profile.Bytes]
}

func (f *failure) Error() string { return string(f.status) + ": " + f.message }

// kill ends the process and its children and waits for that.
func (w *worker) kill() {
	procgroup.Kill(w.cmd)
	_ = w.stdin.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = w.stdout.Close() }) // a child that left the group may hold it
	defer timer.Stop()
	for range w.lines { // until it has ended
	}
}

// quit asks the process to end, and kills it if it does not.
func (w *worker) quit(patience time.Duration) {
	_ = w.send(command{Cmd: "quit"}) // a process that does not hear it is killed below
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
			w.kill()
			return
		}
	}
}

// orZero makes an error of an exit status of 0.
func orZero(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
