package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/profile"
)

// isSupervisor reports whether this process was started to supervise a task.
func isSupervisor() bool { return os.Args[0] == supervisorName }

// Main turns this process into the supervisor of one task if [Launch]
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain. The packages that the
// program imports are initialised before, for each run anew: two milliseconds of
// a CPU for a lean program, more for one that links much.
func Main() {
	const fewest = 7
	if runsAsOwner() && len(os.Args) > 1 {
		mainOfOwner()
	}
	if isSupervisor() && len(os.Args) >= fewest {
		// Without the end that Go makes: nothing is left to do, and a race detector
		// would wait a second.
		expose("/proc/self/oom_score_adj")
		syscall.Exit(supervise(os.Args[1], environmentOf(os.Args[2]), os.Args[3], os.Args[4], os.Args[5], os.Args[6:]))
	}
}

// supervise runs one command and returns the exit code of this process: that of
// the command, for a runner that cannot read the record.
func supervise(stem string, env []string, key, room, path string, argv []string) int {
	runtime.LockOSThread() // the kernel kills the command when the thread that started it ends
	syscall.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	order, err := orderFor(path)
	if err != nil { // nobody has claimed the run: the next runner starts it anew
		fmt.Fprintln(os.Stderr, "colloc: the runner died before it had said what to run:", err)
		return exitNotStarted
	}
	self, err := Find(os.Getpid())
	mine := Claim{Process: self, Space: ThisSpace(), Key: key}
	if err == nil {
		err = claim(stem, mine.String())
	}
	switch {
	case errors.Is(err, ErrTaken):
		return exitTaken
	case err != nil:
		fmt.Fprintln(os.Stderr, "colloc: no claim on this run:", err)
		return exitNotStarted
	}
	// Who signals the supervisor means the command. Signals must be caught and
	// not ignored: a command inherits what is ignored.
	adopt()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	in := groupOf("self").child(groupName(stem, mine))
	child, err := begin(&in, order, env, path, argv)
	if err != nil {
		in.end()
		return notStarted(stem, order, err)
	}
	began := time.Now() //nolint:forbidigo // what it measures is another process
	tell(report, child)
	limit, _ := strconv.ParseInt(room, 10, 64) // the runner wrote it
	trim := newTrimmer(stem+LogEnd, profile.Bytes(limit))
	if trim != nil {
		go trim.watch()
	}
	go func() {
		for s := range signals {
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(-child, s) // it may have ended
			}
		}
	}()
	status, err := wait(child)
	took := time.Since(began) //nolint:forbidigo // as above
	in.end()
	endDescendants()
	if err != nil {
		_ = writeExit(stem, Outcome{Err: err.Error()}) // as above
		return exitNotStarted
	}
	o := Outcome{Took: took}
	if trim != nil {
		_ = trim.look() // it was the last
		o.Dropped = profile.Bytes(trim.dropped.Load())
	}
	return record(stem, status, o)
}

// notStarted records that the command of a run does not start, and returns the exit code.
func notStarted(stem string, order *Order, err error) int {
	fmt.Fprintln(os.Stderr, "colloc: the command does not start:", err)
	o := Outcome{Err: "the command does not start: " + err.Error(), Crowded: Crowded(err) || errors.Is(err, errUnbegun) && roomless(stem)}
	if o.Crowded && isRoot() && order != nil {
		if limits, err := LimitsOf("self", -1); err != nil || full(order.UID, limits) { // others are not to wait for that
			o.Crowded, o.Err = false, o.Err+": its user has as many processes as there may be"
		}
	}
	_ = writeExit(stem, o) // if not, the exit code tells
	return exitNotStarted
}

// expose lets the kernel end this run for want of memory like any other, where the daemon that started it is to be spared. It
// comes before the command is an owner's: what has the right to write a score sets how far others may lower it.
func expose(score string) {
	if text, err := os.ReadFile(score); err == nil && strings.HasPrefix(string(text), "-") {
		_ = os.WriteFile(score, []byte("0"), 0) // if not, the run is spared, too
	}
}

// orderFor reads what a command without a path is to run as; nil for others.
func orderFor(path string) (*Order, error) {
	if path != "" {
		return nil, nil //nolint:nilnil // there is none
	}
	order, err := readOrder(orderFD)
	return &order, err
}

// begin starts the command, in a group.
func begin(in *group, order *Order, env []string, path string, argv []string) (pid int, err error) {
	if order != nil {
		return order.start(in, argv)
	}
	// Package os would start another process to find out how to wait for this one.
	return in.start(path, argv, syscall.ProcAttr{
		Files: []uintptr{0, 1, 2},
		Env:   env,
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// environmentOf is the task's environment: this process's, with the task's own
// setting of threadsVariable.
func environmentOf(own string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, threadsVariable) })
	if own != "" {
		env = append(env, own)
	}
	return env
}

// tell reports the command's process to the runner, which may be gone. The pipe
// stays open: that it closes tells the runner of the end of this process.
func tell(report *os.File, pid int) {
	p, err := Find(pid)
	if err != nil {
		p = Process{PID: pid}
	}
	_, _ = report.WriteString(p.String() + "\n")
}

// record leaves the exit record and returns the exit code.
func record(stem string, status syscall.WaitStatus, o Outcome) int {
	const signalled = 128
	o.Exit = status.ExitStatus() // -1 after a signal
	code := o.Exit
	if status.Signaled() {
		o.Signal = int(status.Signal())
		code = signalled + o.Signal
	}
	if err := writeExit(stem, o); err != nil {
		fmt.Fprintln(os.Stderr, "colloc: no exit record:", err)
	}
	return code
}
