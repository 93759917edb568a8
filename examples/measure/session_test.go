package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// bench is a simulated rig with a raw file.
type bench struct {
	t   *testing.T
	o   *options
	rig *rig
	log bytes.Buffer
}

func newBench(t *testing.T, args ...string) *bench {
	t.Helper()
	args = append([]string{"-fake", "-out", filepath.Join(t.TempDir(), "raw.jsonl"), "-keep", "8", "-warmup", "1s", "-measure", "2s"}, args...)
	o, err := parseOptions(args, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	r, err := fakeRig()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{t: t, o: o, rig: r}
}

// run measures and returns what the file has then.
func (b *bench) run(ctx context.Context) (*contents, error) {
	b.t.Helper()
	err := measureOn(ctx, b.o, b.rig, &b.log)
	c, readErr := loadRaw(b.o.out)
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		b.t.Fatal(readErr)
	}
	return c, err
}

// fault makes a member of a cell go wrong.
func (b *bench) fault(c cell, i int, what string) {
	if b.rig.sim.faults == nil {
		b.rig.sim.faults = make(map[string]map[int]string)
	}
	b.rig.sim.faults[c.id()] = map[int]string{i: what}
}

func solo(name string, repeat int) cell {
	return cell{Mechanism: profile.Exclusive, Tasks: []string{name}, Repeat: repeat}
}

// find returns the last result of a cell.
func find(t *testing.T, c *contents, want cell) *result {
	t.Helper()
	for _, r := range slices.Backward(c.results) {
		if r.Cell.id() == want.id() {
			return &r
		}
	}
	t.Fatalf("no result of %s", want.id())
	return nil
}

// TestRecovers checks that the pipeline finds what the simulation knows: speeds
// under all mechanisms, memory, what the device did.
func TestRecovers(t *testing.T) {
	b := newBench(t, "-tasks", "resnet50-mixed,bert-mini,lstm,dlrm,gpt-mini", "-repeats", "1", "-triples", "3", "-quadruples", "2", "-keep", "40")
	c, err := b.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := tidy(c)
	seen := make(map[string]int)
	for _, r := range rows {
		got, ok := r.Speed.Get()
		if !ok {
			t.Fatalf("%s, %s: no speed: %s", r.Cell, r.Task, r.Status)
		}
		res := &c.results[int(r.Order.Or(-1))]
		want := speed(&res.Cell, int(r.Member.Or(-1)))
		if math.Abs(got/want-1) > 5*noise { // own noise and that of the reference
			t.Errorf("%s, %s: speed %.4f, true %.4f", r.Cell, r.Task, got, want)
		}
		seen[r.Mechanism+string(rune('0'+len(res.Cell.Tasks)))]++
		own := truthOf(r.Task)
		if peak := r.Peak.Or(0); peak != float64(own.context+own.peak) {
			t.Errorf("%s, %s: process peak %v, true %v", r.Cell, r.Task, peak, own.context+own.peak)
		}
		busy := 0.0
		for _, name := range res.Cell.Tasks {
			busy += truthOf(name).busy
		}
		if got := r.GPUBusy.Or(-1); math.Abs(got-min(1, busy)) > 1e-9 {
			t.Errorf("%s: GPU busy %v, true %v", r.Cell, got, min(1, busy))
		}
		if !r.SMOccupancy.IsZero() {
			t.Errorf("%s: the occupancy, which nobody measured, is %v", r.Cell, r.SMOccupancy)
		}
	}
	for _, key := range []string{"exclusive1", "time-slicing2", "time-slicing3", "time-slicing4", "mps1", "mps2", "mps3", "mps4"} {
		if seen[key] == 0 {
			t.Errorf("nothing of %s was measured", key)
		}
	}
	if got := rows[0].Context.Or(0); got != float64(truthOf(rows[0].Task).context) {
		t.Errorf("context of the first process: %v", got)
	}
}

