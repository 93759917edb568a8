package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/internal/filelock"
)

// Supported says whether this system, and this process, can run commands.
func Supported() error {
	if isSupervisor() {
		return ErrUnsupervised
	}
	return nil
}

// locked is a file with a lock, which Close ends: also where a process that is just being
// started still has the descriptor.
type locked struct{ *os.File }

func (l locked) Close() error { return errors.Join(filelock.Release(l.File), l.File.Close()) }

// Lock keeps other runners out of dir until it is closed.
func Lock(dir string) (io.Closer, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Take(file); err != nil {
		if errors.Is(err, filelock.ErrInUse) {
			err = ErrInUse
		}
		return nil, errors.Join(err, file.Close())
	}
	return locked{file}, nil
}

// Supervisor is the process between this one and a command.
type Supervisor struct {
	process *os.Process
	pipe    *os.File
	report  *bufio.Reader // of pipe
	stem    string
	task    Process // the command; its zero until Task tells
}

// Start starts the supervisor of a run, with the output in the run's log.
func (l *Launch) Start() (s *Supervisor, err error) {
	log, err := os.OpenFile(l.Stem+LogEnd, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = log.Close() // nothing was written through it
		if Crowded(err) {
			_ = os.Remove(log.Name()) // there may be one of these a second
		}
	}()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	report, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = told.Close() }()
	env, dir, path, files := slices.Clone(l.Env), l.Dir, l.Path, []*os.File{null, log, log, told}
	if l.Order != nil {
		order, err := l.order(log)
		if err != nil {
			return nil, errors.Join(err, report.Close())
		}
		defer func() { _ = order.Close() }() // the supervisor has it
		env = slices.DeleteFunc(env, func(v string) bool {
			return !strings.HasPrefix(v, ProgressVariable+"=") && !strings.HasPrefix(v, "CUDA_VISIBLE_DEVICES=") // the runner's, both
		})
		dir, path, files = "/", "", append(files, order)
	}
	own := "" // of the variable that means the supervisor here
	env = slices.DeleteFunc(env, func(v string) bool {
		found := strings.HasPrefix(v, threadsVariable)
		if found {
			own = v
		}
		return found
	})
	attr := &os.ProcAttr{Dir: dir, Env: append(env, threadsVariable+"1"), Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	argv := append([]string{supervisorName, l.Stem, own, word(l.Key), strconv.FormatInt(int64(l.LogLimit), 10), path}, l.Argv...)
	child, err := os.StartProcess("/proc/self/exe", argv, attr)
	if err != nil {
		return nil, errors.Join(err, report.Close())
	}
	return &Supervisor{process: child, pipe: report, stem: l.Stem, report: bufio.NewReaderSize(report, 64)}, nil
}

// Task waits for the command's process; false if there will be none.
func (s *Supervisor) Task() (Process, bool) {
	line, err := s.report.ReadString('\n')
	if err != nil {
		return Process{}, false
	}
	s.task, err = parseProcess(line)
	return s.task, err == nil
}

// startPatience is how long a run that is only starting may take to tell of its process
// once nobody wants to wait any more: a supervisor tells in milliseconds.
const startPatience = 10 * time.Second

// Hurry lets Task and Wait give up soon.
func (s *Supervisor) Hurry() {
	_ = s.pipe.SetReadDeadline(time.Now().Add(startPatience)) //nolint:forbidigo // what it waits for is another process
}

// Detach stops waiting for the supervisor, which goes on.
func (s *Supervisor) Detach() {
	_ = s.pipe.Close() // ends the wait
}

// PID is the supervisor's process and session.
func (s *Supervisor) PID() int { return s.process.Pid }

// Wait waits for the supervisor to end, which closes its end of the pipe, and
// returns how the run did; false after Detach, or if that took too long after Hurry.
func (s *Supervisor) Wait() (Outcome, bool) {
	_, err := io.Copy(io.Discard, s.report)
	_ = s.pipe.Close()
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Outcome{}, false
	}
	state, err := s.process.Wait()
	o, ok := ReadExit(s.stem)
	switch {
	case ok:
	case err != nil:
		o = Outcome{Exit: -1, Lost: true, Err: "the supervisor is lost: " + err.Error()}
	case s.task.PID == 0 && roomless(s.stem):
		o = Outcome{Exit: -1, Crowded: true, Err: fmt.Sprintf("no room for another thread: %v (ulimit -u, or the pids of a control group)", syscall.EAGAIN)}
	case Revoke(s.stem) == nil:
		o = Outcome{Exit: -1, Final: true, Err: fmt.Sprintf("the supervisor (%v) did not take the run; %v, or the log tells more", state, ErrUnsupervised)}
	default:
		o = supervisorOutcome(state)
	}
	// A supervisor that was killed left to the kernel to kill the command, but not
	// what that had started.
	if o.Lost || o.Crowded {
		KillRest(s.stem)
		s.task.AwaitEnd()
	}
	if o.Crowded { // one of these a second
		_ = os.Remove(s.stem + LogEnd)
		_ = os.Remove(s.stem + ClaimEnd)
	}
	return o, true
}

// Reap ends the zombie of a supervisor that an earlier Runner of this process
// started. Who has its number now is left alone.
func Reap(p Process) {
	if now, err := Find(p.PID); err == nil && now == p {
		_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
	}
}

// supervisorOutcome makes do with the supervisor's own exit code, where it could
// leave no record, as on a full disk.
func supervisorOutcome(state *os.ProcessState) Outcome {
	const signalled = 128
	code := state.ExitCode()
	switch {
	case code < 0:
		return Outcome{Exit: -1, Lost: true, Err: fmt.Sprintf("the supervisor is lost (%v)", state)}
	case code > signalled:
		return Outcome{Exit: -1, Signal: code - signalled}
	default:
		return Outcome{Exit: code}
	}
}

// give makes the files of a run the owner's: in a folder where only this process's user
// puts any.
func (l *Launch) give(log *os.File) error {
	files := []*os.File{log}
	for _, end := range []string{StepsEnd, RestartEnd} {
		file, err := os.OpenFile(l.Stem+end, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // nothing was written
		files = append(files, file)
	}
	if !isRoot() {
		return nil
	}
	for _, file := range files {
		if err := file.Chown(int(l.Order.UID), int(l.Order.GID)); err != nil {
			return err
		}
	}
	return nil
}

// order gives the files of a run to its owner, and returns whence its supervisor reads what it runs as.
func (l *Launch) order(log *os.File) (*os.File, error) {
	if err := l.give(log); err != nil {
		return nil, err
	}
	order := *l.Order
	order.Env, order.Dir = l.Env, l.Dir
	return order.send()
}
