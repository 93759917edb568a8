//go:build linux

package fleet

import (
	"cmp"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

const gib = profile.GiB

// byMemory predicts 4 GiB for a task that asks for none.
type byMemory struct {
	dispatch.Mind

	observed []colloc.Observation
}

func (*byMemory) Packed(t colloc.Task) (packer.Task, error) {
	return packer.Task{ID: t.ID, Memory: cmp.Or(t.Reserved, 4*gib)}, nil
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

// fleetOf has cards.
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
	return f
}

// run puts a task on its card, with what it asked for.
func (f *Fleet) run(t *testing.T, e *backlog.Entry, c *Card) *backlog.Entry {
	t.Helper()
	e.GPU, e.Reserved, e.State = c.Info.ID, e.Task.Memory, queue.Running
	f.Join(e, profile.TimeSlice)
	return e
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

// TestRebook: a task of which more is known now reserves that, but no less than it was seen
// to use.
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
		if f.Rebook(e, c); e.Reserved != tt.want || f.Free(c) != 40*gib-tt.want {
			t.Errorf("seen to use %v it reserves %v, and %v are free; want %v", tt.peak, e.Reserved, f.Free(c), tt.want)
		}
	}
}

// TestNever: what fits no card is said, for good or until cards come back; the floor counts, and what
// is taken now does not.
func TestNever(t *testing.T) {
	big, other, small, gone := card("big", 40*gib), card("other", 40*gib), card("small", 10*gib), card("gone", 10*gib)
	gone.Lost = true
	for _, tt := range []struct {
		name   string
		cards  []*Card
		floor  profile.Bytes
		width  int
		why    packer.Reason
		absent bool
		says   string
	}{
		{"room for it", []*Card{big, small}, 0, 1, packer.Reason{Memory: 20 * gib}, false, ""},
		{"just the floor", []*Card{small}, 10 * gib, 1, packer.Reason{Memory: gib}, false, ""},
		{"below the floor", []*Card{small}, 11 * gib, 1, packer.Reason{Memory: gib}, false, "fits no GPU: "},
		{"too large", []*Card{big}, 0, 1, packer.Reason{ID: "a", Code: packer.TooLarge, Memory: 50 * gib, Largest: 40 * gib, Short: 10 * gib}, false, "fits no GPU: a waits: it needs 50 GiB"},
		{"no card with its labels", []*Card{big}, 0, 1, packer.Reason{Code: packer.WrongGPU}, false, "fits no GPU: "},
		{"two have room", []*Card{big, small, other}, 0, 2, packer.Reason{Memory: 20 * gib}, false, ""},
		{"one of two is too small", []*Card{big, small, gone}, 0, 2, packer.Reason{Memory: 20 * gib}, false, "fits no GPU: "},
		{"one is gone", []*Card{big, small, gone}, 0, 3, packer.Reason{Memory: 5 * gib}, true, ""},
	} {
		f := fleetOf(t, Config{MemoryFloor: tt.floor}, tt.cards...)
		err := f.Never(task("a", 0, tt.width), &tt.why)
		if errors.Is(err, ErrAbsent) != tt.absent || (err == nil) != (tt.says == "" && !tt.absent) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q, absent %v", tt.name, err, tt.says, tt.absent)
		}
	}
}

// TestDemand: for a task of which nothing is known a share of the largest card is reserved, and no more than
// the smallest has, unless it gets one to itself.
func TestDemand(t *testing.T) {
	ranOut, gang := task("a", 2*gib, 1), task("a", 2*gib, 2)
	ranOut.Recovery = queue.RanAlone
	for _, tt := range []struct {
		name     string
		e        *backlog.Entry
		beside   float64
		ways     []profile.Mechanism
		reserved profile.Bytes
		alone    bool
	}{
		{"asks", task("a", 2*gib, 1), 0, nil, 2 * gib, false},
		{"nothing is known", task("a", 0, 1), 0, nil, 1, true},
		{"a quarter", task("a", 0, 1), 0.25, nil, 10 * gib, false},
		{"the smallest", task("a", 0, 1), 0.5, nil, 16 * gib, false},
		{"memory ran out, shared", ranOut, 0.25, nil, 1, true},
		{"several GPUs by turns", gang, 0, []profile.Mechanism{profile.TimeSlice}, 2 * gib, false},
		{"several GPUs by MPS", gang, 0, []profile.Mechanism{profile.MPS}, 2 * gib, true},
	} {
		f := fleetOf(t, Config{Beside: tt.beside, Mechanisms: tt.ways}, card("a", 40*gib), card("b", 16*gib))
		if tt.ways == nil {
			f.config.Mechanisms = []profile.Mechanism{profile.TimeSlice}
		}
		if got := f.Demand(tt.e); got.Reserved != tt.reserved || got.Alone != tt.alone {
			t.Errorf("%s: reserves %v, alone %v; want %v, %v", tt.name, got.Reserved, got.Alone, tt.reserved, tt.alone)
		}
	}
}

