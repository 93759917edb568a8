package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/colloc/profile"
)

// settings are what every cell of a file has in common.
type settings struct {
	Warmup  float64 `json:"warmup_s"`
	Measure float64 `json:"measure_s"`
	Period  float64 `json:"period_s"` // between samples
	Keep    int     `json:"keep"`     // processes kept between cells
}

// patience is how long a workload may be silent before it counts as hung.
type patience struct {
	start time.Duration // to load the framework, and to build a model
	run   time.Duration // beyond warm-up and measuring
	quit  time.Duration
}

// runner measures cells.
type runner struct {
	rig      *rig
	settings settings
	patience patience
	pool     pool
}

// measure runs one cell. An error means that the cell was not measured: ctx
// ended, or no workload can be started at all. What workloads do wrong is part
// of the result.
func (r *runner) measure(ctx context.Context, c cell) (result, error) {
	res := result{Cell: c, Started: r.rig.clock.Now().UTC(), Members: make([]member, len(c.Tasks))}
	res.Baseline = r.rig.used(ctx)
	workers := make([]*worker, len(c.Tasks))
	for i := range workers {
		workers[i] = r.pool.take(c.slot(i))
	}
	res.Idle = len(r.pool.idle)
	for i := range workers {
		res.Members[i] = member{Task: c.Tasks[i], Status: statusOK}
		if workers[i] == nil {
			w, err := r.start(ctx, c.slot(i))
			if err != nil {
				r.release(workers, statusCrash, false)
				return res, err
			}
			workers[i] = w
		}
	}
	r.all(res.Members, func(i int) error { return r.prepare(ctx, &res, workers[i], i) })
	if worst(res.Members) == statusOK && ctx.Err() == nil {
		r.signal(ctx, &res, workers)
	}
	res.Status = worst(res.Members)
	if res.Status.trouble() && c.Mechanism == profile.MPS {
		r.pool.clear() // the daemon's other clients share the fate of a broken one
	}
	r.release(workers, res.Status, ctx.Err() == nil)
	return res, ctx.Err()
}

// start launches a process; whether it lives is seen when it is prepared.
func (r *runner) start(ctx context.Context, s slot) (*worker, error) {
	cmd, err := r.rig.launch(ctx, s)
	if err != nil {
		return nil, err
	}
	w, err := startWorker(cmd, s)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", s.task, err)
	}
	return w, nil
}

// all calls do for every member at once and notes how it failed.
func (r *runner) all(members []member, do func(i int) error) {
	var group sync.WaitGroup
	for i := range members {
		group.Go(func() {
			err := do(i)
			var f *failure
			switch m := &members[i]; {
			case errors.As(err, &f):
				m.Status, m.Message, m.Free, m.Held = f.status, f.message, f.free, f.held
			case err != nil:
				m.Status, m.Message = statusCrash, err.Error()
			}
		})
	}
	group.Wait()
}

// prepare brings a process to where it only waits for the start signal.
func (r *runner) prepare(ctx context.Context, res *result, w *worker, i int) error {
	m := &res.Members[i]
	if w.runs == 0 {
		hello, err := w.await(ctx, eventHello, r.patience.start)
		if err != nil {
			return err
		}
		w.context = r.contextOf(ctx, res, w, hello)
	}
	m.Runs, m.Context = w.runs, w.context
	w.runs++
	if err := w.send(r.command(res, w, i, command{Cmd: "prepare"})); err != nil {
		return err
	}
	ready, err := w.await(ctx, eventReady, r.patience.start)
	if err != nil {
		return err
	}
	m.spec = ready.Spec
	return nil
}

// contextOf returns what a process holds before its first tensor: by its PID
// where the driver lists it, else the growth of the device's use, if nobody
// else is there who may have grown.
func (r *runner) contextOf(ctx context.Context, res *result, w *worker, hello event) profile.Opt[profile.Bytes] {
	list, _ := r.rig.processes(ctx) // else the growth has to tell
	for _, p := range list {
		if p.PID == w.pid() {
			return p.MemUsed
		}
	}
	before, ok1 := res.Baseline.Get()
	after, ok2 := hello.DeviceUsed.Get()
	if ok1 && ok2 && after > before && len(res.Members) == 1 && res.Idle == 0 {
		return profile.Some(after - before)
	}
	return profile.Opt[profile.Bytes]{}
}

// command adds the part that a simulated workload has to play.
func (r *runner) command(res *result, w *worker, i int, c command) command {
	if r.rig.sim != nil {
		c.Act = r.rig.sim.act(&res.Cell, i, w.pid(), c.Cmd, r.rig.clock.Now())
	}
	return c
}

// signal gives the start signal and collects what came of it.
func (r *runner) signal(ctx context.Context, res *result, workers []*worker) {
	span := time.Duration((r.settings.Warmup + r.settings.Measure) * float64(time.Second))
	commands := make([]command, len(workers))
	for i, w := range workers {
		commands[i] = r.command(res, w, i, command{Cmd: "go", Warmup: r.settings.Warmup, Measure: r.settings.Measure})
	}
	watchCtx, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan watching, 1)
	until := r.rig.clock.Now().Add(span)
	go func() {
		seen <- watch(watchCtx, r.rig, until, time.Duration(r.settings.Period*float64(time.Second)))
	}()
	r.all(res.Members, func(i int) error {
		if err := workers[i].send(commands[i]); err != nil {
			return err
		}
		done, err := workers[i].await(ctx, eventDone, span+r.patience.run)
		if err != nil {
			stop() // nothing left to see
			return err
		}
		m := &res.Members[i]
		m.Times, m.Counts = done.Times, done.Counts
		m.PeakAllocated, m.PeakReserved, m.CPUSeconds = done.PeakAllocated, done.PeakReserved, done.CPUSeconds
		return nil
	})
	w := <-seen
	res.Samples = w.samples
	if w.err != nil {
		res.SampleError = w.err.Error()
	}
	for i := range workers {
		if peak, ok := w.peaks[workers[i].pid()]; ok {
			res.Members[i].ProcessPeak = profile.Some(peak)
		}
	}
	if worst(res.Members) == statusOK {
		res.Window = r.window(res.Members)
	}
}

// leastSteps is how many steps a task must do in the window for a speed.
const leastSteps = 3

// window returns the common window; members with too few steps in it are short.
func (r *runner) window(members []member) *window {
	w, ok := commonWindow(members, r.settings.Warmup)
	enough := ok && w.seconds() >= r.settings.Measure/2
	for i := range members {
		if !enough || members[i].steps(w) < leastSteps {
			members[i].Status = statusShort
			members[i].Message = "too few steps while all members ran: measure for longer (-measure)"
		}
	}
	if !ok {
		return nil
	}
	return &w
}

// release puts processes back after a good run, lets them end after a lack of
// memory, and kills them otherwise.
func (r *runner) release(workers []*worker, s status, goOn bool) {
	for _, w := range workers {
		switch {
		case w == nil:
		case !goOn || s.trouble():
			w.kill()
		case s == statusOOM || r.pool.room == 0:
			w.quit(r.patience.quit)
		default:
			r.pool.put(w)
		}
	}
}
