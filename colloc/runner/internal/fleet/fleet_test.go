//go:build linux

package fleet

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

const gib = profile.GiB

// byMemory fits what memory allows, 4 GiB for a task that asks for none, and nobody beside one
// that must be alone.
type byMemory struct{ observed []colloc.Observation }

func (*byMemory) Fit(t colloc.Task, g colloc.GPU) (colloc.Verdict, error) {
	v := colloc.Verdict{Reserved: t.Reserved, Free: g.Memory}
	if v.Reserved == 0 {
		v.Reserved = 4 * gib
	}
	for _, r := range g.Residents {
		v.Free -= r.Reserved
	}
	if v.Fits = v.Reserved <= v.Free && (!t.Alone || len(g.Residents) == 0); !v.Fits {
		v.Code = packer.MemoryLimit
	}
	return v, nil
}

func (*byMemory) Score(_ colloc.Task, g colloc.GPU) (float64, error) {
	return 1 / float64(1+len(g.Residents)), nil
}

func (p *byMemory) Observe(o colloc.Observation) error {
	p.observed = append(p.observed, o)
	return nil
}

// card is a GPU of a product with so much memory.
func card(id nvmlx.DeviceID, memory profile.Bytes) *Card {
	return &Card{Info: nvmlx.DeviceInfo{ID: id, Memory: profile.Some(memory)}, model: profile.GPUModel{Name: "A100"}}
}

// task waits; it asks for so much memory on so many GPUs.
func task(id string, memory profile.Bytes, gpus int) *backlog.Entry {
	return &backlog.Entry{Saved: backlog.Saved{Record: queue.Record{Task: queue.Task{ID: id, Memory: memory, GPUs: gpus}}}}
}

// fleetOf has cards with books.
func fleetOf(t *testing.T, c Config, cards ...*Card) *Fleet {
	t.Helper()
	if c.PerGPU == 0 {
		c.PerGPU = 4
	}
	if c.Mechanisms == nil {
		c.Mechanisms = []profile.Mechanism{profile.MPS, profile.TimeSlice}
	}
	f, err := New(c, &byMemory{}, cards)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(time.Now); err != nil {
		t.Fatal(err)
	}
	return f
}

// run puts a task on its card, with what it asked for.
func (f *Fleet) run(t *testing.T, e *backlog.Entry, c *Card) *backlog.Entry {
	t.Helper()
	e.GPU, e.Reserved, e.State = c.Info.ID, e.Task.Memory, queue.Running
	f.Join(e, profile.TimeSlice)
	if err := f.Book(e, []*Card{c}, e.Reserved); err != nil {
		t.Fatal(err)
	}
	return e
}

// reserved is what the books say of the first card.
func (f *Fleet) reserved() (sum profile.Bytes) {
	for _, r := range f.Books.Snapshot().GPUs[0].Residents {
		sum += r.Reserved
	}
	return sum
}

// TestAfterHeadroom: of a byte that the headroom takes in part nothing is offered, as the
// planner has it: a task that asks for it would wait for ever.
func TestAfterHeadroom(t *testing.T) {
	f := fleetOf(t, Config{Headroom: 0.1})
	for total, want := range map[profile.Bytes]profile.Bytes{0: 0, 1: 0, 10: 9, 11: 9, 40*gib + 5: 36*gib + 4} {
		if got := f.AfterHeadroom(total); got != want {
			t.Errorf("of %d bytes %d are offered, want %d", total, got, want)
		}
	}
}

// TestKeep: the card that is kept for who waited too long is neither lost nor kept already,
// and of the others one with the fewest tasks.
func TestKeep(t *testing.T) {
	lost, kept, two, one := card("lost", 40*gib), card("kept", 40*gib), card("two", 40*gib), card("one", 40*gib)
	f := fleetOf(t, Config{}, lost, kept, two, one, card("small", gib))
	lost.Lost = true
	for i, c := range []*Card{two, two, one} {
		f.run(t, task(string(rune('a'+i)), gib, 0), c)
	}
	for _, tt := range []struct {
		closed, want []int
	}{{[]int{1}, []int{3}}, {[]int{1, 3}, []int{2}}, {[]int{1, 2, 3}, nil}, {nil, []int{1}}} {
		if got := f.Keep(task("waits", 20*gib, 0), tt.closed); !slices.Equal(got, tt.want) {
			t.Errorf("with %v kept: %v, want %v", tt.closed, got, tt.want)
		}
	}
}

