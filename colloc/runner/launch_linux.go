package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// supported says whether this system can run tasks.
func supported() error {
	if isSupervisor() {
		return ErrUnsupervised
	}
	return nil
}

// lockFolder keeps other runners out of dir until the file is closed.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// launch is all that a run needs.
type launch struct {
	stem string
	dir  string
	path string
	argv []string
	env  []string
}

// supervisor is the process between this one and a task.
type supervisor struct {
	process *os.Process
	pipe    *os.File
	report  *bufio.Reader // of pipe
	child   process       // the command's, once it was told
}

// start starts the supervisor of a run, with the output in the run's log.
func (l *launch) start() (*supervisor, error) {
	log, err := os.OpenFile(l.stem+logEnd, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // nothing was written through it
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
	own := "" // of the variable that means the supervisor here
	env := slices.DeleteFunc(slices.Clone(l.env), func(v string) bool {
		found := strings.HasPrefix(v, threadsVariable)
		if found {
			own = v
		}
		return found
	})
	child, err := os.StartProcess("/proc/self/exe",
		append([]string{supervisorName, l.stem, own, l.path}, l.argv...),
		&os.ProcAttr{
			Dir: l.dir, Env: append(env, threadsVariable+"1"),
			Files: []*os.File{null, log, log, told},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	if err != nil {
		return nil, errors.Join(err, report.Close())
	}
	return &supervisor{process: child, pipe: report, report: bufio.NewReaderSize(report, 64)}, nil
}

// task waits for the command's process; false if there will be none.
func (s *supervisor) task() (process, bool) {
	line, err := s.report.ReadString('\n')
	if err != nil {
		return process{}, false
	}
	s.child, err = parseProcess(line)
	return s.child, err == nil
}

// detach stops waiting for the supervisor, which goes on.
func (s *supervisor) detach() {
	_ = s.pipe.Close() // ends the wait
}

// wait waits for the supervisor to end, which closes its end of the pipe, and
// returns how the run did; false after detach.
func (s *supervisor) wait(stem string) (outcome, bool) {
	_, err := io.Copy(io.Discard, s.report)
	_ = s.pipe.Close()
	if errors.Is(err, os.ErrClosed) {
		return outcome{}, false
	}
	state, err := s.process.Wait()
	o, ok := readExit(stem)
	switch {
	case ok:
	case err != nil:
		o = outcome{exit: -1, lost: true, err: "the supervisor is lost: " + err.Error()}
	case claim(stem, revoked) == nil:
		o = outcome{exit: -1, final: true, err: fmt.Sprintf("the supervisor (%v) did not take the run; %v, or the log tells more", state, ErrUnsupervised)}
	default:
		o = supervisorOutcome(state)
	}
	// A supervisor that was killed left to the kernel to kill the command, but not
	// what that had started.
	if o.lost {
		s.child.killGroup()
	}
	return o, true
}

// reap ends the zombie of a supervisor that an earlier Runner of this process
// started.
func reap(p process) { _, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil) }

// supervisorOutcome makes do with the supervisor's own exit code, where it could
// leave no record, as on a full disk.
func supervisorOutcome(state *os.ProcessState) outcome {
	const signalled = 128
	code := state.ExitCode()
	switch {
	case code < 0:
		return outcome{exit: -1, lost: true, err: fmt.Sprintf("the supervisor is lost (%v)", state)}
	case code > signalled:
		return outcome{exit: -1, signal: code - signalled}
	default:
		return outcome{exit: code}
	}
}

// lookPath finds the program as a shell would, with the PATH of env, relative to
// dir.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(inFolder(dir, name))
	}
	search := ""
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			search = rest // the last one counts
		}
	}
	for _, folder := range filepath.SplitList(search) {
		path := filepath.Join(inFolder(dir, folder), name)
		if executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q is not in the PATH of the task", name)
}

func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("command %q: %w", path, errors.Unwrap(err))
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("command %q is not a program that may be executed", path)
	}
	return nil
}