// TestThreads: where tasks share by MPS, one whose kernels fill the GPU leaves a part of it, and so does one of which that is not known.
func TestThreads(t *testing.T) {
	f := fleetOf(t, Config{Beside: 0.5}, card("a", 40*gib))
	for _, tt := range []struct {
		name  string
		fills float64 // 0 is not known
		alone bool
		want  float64
	}{{"light", 0.5, false, 0}, {"heavy", 0.9, false, 0.75}, {"unknown", 0, false, 0.75}, {"alone", 0.9, true, 0}} {
		e := task("a", gib, 1)
		e.Profile, e.Task.Alone = newProfile(t), tt.alone
		if tt.fills > 0 {
			if err := e.Profile.Vector.Set(profile.MeanSMActive, tt.fills); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.Threads(e); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTakes: a card takes tasks while the floor is free, and as many as it may.
func TestTakes(t *testing.T) {
	c := card("a", 10*gib)
	f := fleetOf(t, Config{PerGPU: 2, MemoryFloor: 4 * gib}, c)
	for i, tt := range []struct {
		memory profile.Bytes
		want   bool
	}{{6 * gib, true}, {3 * gib, false}} {
		f.run(t, task(string(rune('a'+i)), tt.memory, 0), c)
		if got := f.Takes(c); got != tt.want || f.Seats(c) != 1-i {
			t.Errorf("with %d tasks and %v free: %v, %d seats", len(c.Entries), f.Free(c), got, f.Seats(c))
		}
	}
	c = card("a", 10*gib)
	f = fleetOf(t, Config{PerGPU: 1}, c)
	if f.run(t, task("a", gib, 0), c); f.Seats(c) > 0 || f.GPU(c).Mechanisms[0] != profile.Exclusive {
		t.Error("a card of one task takes another")
	}
	if c.Lost, c.Entries = true, nil; f.Takes(c) {
		t.Error("a card that is lost takes a task")
	}
}

// TestForeign: what nobody must count on is others' memory, what they were promised, and what tasks use
// beyond what is known to be reserved for them.
func TestForeign(t *testing.T) {
	c := card("a", 40*gib)
	f := fleetOf(t, Config{}, c)
	known, unknown := f.run(t, task("a", 4*gib, 0), c), f.run(t, task("b", 2*gib, 0), c)
	known.Peak = profile.Some(5 * gib)
	c.Promised = 3 * gib
	if found := f.Reconcile([]Seen{{usage: ledger.Usage{GPU: "a", Used: profile.Some(7 * gib), Processes: []ledger.Process{{PID: 1, Memory: profile.Some(7 * gib)}}}}}); len(found) != 1 || found[0].Kind != ledger.Foreign {
		t.Errorf("found %+v, want another program", found)
	}
	if got := f.Foreign(c, func(e *backlog.Entry) bool { return e != unknown }); got != (7+3+1+2)*gib {
		t.Errorf("%v, want 13 GiB", got)
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

// TestReconcile: what a look shows counts until the next one of that card, and what differs is found: more in use than
// reserved, on another card, by nobody, and more than there is.
func TestReconcile(t *testing.T) {
	a, b := card("a", 20*gib), card("b", 20*gib)
	f := fleetOf(t, Config{Headroom: 0.1}, a, b)
	f.run(t, task("here", 8*gib, 0), a)
	f.run(t, task("there", gib, 0), b)
	see := func(used, here, there profile.Bytes) Seen {
		u := ledger.Usage{GPU: "a", Used: profile.Some(used), Processes: []ledger.Process{{PID: 1, Task: "here", Memory: profile.Some(here)}}}
		if there > 0 {
			u.Processes = append(u.Processes, ledger.Process{PID: 2, Task: "there", Memory: profile.Some(there)})
		}
		return Seen{usage: u}
	}
	for _, tt := range []struct {
		name string
		seen Seen
		want []ledger.DiscrepancyKind
		free profile.Bytes // of 18 GiB
	}{
		{"as reserved", see(8*gib, 8*gib, 0), nil, 10 * gib},
		{"not read", Seen{err: errors.New("hangs")}, nil, 10 * gib},
		{"more than reserved", see(9*gib, 9*gib, 0), []ledger.DiscrepancyKind{ledger.Overuse}, 10 * gib},
		{"on another card", see(10*gib, 8*gib, 2*gib), []ledger.DiscrepancyKind{ledger.Stray}, 8 * gib},
		{"nobody's", see(8*gib+ledger.DefaultOverhead+gib, 8*gib, 0), []ledger.DiscrepancyKind{ledger.Zombie}, 9 * gib},
		{"more than there is", see(19*gib, 8*gib, 11*gib), []ledger.DiscrepancyKind{ledger.Stray, ledger.Overcommitted}, 0},
		{"cannot be", see(-1, 8*gib, 0), []ledger.DiscrepancyKind{ledger.BadReading}, 0},
	} {
		var kinds []ledger.DiscrepancyKind
		for _, d := range f.Reconcile([]Seen{tt.seen, {usage: ledger.Usage{GPU: "b"}}}) {
			kinds = append(kinds, d.Kind)
		}
		if !slices.Equal(kinds, tt.want) || f.Free(a) != tt.free || f.Free(b) != 17*gib {
			t.Errorf("%s: found %v, %v and %v free; want %v, %v and 17 GiB", tt.name, kinds, f.Free(a), f.Free(b), tt.want, tt.free)
		}
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
	for i, seen := range []float64{1.5, 2.5} { // no company makes a task faster; of twice as fast and more the model says that it is wrong
		a.Step = profile.Some(a.Step.Or(0) + int64(seen*4*long.Seconds()))
		if _, err := f.Tick(c, begun.Add(time.Duration(i+2)*long)); err != nil || a.Speed != profile.Some(seen) {
			t.Errorf("the speed is %v, %v; want %v", a.Speed, err, seen)
		}
	}
	var learned []float64
	mind, _ := f.planner.(*byMemory)
	for _, o := range mind.observed {
		learned = append(learned, o.Members[0].Speed.Or(0))
	}
	if want := []float64{0.5, 1, 2.5}; !slices.Equal(learned, want) {
		t.Errorf("learned are the speeds %v, want %v", learned, want)
	}
}