// TestRebook: a task of which more is known now reserves that, but no less than it was seen
// to use, in the books and in its record.
func TestRebook(t *testing.T) {
	c := card("a", 40*gib)
	f := fleetOf(t, Config{}, c)
	e := f.run(t, task("a", 30*gib, 0), c)
	e.Task.Memory, e.Profile = 0, newProfile(t)
	for _, tt := range []struct {
		peak profile.Opt[profile.Bytes]
		want profile.Bytes
	}{{profile.Opt[profile.Bytes]{}, 4 * gib}, {profile.Some(6 * gib), 6 * gib}} {
		e.Peak = tt.peak
		if f.Rebook(e, c); e.Reserved != tt.want || f.reserved() != tt.want {
			t.Errorf("seen to use %v it reserves %v, the books have %v; want %v", tt.peak, e.Reserved, f.reserved(), tt.want)
		}
	}
}

// TestFitSays: what a task waits for is said, and the floor itself may stay free.
func TestFitSays(t *testing.T) {
	c := card("a", 10*gib)
	f := fleetOf(t, Config{PerGPU: 1, MemoryFloor: 10 * gib}, c)
	if best, why, err := f.Fit(task("b", gib, 0), nil); err != nil || best.Cards == nil {
		t.Errorf("just the floor is free: %q, %v", why, err)
	}
	f.run(t, task("a", gib, 0), c)
	if _, why, err := f.Fit(task("b", gib, 0), nil); err != nil || why != "no GPU has a place left" {
		t.Errorf("it waits, because %q, %v", why, err)
	}
	if _, _, err := f.Fit(task("c", 50*gib, 0), nil); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "fits no GPU: ") {
		t.Errorf("it will never fit: %v", err)
	}
}

// TestBeside: a task of which nothing is known joins others where the share of the card is free
// that it needs, once all of them were seen to use memory, and gets all that is free.
func TestBeside(t *testing.T) {
	for _, tt := range []struct {
		name     string
		other    profile.Bytes
		seen     bool
		recovery queue.Recovery
		says     string
	}{
		{"just enough is free", 30 * gib, true, 0, ""},
		{"too little is free", 31 * gib, true, 0, "it waits for 10 GiB free on a GPU, of which 9 GiB are"},
		{"the other was not seen", 8 * gib, false, 0, "it waits until those on the GPU were seen to use memory"},
		{"memory ran out, shared", 8 * gib, true, queue.RanAlone, "it waits for a GPU to itself"},
	} {
		c := card("a", 40*gib)
		f := fleetOf(t, Config{Beside: 0.25}, c)
		other := f.run(t, task("a", tt.other, 0), c)
		if tt.seen {
			other.Peak = profile.Some(gib)
		}
		e := task("b", 0, 0)
		e.Recovery = tt.recovery
		best, why, err := f.Fit(e, nil)
		if err != nil || !strings.Contains(why, tt.says) || (best.Cards == nil) != (tt.says != "") || tt.says == "" && best.Verdict.Reserved != 10*gib {
			t.Errorf("%s: on %v with %v, %q, %v; want %q", tt.name, best.Cards, best.Verdict.Reserved, why, err, tt.says)
		}
	}
}

// TestJoin: who comes first decides how the tasks of a card share it.
func TestJoin(t *testing.T) {
	c := card("a", 40*gib)
	c.join(task("a", gib, 0), profile.MPS)
	c.join(task("b", gib, 0), profile.TimeSlice)
	if len(c.Entries) != 2 || c.Mechanism != profile.MPS {
		t.Errorf("%d tasks share by %v, want 2 by MPS", len(c.Entries), c.Mechanism)
	}
}

// TestOpen: tasks that are on the cards already keep what they have.
func TestOpen(t *testing.T) {
	c, e := card("a", 40*gib), task("a", 8*gib, 0)
	e.GPU, e.Reserved = c.Info.ID, 12*gib
	c.join(e, profile.TimeSlice)
	if f := fleetOf(t, Config{}, c); f.reserved() != 12*gib {
		t.Errorf("the books have %v, want 12 GiB", f.reserved())
	}
}

// TestFitGang: a task of two GPUs gets two that it fits, never shared by MPS; where one is
// missing for good, or for now, that is said.
func TestFitGang(t *testing.T) {
	big, other, small, gone := card("big", 40*gib), card("other", 40*gib), card("small", 10*gib), card("gone", 10*gib)
	best, why, err := fleetOf(t, Config{}, big, small, other).Fit(task("a", 20*gib, 2), nil)
	if err != nil || !slices.Equal(best.Cards, []int{0, 2}) || best.Mechanism != profile.TimeSlice {
		t.Errorf("cards %v shared by %v, %q, %v", best.Cards, best.Mechanism, why, err)
	}
	f := fleetOf(t, Config{}, big, small, gone)
	gone.Lost = true
	if _, _, err := f.Fit(task("a", 20*gib, 2), nil); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "it takes 2 of one product at once; GPU 1: ") {
		t.Errorf("one is too small, another too small and gone: %v", err)
	}
	if _, _, err := f.Fit(task("a", 5*gib, 3), nil); !errors.Is(err, ErrAbsent) {
		t.Errorf("one is gone: %v, want ErrAbsent", err)
	}
	busy := card("busy", 40*gib)
	f = fleetOf(t, Config{}, big, busy)
	f.run(t, task("b", gib, 0), busy)
	if best, why, err := f.Fit(task("a", 20*gib, 2), nil); err != nil || best.Cards != nil || why != "it takes 2 empty GPUs of one product at once" {
		t.Errorf("one has a task: cards %v, %q, %v", best.Cards, why, err)
	}
}