// TestFaults lets a workload do everything wrong that it can: the cell says so,
// the others are measured, and -retry does the cell again.
func TestFaults(t *testing.T) {
	tests := []struct {
		fault  string
		status status
		text   string
	}{
		{"prepare:crash", statusCrash, "exit status 1: a message on standard error"},
		{"go:crash", statusCrash, `ended before "done"`},
		{"prepare:error", statusCrash, "prepare: RuntimeError"},
		{"go:error", statusCrash, "go: RuntimeError"},
		{"prepare:garbage", statusGarbage, "Segmentation fault"},
		{"go:garbage", statusGarbage, "not an event"},
		{"prepare:oom", statusOOM, "CUDA out of memory"},
		{"go:oom", statusOOM, "CUDA out of memory"},
		{"go:hang", statusTimeout, `no "done" within`},
		{"go:spawn", statusTimeout, `no "done" within`},
	}
	pair := cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "dlrm"}}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			b := newBench(t, "-tasks", "lstm,dlrm", "-mechanisms", "time-slicing", "-repeats", "1", "-keep", "2")
			b.fault(pair, 1, tt.fault)
			if tt.status == statusTimeout {
				b.o.warmup, b.o.measure, b.o.grace = 0, time.Millisecond, 2*time.Second
			}
			if strings.HasSuffix(tt.fault, "spawn") {
				watchChild(t, b.rig)
			}
			c, err := b.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := find(t, c, pair)
			if m := r.Members[1]; r.Status != tt.status || m.Status != tt.status || !strings.Contains(m.Message, tt.text) {
				t.Errorf("cell %q, task %q: %s; want %q: %s", r.Status, m.Status, m.Message, tt.status, tt.text)
			}
			for _, row := range tidy(c) {
				if row.Cell == pair.id() && !row.Speed.IsZero() {
					t.Errorf("%s has a speed in a cell that failed", row.Task)
				}
			}
			if tt.status == statusTimeout {
				return // the other cells are too short to tell anything
			}
			if other := find(t, c, solo("dlrm", 2)); other.Status != statusOK {
				t.Errorf("another cell: %s", other.Status)
			}
			b.rig.sim.faults, b.o.retry = nil, true
			before := len(c.results)
			if c, err = b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			again := map[bool]int{true: 1}[tt.status != statusOOM]
			if got := len(c.results) - before; got != again {
				t.Errorf("-retry measured %d cells, want %d", got, again)
			}
		})
	}
}

