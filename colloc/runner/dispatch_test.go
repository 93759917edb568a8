//go:build linux

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/dispatch/dispatchtest"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/internal/race"
	"example.com/colloc/nvmlx"
)

// TestDispatch plays the days of package dispatchtest with real processes: GPUs fail, are drained and lent to others, jobs run out of
// memory, are held and withdrawn, and the runner restarts while they run.
func TestDispatch(t *testing.T) {
	played := make(map[*dispatchtest.World]*player)
	days := 4
	if race.Enabled {
		days = 1 // of some forty jobs, each of which starts processes
	}
	dispatchtest.RunOnce(t, days, func(w *dispatchtest.World) (dispatchtest.Body, error) {
		p := played[w]
		if p == nil {
			p = newPlayer(t, w)
			played[w] = p
		} else if err := p.r.Close(); err != nil {
			return nil, err
		}
		return p, p.open(t.Context())
	})
}

// player is a runner in a world that pretends. Its tasks end when the world says so.
type player struct {
	w      *dispatchtest.World
	r      *Runner
	clock  *stepClock
	began  time.Time
	dir    string
	users  map[string]string // of jobs
	limits map[string]Limits
	gpus   []*playedGPU
	lives  map[string]*playedRun // that the world knows
	number uint64
	over   map[string]bool // the world knows
	later  []dispatch.Event
}

type playedGPU struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Lost    bool   `json:"lost"`
	Foreign string `json:"foreign"`
}

type playedRun struct {
	number uint64   // the world's
	run    int      // the runner's
	order  *os.File // that told it to end
}