// sleeper starts a process in a session of its own.
func sleeper(t *testing.T) int {
	t.Helper()
	sleep := exec.Command("sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	})
	return sleep.Process.Pid
}

// TestUsedBy: of what another runner's task reserved only the rest is promised that its
// processes do not use.
func TestUsedBy(t *testing.T) {
	pid := sleeper(t)
	c := &Card{processes: []nvmlx.Process{{PID: pid, MemUsed: profile.Some(3 * gib)}, {PID: pid, MemUsed: profile.Some(gib)}, {MemUsed: profile.Some(gib)}}}
	if got := c.usedBy(supervise.Process{PID: pid}); got != 4*gib {
		t.Errorf("%v are used, want 4 GiB", got)
	}
	if got := c.usedBy(supervise.Process{}); got != 0 {
		t.Errorf("a task that is only starting uses %v", got)
	}
}

// TestNote takes over what a look tells: how busy each task keeps the card, and the most
// memory that was in use. Where nothing tells whose that is, tasks without a process hold none.
func TestNote(t *testing.T) {
	e, starting := task("a", gib, 0), task("b", gib, 0)
	e.PID = sleeper(t)
	c := &Card{Entries: []*backlog.Entry{e, starting}}
	openWindow(c, time.Unix(1, 0))
	look := func(used profile.Bytes, shares ...profile.Opt[float64]) {
		s := Seen{usage: ledger.Usage{Used: profile.Some(used)}, there: []*backlog.Entry{e}}
		var processes []nvmlx.Process
		for _, share := range shares {
			processes = append(processes, nvmlx.Process{PID: e.PID, SMBusy: share})
		}
		s.attribute(processes, map[int]*backlog.Entry{e.PID: e})
		c.Note(&s)
	}
	busy := profile.Some[float64]
	look(5*gib, busy(0.25), profile.Opt[float64]{}, busy(0.5))
	look(3*gib, profile.Opt[float64]{})
	if m := c.window.marks[e]; m.busy != 0.75 || m.looks != 1 || c.Highest != profile.Some(5*gib) || c.Used != profile.Some(3*gib) {
		t.Errorf("busy %v in %d looks, %v in use, %v at most; want 0.75 in one, 3 and 5 GiB", m.busy, m.looks, c.Used, c.Highest)
	}
	s := Seen{usage: ledger.Usage{Used: profile.Some(7 * gib)}, there: []*backlog.Entry{e}, blind: true}
	if c.Note(&s); len(s.usage.Processes) != 1 || s.usage.Processes[0].Task != "a" || c.Highest != profile.Some(7*gib) {
		t.Errorf("processes are %+v, the most in use %v; want that of task a, and 7 GiB", s.usage.Processes, c.Highest)
	}
}

// TestWindow: a measurement ends as soon as it took as long as it should, and whose speed
// nothing tells is not measured.
func TestWindow(t *testing.T) {
	const long = 10 * time.Second
	a, b := task("a", gib, 0), task("b", gib, 0)
	a.Profile, b.Profile = newProfile(t), newProfile(t)
	c := card("c", 40*gib)
	f := fleetOf(t, Config{Window: long}, c)
	f.run(t, a, c)
	f.run(t, b, c)
	f.solo.byEntry[a], f.solo.byEntry[b] = rates{steps: 4}, rates{steps: 4}
	a.Step, b.Step = profile.Some[int64](0), profile.Some[int64](0)
	begun := time.Unix(1e9, 0)
	if measured, err := f.Tick(c, begun); len(measured) > 0 || err != nil {
		t.Errorf("%v, %v before anything was seen", measured, err)
	}
	a.Step = profile.Some[int64](20)
	measured, err := f.Tick(c, begun.Add(long))
	if err != nil || !slices.Equal(measured, []*backlog.Entry{a}) || a.Speed != profile.Some(0.5) || !b.Speed.IsZero() {
		t.Errorf("measured %d, speeds %v and %v, %v; want the first's alone, 0.5", len(measured), a.Speed, b.Speed, err)
	}
}