// watchChild gives workloads a third file that ends when all processes that
// hold it have ended, and waits for that.
func watchChild(t *testing.T, r *rig) {
	t.Helper()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	launch := r.launch
	r.launch = withFile(launch, held)
	t.Cleanup(func() {
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		if n, _ := alive.Read(make([]byte, 1)); n != 0 {
			t.Error("a workload wrote into the file")
		}
		if err := alive.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestMemory checks that sets which do not fit are censored observations.
func TestMemory(t *testing.T) {
	b := newBench(t, "-tasks", "lstm", "-mechanisms", "time-slicing", "-repeats", "1")
	big := cell{Mechanism: profile.TimeSlice, Tasks: slices.Repeat([]string{"lstm"}, 9)}
	s := newSession(b.o, b.rig, &b.log)
	res, err := s.measure(t.Context(), big)
	if err != nil {
		t.Fatal(err)
	}
	oom := 0
	for _, m := range res.Members {
		if m.Status == statusOOM {
			oom++
		}
	}
	if res.Status != statusOOM || oom == 0 || oom == len(res.Members) {
		t.Errorf("cell %s, %d of %d members out of memory", res.Status, oom, len(res.Members))
	}
}

// TestInterrupt stops in the middle of a cell; going on measures it again and
// nothing else twice.
func TestInterrupt(t *testing.T) {
	b := newBench(t, "-tasks", "lstm,dlrm", "-mechanisms", "time-slicing", "-repeats", "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target := cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}}
	b.fault(target, 0, "go:hang")
	b.rig.sim.acted = func(c *cell, cmd string) {
		if c.id() == target.id() && cmd == "go" {
			cancel()
		}
	}
	c, err := b.run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v", err)
	}
	before := len(c.results)
	for _, r := range c.results {
		if r.Cell.id() == target.id() {
			t.Error("the cell that was stopped left a result")
		}
	}
	b.rig.sim.faults, b.rig.sim.acted = nil, nil
	if c, err = b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i, r := range c.results {
		if seen[r.Cell.id()] {
			t.Errorf("%s was measured twice", r.Cell.id())
		}
		if seen[r.Cell.id()] = true; r.Order != i {
			t.Errorf("result %d has order %d", i, r.Order)
		}
	}
	if find(t, c, target); before == 0 || len(c.results) <= before {
		t.Errorf("%d results before and %d after", before, len(c.results))
	}
}

// TestForeign refuses to begin beside others, and throws away a cell during
// which they came.
func TestForeign(t *testing.T) {
	b := newBench(t, "-tasks", "lstm", "-mechanisms", "time-slicing", "-repeats", "1", "-keep", "0")
	stranger := nvmlx.Process{PID: 1, Name: "train.py"}
	b.rig.sim.foreign = []nvmlx.Process{stranger}
	if c, err := b.run(t.Context()); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "1 train.py") || c != nil {
		t.Errorf("beside a stranger: %v", err)
	}
	b.rig.sim.foreign = nil
	b.rig.sim.acted = func(c *cell, cmd string) {
		if c.Repeat == 1 && cmd == "go" {
			b.rig.sim.foreign = []nvmlx.Process{stranger}
		}
	}
	c, err := b.run(t.Context())
	if !errors.Is(err, errForeign) {
		t.Errorf("a stranger came: %v", err)
	}
	for _, r := range c.results {
		if r.Cell.Repeat == 1 {
			t.Errorf("%s was measured beside a stranger", r.Cell.id())
		}
	}
}

// TestUntold refuses to measure where nothing tells who uses the GPU, unless that
// is wanted.
func TestUntold(t *testing.T) {
	b := newBench(t, "-tasks", "lstm", "-mechanisms", "time-slicing", "-repeats", "1")
	b.rig.source = secretive{b.rig.source}
	if c, err := b.run(t.Context()); !errors.Is(err, nvmlx.ErrNotSupported) || !strings.Contains(err.Error(), "-unchecked") || c != nil {
		t.Errorf("checked: %v", err)
	}
	b.o.unchecked = true
	c, err := b.run(t.Context())
	if err != nil || !c.header.Unchecked || len(c.results) == 0 {
		t.Errorf("unchecked: %v", err)
	}
}

// secretive is a source that lists no processes, as with a driver whose lists are
// garbled.
type secretive struct{ nvmlx.Source }

func (secretive) Processes(context.Context, nvmlx.DeviceID) ([]nvmlx.Process, error) {
	return nil, nvmlx.ErrNotSupported
}

func TestForeignProcesses(t *testing.T) {
	own := map[int]bool{10: true, 11: true}
	list := func(pids ...int) (l []nvmlx.Process) {
		for _, pid := range pids {
			l = append(l, nvmlx.Process{PID: pid})
		}
		return l
	}
	tests := []struct {
		name    string
		list    []nvmlx.Process
		own     map[int]bool
		servers int
		want    int
	}{
		{"nobody", nil, own, 0, 0},
		{"ours", list(10, 11), own, 0, 0},
		{"a stranger among ours", list(10, 11, 12), own, 0, 1},
		{"strangers only", list(12), nil, 0, 1},
		{"numbers of the host", list(900, 901), own, 0, 0},
		{"one more than ours", list(900, 901, 902), own, 0, 3},
		{"our server", append(list(10), nvmlx.Process{PID: 5, Name: "/usr/bin/nvidia-cuda-mps-server"}), own, 1, 0},
		{"our server without a name", list(10, 5), own, 1, 0},
		{"a server that is not ours", []nvmlx.Process{{PID: 5, Name: "nvidia-cuda-mps-server"}}, nil, 0, 1},
		{"a screen", []nvmlx.Process{{PID: 5, Kind: nvmlx.GraphicsProcess}}, nil, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := foreign(tt.list, tt.own, tt.servers); len(got) != tt.want {
				t.Errorf("%d strangers, want %d: %v", len(got), tt.want, got)
			}
		})
	}
}

// TestTrouble stops when nothing works, and before that if nothing can start.
func TestTrouble(t *testing.T) {
	b := newBench(t, "-tasks", "lstm,dlrm", "-mechanisms", "time-slicing", "-repeats", "4")
	for _, name := range []string{"lstm", "dlrm"} {
		for r := range 4 {
			b.fault(solo(name, r), 0, "prepare:crash")
			for _, other := range []string{"lstm", "dlrm"} {
				b.fault(cell{Mechanism: profile.TimeSlice, Tasks: []string{name, other}, Repeat: r}, 0, "prepare:crash")
			}
		}
	}
	c, err := b.run(t.Context())
	if n := len(c.results); !errors.Is(err, errTrouble) || n < mostTroubles || n >= 2*mostTroubles { // of one mechanism or the other
		t.Errorf("%d results, %v", len(c.results), err)
	}
	t.Run("MPS alone", func(t *testing.T) {
		b := newBench(t, "-tasks", "lstm", "-repeats", "4")
		for _, s := range makePlan(b.o.planOptions) {
			for _, c := range s.cells {
				if c.Mechanism == profile.MPS {
					b.fault(c, 0, "go:crash")
				}
			}
		}
		c, err := b.run(t.Context())
		failed := 0
		for _, r := range c.results {
			if r.Status == statusCrash {
				failed++
			}
		}
		if err != nil || failed != mostTroubles || !strings.Contains(b.log.String(), "cells with MPS are left out") {
			t.Errorf("%d cells failed, %v", failed, err)
		}
		find(t, c, cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}, Repeat: 3})
	})
	t.Run("no program", func(t *testing.T) {
		b := newBench(t)
		b.rig.launch = missing
		if c, err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "-python names the Python") || c != nil {
			t.Errorf("got %v, %v", c, err)
		}
	})
}

