package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/profile"
)

// runner measures cells.
type runner struct {
	rig    *rig.Rig
	config *Config
	pool   *workload.Pool // of processes that wait for their next run
}

// measure runs one cell. An error means that the cell was not measured: ctx
// ended, or no workload can be started at all. What workloads do wrong is part
// of the result.
func (r *runner) measure(ctx context.Context, c plan.Cell) (raw.Result, error) {
	res := raw.Result{Cell: c, Started: r.rig.Clock.Now().UTC(), Members: make([]raw.Member, len(c.Tasks))}
	res.Baseline = r.rig.Used(ctx)
	workers := make([]*workload.Process, len(c.Tasks))
	for i := range workers {
		workers[i] = r.pool.Take(c.Slot(i))
	}
	res.Idle = len(r.pool.Idle)
	for i := range workers {
		res.Members[i] = raw.Member{Task: c.Tasks[i], Status: workload.OK}
		if workers[i] == nil {
			w, err := r.start(ctx, c.Slot(i))
			if err != nil {
				r.release(workers, workload.Crash, false)
				return res, err
			}
			workers[i] = w
		}
	}
	r.all(res.Members, func(i int) error { return r.prepare(ctx, &res, workers[i], i) })
	if raw.Worst(res.Members) == workload.OK && ctx.Err() == nil {
		r.signal(ctx, &res, workers)
	}
	res.Status = raw.Worst(res.Members)
	if res.Status.Trouble() && c.Mechanism == profile.MPS {
		r.pool.Clear() // the daemon's other clients share the fate of a broken one
	}
	r.release(workers, res.Status, ctx.Err() == nil)
	return res, ctx.Err()
}

// start launches a process; whether it lives is seen when it is prepared.
func (r *runner) start(ctx context.Context, s plan.Slot) (*workload.Process, error) {
	cmd, err := r.rig.Launch(ctx, s)
	if err != nil {
		return nil, err
	}
	w, err := workload.Start(cmd, s)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", s.Task, err)
	}
	return w, nil
}

// all calls do for every member at once and notes how it failed.
func (r *runner) all(members []raw.Member, do func(i int) error) {
	var group sync.WaitGroup
	for i := range members {
		group.Go(func() {
			err := do(i)
			var f *workload.EndError
			switch m := &members[i]; {
			case errors.As(err, &f):
				m.Status, m.Message, m.Free, m.Held = f.Status, f.Message, f.Free, f.Held
			case err != nil:
				m.Status, m.Message = workload.Crash, err.Error()
			}
		})
	}
	group.Wait()
}

// prepare brings a process to where it only waits for the start signal.
func (r *runner) prepare(ctx context.Context, res *raw.Result, w *workload.Process, i int) error {
	m := &res.Members[i]
	if w.Runs == 0 {
		hello, err := w.Await(ctx, workload.EventHello, r.config.Start)
		if err != nil {
			return err
		}
		w.Context = r.contextOf(ctx, res, w, hello)
	}
	m.Runs, m.Context = w.Runs, w.Context
	w.Runs++
	if err := w.Send(r.command(res, w, i, workload.Command{Cmd: "prepare"})); err != nil {
		return err
	}
	ready, err := w.Await(ctx, workload.EventReady, r.config.Start)
	if err != nil {
		return err
	}
	m.Spec = ready.Spec
	return nil
}

// contextOf returns what a process holds before its first tensor: by its PID
// where the driver lists it, else the growth of the device's use, if nobody
// else is there who may have grown.
func (r *runner) contextOf(ctx context.Context, res *raw.Result, w *workload.Process, hello workload.Event) profile.Opt[profile.Bytes] {
	list, _ := r.rig.Processes(ctx) // else the growth has to tell
	for _, p := range list {
		if p.PID == w.PID() {
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
func (r *runner) command(res *raw.Result, w *workload.Process, i int, c workload.Command) workload.Command {
	if r.rig.Sim != nil {
		c.Act = r.rig.Sim.Play(&res.Cell, i, w.PID(), c.Cmd)
	}
	return c
}

// signal gives the start signal and collects what came of it.
func (r *runner) signal(ctx context.Context, res *raw.Result, workers []*workload.Process) {
	span := time.Duration((r.config.Warmup + r.config.Measure) * float64(time.Second))
	commands := make([]workload.Command, len(workers))
	for i, w := range workers {
		commands[i] = r.command(res, w, i, workload.Command{Cmd: "go", Warmup: r.config.Warmup, Measure: r.config.Measure})
	}
	watchCtx, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan watching, 1)
	until := r.rig.Clock.Now().Add(span)
	go func() {
		seen <- watch(watchCtx, r.rig, until, time.Duration(r.config.Period*float64(time.Second)))
	}()
	r.all(res.Members, func(i int) error {
		if err := workers[i].Send(commands[i]); err != nil {
			return err
		}
		done, err := workers[i].Await(ctx, workload.EventDone, span+r.config.Grace)
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
		if peak, ok := w.peaks[workers[i].PID()]; ok {
			res.Members[i].ProcessPeak = profile.Some(peak)
		}
	}
	if raw.Worst(res.Members) == workload.OK {
		res.Window = r.window(res.Members)
	}
}

// leastSteps is how many steps a task must do in the window for a speed.
const leastSteps = 3

// window returns the common window; members with too few steps in it are short.
func (r *runner) window(members []raw.Member) *raw.Window {
	w, ok := raw.CommonWindow(members, r.config.Warmup)
	enough := ok && w.Seconds() >= r.config.Measure/2
	for i := range members {
		if !enough || members[i].Steps(w) < leastSteps {
			members[i].Status = workload.Short
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
func (r *runner) release(workers []*workload.Process, s workload.Status, goOn bool) {
	for _, w := range workers {
		switch {
		case w == nil:
		case !goOn || s.Trouble():
			w.Kill()
		case s == workload.OOM || r.pool.Room == 0:
			w.Quit(quitPatience)
		default:
			r.pool.Put(w)
		}
	}
}