func newPlayer(t *testing.T, w *dispatchtest.World) *player {
	t.Helper()
	began := time.Unix(1e9, 0)
	p := &player{
		w: w, began: began, clock: &stepClock{time: began}, dir: t.TempDir(), users: make(map[string]string),
		limits: make(map[string]Limits), lives: make(map[string]*playedRun), over: make(map[string]bool),
	}
	for _, e := range w.Events() { // a machine has its GPUs when a runner opens
		switch e := e.(type) {
		case dispatch.GPUAdded:
			p.gpus = append(p.gpus, &playedGPU{ID: e.GPU.ID, Name: e.GPU.Model.Name, Foreign: "0"})
		case dispatch.Allowed:
			p.limits[e.User] = e.Limits
		default:
			p.later = append(p.later, e)
		}
	}
	t.Cleanup(func() {
		t.Logf("%d runs, %d jobs over", p.number, len(p.over))
		if p.r != nil {
			if err := p.r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

// write writes the file of the GPUs.
func (p *player) write() error {
	text, err := json.Marshal(map[string]any{"gpus": p.gpus})
	if err != nil {
		return err
	}
	name := filepath.Join(p.dir, "gpus.json")
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func (p *player) gpu(id string) *playedGPU {
	return p.gpus[slices.IndexFunc(p.gpus, func(g *playedGPU) bool { return g.ID == id })]
}

// open opens the runner, which finds what it left. Nobody calls its Run: Turn takes each step.
func (p *player) open(ctx context.Context) error {
	if err := p.write(); err != nil {
		return err
	}
	c, err := testConfig(filepath.Join(p.dir, "state"), filepath.Join(p.dir, "gpus.json"))
	if err != nil {
		return err
	}
	const most = 4
	c.PerGPU, c.Clock, c.Serve = most, p.clock, true
	c.Users = &Users{Limits: p.limits}
	c.whose = func(t *Task) string { return p.users[t.ID] }
	if p.r, err = openSimply(ctx, c, &simplePlanner{most: most}); err == nil {
		p.r.stopWatch() // Turn looks: a look that began before a GPU was lost and ends after another one would find it again
	}
	return err
}

// Turn implements dispatchtest.Body.
func (p *player) Turn(ctx context.Context) (next time.Duration, err error) {
	p.clock.step(p.began.Add(p.w.Now()).Sub(p.clock.Now()))
	for _, e := range append(p.later, p.w.Events()...) {
		if err := p.hear(e); err != nil {
			return 0, fmt.Errorf("%T: %w", e, err)
		}
	}
	p.later = nil
	if err := p.write(); err != nil {
		return 0, err
	}
	waiter := nvmlx.SystemClock().NewWaiter()
	defer waiter.Stop()
	before, deadline := "", time.Now().Add(5*time.Minute)
	for {
		p.r.look(ctx)
		if _, err := p.r.step(); err != nil {
			return 0, err
		}
		now, still := p.look()
		if still && now == before {
			return 0, nil
		}
		if before = now; !still {
			if err := waiter.Wait(ctx, time.Now().Add(time.Millisecond)); err != nil {
				return 0, err
			}
		}
		if time.Now().After(deadline) {
			return 0, errors.New("the runner does not come to rest: " + now)
		}
	}
}

// hear lets what the world tells happen.
func (p *player) hear(e dispatch.Event) error {
	switch e := e.(type) {
	case dispatch.Submitted:
		return p.submit(&e.Job)
	case dispatch.Held:
		return p.r.Hold(e.Job)
	case dispatch.Released:
		return p.r.Release(e.Job)
	case dispatch.Withdrawn:
		p.over[e.Job] = true
		return p.r.Kill(e.Job)
	case dispatch.GPUFailed:
		p.gpu(e.GPU).Lost = true
		p.reserve(e.GPU)
	case dispatch.GPURestored:
		p.gpu(e.GPU).Lost = false
	case dispatch.Drained:
		if e.Off {
			p.reserve(e.GPU)
		} else {
			p.reserve(e.GPU, Reservation{})
		}
	case dispatch.Foreign:
		p.gpu(e.GPU).Foreign = strconv.FormatInt(int64(e.Memory), 10)
	case dispatch.Ended:
		return p.end(&e)
	}
	return nil
}

// fifo is where a task waits for its end.
func (p *player) fifo(job string) string { return filepath.Join(p.dir, job) }

func (p *player) submit(j *dispatch.Job) error {
	if err := syscall.Mkfifo(p.fifo(j.ID), 0o600); err != nil {
		return err
	}
	p.users[j.ID] = j.User
	t := shell(`read how < "$1"; [ "$how" = done ] || { echo "CUDA out of memory. Tried to allocate 2.00 GiB"; exit 1; }`, p.fifo(j.ID))
	t.ID, t.Kind, t.Memory, t.Priority, t.GPUs, t.Restart = j.ID, j.Kind, j.Reserved, j.Priority, j.GPUs, j.Restart
	for _, a := range j.After {
		t.After = append(t.After, Dependency{Task: a.Job, Any: a.Any})
	}
	_, err := p.r.Submit(t)
	return err
}

// end lets a run end by itself, unless the runner has ended it: with its GPU, say.
func (p *player) end(e *dispatch.Ended) error {
	l := p.lives[e.Job]
	if l == nil || l.number != e.Run || e.How == dispatch.Stopped || e.How == dispatch.Lost {
		return nil
	}
	if e.How == dispatch.Done {
		p.over[e.Job] = true
	}
	file, err := os.OpenFile(p.fifo(e.Job), os.O_RDWR, 0) // it keeps what is written until the shell comes to it
	if err != nil {
		return err
	}
	l.order = file
	_, err = fmt.Fprintln(file, e.How)
	return err
}

func (p *player) reserve(gpu string, of ...Reservation) {
	i := slices.IndexFunc(p.r.fleet.Cards, func(c *fleet.Card) bool { return string(c.Info.ID) == gpu })
	p.r.Reserve(p.r.fleet.Cards[i].Info.ID, of...)
}

// look tells the world what the runner did; still says that nothing is about to start or to end.
func (p *player) look() (now string, still bool) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	still = true
	var all strings.Builder
	for _, e := range p.r.queue.Entries {
		live := e.State == Running || e.State == Starting
		l := p.lives[e.Task.ID]
		if l != nil && (!live || e.Runs != l.run) {
			p.do(dispatch.Action{Verb: dispatch.Stop, Job: e.Task.ID, Run: l.number})
			delete(p.lives, e.Task.ID)
			if l.order != nil {
				_ = l.order.Close() // a pipe that is read
			}
			l = nil
		}
		still = still && e.State != Starting && (e.Stop == 0 || !live) && (l == nil || l.order == nil)
		fmt.Fprint(&all, e.Task.ID, e.State, e.Runs, " ")
	}
	for _, e := range p.r.queue.Entries {
		switch {
		case e.State == Running && p.lives[e.Task.ID] == nil:
			p.starts(e)
		case e.State.Over() && !p.over[e.Task.ID]:
			p.over[e.Task.ID] = true
			p.do(dispatch.Action{Verb: dispatch.GiveUp, Job: e.Task.ID, Why: e.Err})
		}
	}
	return all.String(), still
}

func (p *player) starts(e *backlog.Entry) {
	p.number++
	p.lives[e.Task.ID] = &playedRun{number: p.number, run: e.Runs}
	a := dispatch.Action{Verb: dispatch.Start, Job: e.Task.ID, Run: p.number, Mechanism: e.Mechanism, Reserve: e.Reserved}
	for _, id := range e.Devices() {
		a.GPUs = append(a.GPUs, string(id))
	}
	p.do(a)
}

// do tells the world, which refuses nothing that has happened.
func (p *player) do(a dispatch.Action) {
	if err := p.w.Do(a); err != nil {
		panic(err)
	}
}
