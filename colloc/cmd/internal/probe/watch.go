package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/internal/procgroup"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// fakeDir is where fake GPUs keep who uses them: one place for each file.
func fakeDir(file string) (string, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("colloc-fake-%d-%.8x", os.Getuid(), sha256.Sum256([]byte(full)))), nil
}

// watch watches the task and returns the exit status.
func (o *options) watch(ctx context.Context, s cli.Streams, signals <-chan os.Signal) (status int, err error) {
	dir, err := os.MkdirTemp("", "colloc-profile")
	if err != nil {
		return exitUsage, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	fakes, err := fakeDir(o.fakeGPUs)
	if err != nil {
		return exitUsage, err
	}
	h, err := gpus.Open(ctx, o.fakeGPUs, fakes)
	if err != nil {
		return exitUsage, err
	}
	defer func() { err = errors.Join(err, h.Source.Close()) }()
	t, others, err := o.choose(ctx, h)
	if err != nil {
		return exitUsage, err
	}
	w := &watched{o: o, host: h, errs: s.Err, tenants: t, started: time.Now()}
	if len(others) > 0 {
		w.others = strings.Join(others, ", ")
		w.say("WARNING: %s is not alone: %s is there; what is measured is not the task's alone", t.gpu, w.others)
	}
	if err := w.begin(dir, s); err != nil {
		return exitUsage, err
	}
	w.watch = solo.Begin(fmt.Sprintf("process %d", t.root), w.started)
	w.say("watching %s on %s for %v", o.id, t.gpu, o.time)
	return w.run(ctx, signals)
}

// begin starts the command, or finds the process, and follows what it tells.
func (w *watched) begin(dir string, s cli.Streams) (err error) {
	o := w.o
	if o.pid != 0 {
		if !lives(o.pid) {
			return fmt.Errorf("-pid %d: there is no such process, or it cannot be seen from here", o.pid)
		}
		w.words, w.dir = running(o.pid)
		w.progress, err = follow("", outputs(o.pid), o.step)
		return err
	}
	logs := []string{filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")}
	if w.progress, err = follow(filepath.Join(dir, "steps"), logs, o.step); err != nil {
		return err
	}
	w.words = o.command
	if w.dir, err = os.Getwd(); err != nil {
		return err
	}
	if w.process, err = start(o.command, w.host, w.tenants.gpu, dir, s); err == nil {
		w.tenants.root = w.process.cmd.Process.Pid
	}
	return err
}

// run samples and reads until the task is over, or is no longer of interest.
func (w *watched) run(ctx context.Context, signals <-chan os.Signal) (status int, err error) {
	every := min(time.Second, max(100*time.Millisecond, w.o.time/30))
	stop := w.observe(ctx, every)
	defer stop()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	if w.process == nil {
		return w.follow(ctx, ticker.C, signals)
	}
	defer func() { err = errors.Join(err, w.process.close()) }()
	var kill <-chan time.Time
	var failed error
	for asked := 0; ; {
		select {
		case <-w.process.done:
			status := w.process.status()
			failed = errors.Join(failed, w.ended(time.Now(), status == 0 && asked == 0, status))
			if w.stopping && asked == 0 {
				status = exitOK
			}
			if failed != nil && status == exitOK {
				status = exitFailed
			}
			return status, failed
		case <-ticker.C:
			over, err := w.tick(time.Now())
			failed = errors.Join(failed, err)
			if over && w.o.stop && !w.stopping {
				w.stopping = true
				procgroup.Signal(w.process.cmd, syscall.SIGTERM)
				const grace = 10 * time.Second
				kill = time.After(grace)
			}
		case s := <-signals:
			failed = errors.Join(failed, w.conclude(time.Now(), false))
			const most = 3
			if asked++; asked >= most {
				s = syscall.SIGKILL
			}
			procgroup.Signal(w.process.cmd, s)
		case <-kill:
			procgroup.Kill(w.process.cmd)
		case <-ctx.Done():
			procgroup.Kill(w.process.cmd)
			<-w.process.done
			return exitFailed, ctx.Err()
		}
	}
}

// observe samples the GPU until the function that it returns is called.
func (w *watched) observe(ctx context.Context, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := nvmlx.NewSampler(w.host.Source, &nvmlx.SamplerConfig{Every: every, Devices: []nvmlx.DeviceID{w.tenants.gpu}}).
			Run(ctx, func(s nvmlx.Sample) { w.sample(ctx, &s) })
		if err != nil && ctx.Err() == nil {
			w.say("the GPU is not measured any more: %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// follow watches a process of somebody else.
func (w *watched) follow(ctx context.Context, tick <-chan time.Time, signals <-chan os.Signal) (int, error) {
	for {
		var err error
		over := true
		select {
		case now := <-tick:
			over, err = w.tick(now)
		case <-signals:
			err = w.conclude(time.Now(), false)
		case <-ctx.Done():
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return exitFailed, err
		case over:
			return exitOK, nil
		}
	}
}

// sample notes what the GPU did, unless somebody else was there.
func (w *watched) sample(ctx context.Context, s *nvmlx.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	l := w.tenants.look(ctx, time.Now(), s.MemUsed)
	w.looks++
	if len(l.others) > 0 {
		if w.crowded++; w.others == "" {
			w.others = strings.Join(l.others, ", ")
			w.say("WARNING: the task is not alone any more: %s came to %s; what is seen meanwhile is left out", w.others, w.tenants.gpu)
		}
		if !w.o.shared {
			return
		}
	}
	if m, ok := l.memory.Get(); ok && m > w.peak.Or(0) {
		w.peak = profile.Some(m)
	}
	s.CPUBusy = l.cpu
	w.watch.Sample(s.Sample)
}

// tick reads how far the task is, and writes the file once enough was seen.
func (w *watched) tick(now time.Time) (over bool, err error) {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return true, nil
	}
	w.read(now, false)
	enough := w.watch.Done(now, w.o.time) || w.process == nil && !lives(w.o.pid)
	w.mu.Unlock()
	if !enough {
		return false, nil
	}
	return true, w.conclude(now, false)
}

func (w *watched) read(now time.Time, end bool) {
	w.reading = w.progress.read(end)
	w.watch.Peak(w.peak)
	w.watch.Step(now, w.reading.Step, w.reading.Restarts)
}

// ended is told that the command is over.
func (w *watched) ended(now time.Time, well bool, status int) error {
	w.mu.Lock()
	if !w.over {
		w.read(now, true)
		if !well && w.watch.Steps() == 0 && w.peak.IsZero() {
			w.over = true
			w.say("the command ended with status %d after %v, before anything was seen: no task file", status, now.Sub(w.started).Round(10*time.Millisecond))
		}
	}
	w.mu.Unlock()
	return w.conclude(now, well)
}

// conclude writes the file, once; whole says that the task ran to its end.
func (w *watched) conclude(now time.Time, whole bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil
	}
	w.over = true
	if w.process != nil {
		w.process.over.Store(true)
	}
	return w.write(now, whole)
}
