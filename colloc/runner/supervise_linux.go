package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// supervisorName is what a supervisor calls itself. Its arguments are the stem of
// the run's files, the path of the program, and the arguments of that, the name
// included. Environment, working folder, standard input and output are the
// task's; descriptor 3 takes the process that was started.
const supervisorName = "colloc-supervisor"

const (
	reportFD = 3
	// What a supervisor returns where the command did not run, as shells do.
	exitNotStarted = 127
	exitTaken      = 125
)

// isSupervisor reports whether this process was started to supervise a task.
func isSupervisor() bool { return os.Args[0] == supervisorName }

// Supervise turns this process into the supervisor of one task if a Runner
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain.
func Supervise() {
	const fewest = 4
	if isSupervisor() && len(os.Args) >= fewest {
		os.Exit(supervise(os.Args[1], os.Args[2], os.Args[3:])) //nolint:forbidigo // this process is not the caller's program
	}
}

// supervise runs one command and returns the exit code of this process: that of
// the command, for a runner that cannot read the record.
func supervise(stem, path string, argv []string) int {
	runtime.LockOSThread() // the kernel kills the command when the thread that started it ends
	syscall.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	self, err := processOf(os.Getpid())
	if err == nil {
		err = claim(stem, self.String())
	}
	switch {
	case errors.Is(err, errTaken):
		return exitTaken
	case err != nil:
		fmt.Fprintln(os.Stderr, "colloc: no claim on this run:", err)
		return exitNotStarted
	}
	// Who signals the supervisor means the command. Signals must be caught and
	// not ignored: a command inherits what is ignored.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	child, err := os.StartProcess(path, argv, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Env:   os.Environ(),
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "colloc: the command does not start:", err)
		_ = writeExit(stem, outcome{err: "the command does not start: " + err.Error()}) // if not, the exit code tells
		return exitNotStarted
	}
	tell(report, child.Pid)
	go func() {
		for s := range signals {
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(-child.Pid, s) // it may have ended
			}
		}
	}()
	state, err := child.Wait()
	_ = syscall.Kill(-child.Pid, syscall.SIGKILL) // what it left behind; usually nothing
	if err != nil {
		_ = writeExit(stem, outcome{err: err.Error()}) // as above
		return exitNotStarted
	}
	return record(stem, state)
}

// tell reports the command's process to the runner, which may be gone. The pipe
// stays open: that it closes tells the runner of the end of this process.
func tell(report *os.File, pid int) {
	p, err := processOf(pid)
	if err != nil {
		p = process{pid: pid}
	}
	_, _ = report.WriteString(p.String() + "\n")
}

// record leaves the exit record and returns the exit code.
func record(stem string, state *os.ProcessState) int {
	const signalled = 128
	o, code := outcome{exit: state.ExitCode()}, state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		o.signal = int(status.Signal())
		code = signalled + o.signal
	}
	if err := writeExit(stem, o); err != nil {
		fmt.Fprintln(os.Stderr, "colloc: no exit record:", err)
	}
	return code
}