// TestNoMPS leaves cells with MPS out and measures the rest.
func TestNoMPS(t *testing.T) {
	b := newBench(t, "-tasks", "lstm", "-repeats", "1")
	launch := b.rig.launch
	b.rig.launch = withoutMPS(launch)
	c, err := b.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.log.String(), "cells with MPS are left out") {
		t.Errorf("nothing said of MPS:\n%s", b.log.String())
	}
	find(t, c, cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}})
	for _, r := range c.results {
		if r.Cell.Mechanism == profile.MPS {
			t.Errorf("%s was measured", r.Cell.id())
		}
	}
}

// TestSessionFullDisk stops at a full disk and goes on when there is room.
func TestSessionFullDisk(t *testing.T) {
	b := newBench(t, "-tasks", "lstm,dlrm", "-mechanisms", "time-slicing", "-repeats", "1")
	file, c, err := openRaw(b.o.out)
	if err != nil {
		t.Fatal(err)
	}
	disk, ok := file.disk.(*os.File)
	if !ok {
		t.Fatal("the disk is no file")
	}
	s := newSession(b.o, b.rig, &b.log)
	s.resume(c, false)
	s.raw = file
	if err := file.append(header{Format: rawFormat, Version: rawVersion}); err != nil {
		t.Fatal(err)
	}
	cells := []cell{solo("lstm", 0), solo("dlrm", 0), solo("lstm", 1)}
	file.disk = &small{disk, 12_000}
	if err := s.run(t.Context(), cells); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	done := len(s.done)
	file.disk = disk
	if err := errors.Join(s.run(t.Context(), cells), file.close()); err != nil {
		t.Fatal(err)
	}
	if c, err = loadRaw(b.o.out); err != nil {
		t.Fatal(err)
	}
	if done == 0 || done >= len(cells) || len(c.results) != len(cells) || len(c.specs) != 2 {
		t.Errorf("%d cells before, %d results with %d descriptions after", done, len(c.results), len(c.specs))
	}
}

func TestLockDevice(t *testing.T) {
	dir := t.TempDir()
	f, err := lockDevice(dir, "GPU-7/../x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDevice(dir, "GPU-7/../x"); !errors.Is(err, errLocked) {
		t.Errorf("locked twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Name(), 0o444); err != nil { // as another user's
		t.Fatal(err)
	}
	again, err := lockDevice(dir, "GPU-7/../x")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
