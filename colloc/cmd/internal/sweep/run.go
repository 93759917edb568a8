package sweep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
)

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
	planner, err := s.o.newPlanner()
	if err != nil {
		return exitUsage, err
	}
	if err := s.open(ctx, planner); err != nil {
		return exitUsage, err
	}
	s.show.Note("output and job log are in " + s.o.logs)
	left, err := s.submit()
	if err != nil {
		return exitUsage, errors.Join(err, s.runner.Close())
	}
	stop := func() error { return nil }
	if metrics != nil {
		s.show.Note("metrics on http://" + metrics.Addr().String() + "/metrics")
		stop = screen.ServeMetrics(metrics, func() *screen.View { return s.look(time.Now()) })
	}
	interrupted := false
	if left > 0 {
		interrupted, err = s.wait(ctx, signals)
	}
	err = errors.Join(err, stop(), s.runner.Close()) // after which all events are told
	return s.finish(interrupted, err)
}

// wait runs the queue to its end, or to that of what runs when the first signal
// comes; a second one ends that, too.
func (s *sweep) wait(ctx context.Context, signals <-chan os.Signal) (interrupted bool, err error) {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	s.stopSampling = stop
	sampled := make(chan struct{})
	go func() { defer close(sampled); s.observe(sampling) }()
	done := make(chan error, 1)
	go func() { done <- s.runner.Run(ctx) }()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	follow := screen.NewFollower(s.show)
	told := ""
	for {
		select {
		case err = <-done:
			stop()
			<-sampled
			s.refresh(follow)
			if errors.Is(err, runner.ErrDrained) || errors.Is(err, runner.ErrHalted) {
				err = nil // the report tells what is left
			}
			return interrupted, err
		case <-ticker.C:
			s.refresh(follow)
			told = s.idle(told)
		case <-signals:
			s.interrupt(interrupted)
			interrupted = true
		}
	}
}

// observe samples the GPUs as long as something is unknown.
func (s *sweep) observe(ctx context.Context) {
	s.mu.Lock()
	curious := s.curious()
	s.mu.Unlock()
	if !curious {
		return
	}
	every := min(time.Second, max(100*time.Millisecond, s.o.profiling/20))
	err := nvmlx.NewSampler(s.host.source, &nvmlx.SamplerConfig{Slow: every, Devices: s.o.gpus}).Run(ctx, s.sample)
	if err != nil && ctx.Err() == nil {
		s.show.Note("the GPUs are not measured any more: " + err.Error())
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

// idle says why nothing runs, unless that was told before.
func (s *sweep) idle(told string) string {
	s.mu.Lock()
	running := len(s.running)
	s.mu.Unlock()
	if running > 0 {
		return ""
	}
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

// finish reports and tells the exit status.
func (s *sweep) finish(interrupted bool, err error) (int, error) {
	s.mu.Lock()
	err = errors.Join(s.err, err)
	s.mu.Unlock()
	rep := s.report(time.Now())
	if rep.Waiting > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("go on with: colloc sweep -logs %s -resume", grammar.QuoteWord(s.o.logs)))
	}
	s.show.End(rep)
	switch {
	case interrupted:
		return exitInterrupted, err
	case err != nil || rep.OK < rep.Tasks:
		return exitFailed, err
	}
	return exitOK, nil
}
