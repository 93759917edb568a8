package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// statusOf is the exit status after a signal: 130 for Ctrl-C, 143 for SIGTERM.
func statusOf(s os.Signal) int {
	const signalled = 128
	if number, ok := s.(syscall.Signal); ok && number > 0 {
		return signalled + int(number)
	}
	return exitInterrupted
}

// run runs the tasks and returns the exit status.
func (s *sweep) run(ctx context.Context, signals <-chan os.Signal) (int, error) {
	s.started = time.Now()
	var metrics net.Listener
	if s.o.metrics != "" {
		var err error
		if metrics, err = screen.ListenMetrics(s.o.metrics); err != nil {
			return exitUsage, err
		}
		defer metrics.Close()
	}
	if err := s.open(ctx); err != nil {
		return exitUsage, err
	}
	s.show.Note("output and job log are in " + s.o.logs)
	if s.station != nil {
		s.show.Note(fmt.Sprintf("the station at %s runs the tasks, beside those of others: colloc station list; -station no runs them here", s.station.Socket()))
	}
	left, err := s.submit()
	if err != nil {
		return exitUsage, errors.Join(err, s.runner.Close())
	}
	stop := func() error { return nil }
	if metrics != nil {
		s.show.Note("metrics on http://" + metrics.Addr().String() + "/metrics")
		stop = screen.ServeMetrics(metrics, func() *screen.View { return s.look(time.Now()) })
	}
	var last os.Signal
	if left > 0 {
		last, err = s.wait(ctx, signals)
	}
	err = errors.Join(err, stop(), s.runner.Close()) // after which all events are told
	if s.learner != nil {
		s.learner.Close()
	}
	return s.finish(last, err)
}

// wait runs the queue to its end, or to that of what runs when the first signal
// comes; a second one ends that, too, and a third one leaves it alone. It returns the
// last signal.
func (s *sweep) wait(ctx context.Context, signals <-chan os.Signal) (last os.Signal, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	done := make(chan error, 1)
	go func() { done <- s.runner.Run(ctx) }()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	follow := screen.NewFollower(s.show)
	told, asked, since := "", 0, time.Now()
	for {
		select {
		case err = <-done:
			s.refresh(follow)
			if errors.Is(err, runner.ErrDrained) || errors.Is(err, runner.ErrHalted) || last != nil && errors.Is(err, context.Canceled) {
				err = nil // the report tells what is left
			}
			return last, err
		case <-ticker.C:
			s.refresh(follow)
			if s.learner != nil {
				s.learner.Look(time.Now(), s.learned)
			}
			if s.runs() {
				told, since = "", time.Now()
			} else if time.Since(since) >= settles {
				told = s.idle(told)
			}
		case signal := <-signals:
			if signal == syscall.SIGHUP {
				s.hangUp()
				continue
			}
			last = signal
			if asked++; asked > 2 {
				s.leave()
				leave()
				continue
			}
			s.interrupt(asked > 1)
		}
	}
}

// refresh shows how it stands.
func (s *sweep) refresh(follow *screen.Follower) {
	if !screen.Live(s.show) && !s.o.follow {
		return
	}
	v := s.look(time.Now())
	if s.o.follow {
		follow.Look(v.Records)
	}
	s.show.Tick(v)
}

// settles is for how long nothing runs before that is told: between the end of a task and the start of the next
// there is a moment.
const settles = 2 * time.Second

// runs reports whether a task runs.
func (s *sweep) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

// idle says why nothing runs, unless that was told before.
func (s *sweep) idle(told string) string {
	for _, r := range s.runner.Records() {
		if r.State != runner.Queued || r.Waiting == "" {
			continue
		}
		if r.Waiting != told {
			s.show.Note(fmt.Sprintf("nothing runs; %s waits: %s", r.Task.ID, r.Waiting))
		}
		return r.Waiting
	}
	return ""
}

// interrupt is what Ctrl-C does: the first time what runs may end, the second
// time it must.
func (s *sweep) interrupt(again bool) {
	s.runner.Drain()
	var running []string
	for _, r := range s.runner.Records() {
		if r.State == runner.Starting || r.State == runner.Running {
			running = append(running, r.Task.ID)
		}
	}
	if !again {
		s.show.Note(fmt.Sprintf("interrupted: %s still running; interrupt again to end them", screen.Plural(len(running), "task")))
		return
	}
	if len(running) == 0 {
		return
	}
	s.show.Note("ending " + screen.Plural(len(running), "task"))
	if err := s.runner.Kill(running...); err != nil {
		s.show.Note(err.Error())
	}
}

// leave is what a third Ctrl-C does: tasks go on, also those that were to be ended
// and did not end.
func (s *sweep) leave() {
	text := "the tasks that run go on"
	if err := s.runner.Spare(); err != nil {
		text += ", but those that were to be ended will be when the sweep goes on: " + err.Error()
	}
	s.show.Note("leaving; " + text)
}

// hangUp goes on without the terminal, which is gone: what happens is told in a file.
func (s *sweep) hangUp() {
	name := filepath.Join(s.o.logs, hangUpName)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		s.show.Set(screen.NewPlain(io.Discard, nil))
		return
	}
	s.show.Set(screen.NewPlain(file, screen.NewNames(s.host.Devices))) // closed with the process
	s.show.Note(fmt.Sprintf("%s the terminal was closed: the sweep goes on, as process %d, and tells here what happens; kill -INT %[2]d interrupts it",
		time.Now().Format(time.DateTime), os.Getpid()))
}

// finish reports and tells the exit status.
func (s *sweep) finish(last os.Signal, err error) (int, error) {
	s.mu.Lock()
	err = errors.Join(s.err, err)
	s.mu.Unlock()
	rep := s.report(time.Now())
	if rep.Waiting+rep.Cancelled > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("go on with: colloc sweep -logs %s -resume", grammar.QuoteWord(s.o.logs)))
	}
	if rep.Failed > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("run again what failed: colloc sweep -logs %s -resume-failed", grammar.QuoteWord(s.o.logs)))
	}
	s.show.End(rep)
	switch {
	case last != nil:
		return statusOf(last), err
	case err != nil || rep.OK < rep.Tasks:
		return exitFailed, err
	}
	return exitOK, nil
}
