package session

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

	"go.uber.org/goleak"

	"example.com/colloc/examples/measure/internal/rigtest"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/simulated"
	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/examples/measure/internal/workload"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestMain(m *testing.M) {
	rigtest.Play()
	goleak.VerifyTestMain(m)
}

// bench is a simulated rig with a raw file.
type bench struct {
	t      *testing.T
	plan   plan.Options
	config Config
	sim    *simulated.Simulator
	rig    *rig.Rig
	log    bytes.Buffer
}

// newBench returns a bench for some tasks, by all mechanisms unless told which.
func newBench(t *testing.T, tasks string, repeats int, mechanisms ...profile.Mechanism) *bench {
	t.Helper()
	chosen, err := plan.Choose(tasks)
	if err != nil {
		t.Fatal(err)
	}
	if len(mechanisms) == 0 {
		mechanisms = []profile.Mechanism{profile.TimeSlice, profile.MPS}
	}
	b := &bench{
		t: t, sim: simulated.New(),
		plan: plan.Options{Tasks: chosen, Mechanisms: mechanisms, Repeats: repeats, Threads: true, Seed: 1},
		config: Config{
			Settings: plan.Settings{Warmup: 1, Measure: 2, Period: 0.25, Keep: 8},
			Out:      filepath.Join(t.TempDir(), "raw.jsonl"), Start: 3 * time.Minute, Grace: time.Minute,
		},
	}
	if b.rig, err = b.sim.Rig(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.rig.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// cells is the plan without its stages.
func (b *bench) cells() (all []plan.Cell) {
	for _, s := range b.plan.Stages() {
		all = append(all, s.Cells...)
	}
	return all
}

// run measures and returns what the file has then.
func (b *bench) run(ctx context.Context) (*raw.Contents, error) {
	b.t.Helper()
	err := Measure(ctx, b.rig, b.cells(), &b.config, &b.log)
	c, readErr := raw.Load(b.config.Out)
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		b.t.Fatal(readErr)
	}
	return c, err
}

// fault makes a member of a cell go wrong.
func (b *bench) fault(c plan.Cell, i int, what string) {
	if b.sim.Faults == nil {
		b.sim.Faults = make(map[string]map[int]string)
	}
	b.sim.Faults[c.ID()] = map[int]string{i: what}
}

func solo(name string, repeat int) plan.Cell {
	return plan.Cell{Mechanism: profile.Exclusive, Tasks: []string{name}, Repeat: repeat}
}

// find returns the last result of a cell.
func find(t *testing.T, c *raw.Contents, want plan.Cell) *raw.Result {
	t.Helper()
	for _, r := range slices.Backward(c.Results) {
		if r.Cell.ID() == want.ID() {
			return &r
		}
	}
	t.Fatalf("no result of %s", want.ID())
	return nil
}

// TestRecovers checks that the pipeline finds what the simulation knows: speeds
// under all mechanisms, memory, what the device did.
func TestRecovers(t *testing.T) {
	b := newBench(t, "resnet50-mixed,bert-mini,lstm,dlrm,gpt-mini", 1)
	b.plan.Triples, b.plan.Quadruples, b.config.Keep = 3, 2, 40
	c, err := b.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := table.Tidy(c)
	seen := make(map[string]int)
	for _, r := range rows {
		got, ok := r.Speed.Get()
		if !ok {
			t.Fatalf("%s, %s: no speed: %s", r.Cell, r.Task, r.Status)
		}
		res := &c.Results[int(r.Order.Or(-1))]
		want := simulated.Speed(&res.Cell, int(r.Member.Or(-1)))
		if math.Abs(got/want-1) > 5*simulated.Noise { // own noise and that of the reference
			t.Errorf("%s, %s: speed %.4f, true %.4f", r.Cell, r.Task, got, want)
		}
		seen[r.Mechanism+string(rune('0'+len(res.Cell.Tasks)))]++
		own := simulated.TruthOf(r.Task)
		if peak := r.Peak.Or(0); peak != float64(own.Context+own.Peak) {
			t.Errorf("%s, %s: process peak %v, true %v", r.Cell, r.Task, peak, own.Context+own.Peak)
		}
		busy := 0.0
		for _, name := range res.Cell.Tasks {
			busy += simulated.TruthOf(name).Busy
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
	if got := rows[0].Context.Or(0); got != float64(simulated.TruthOf(rows[0].Task).Context) {
		t.Errorf("context of the first process: %v", got)
	}
}

// TestFaults lets a workload do everything wrong that it can: the cell says so,
// the others are measured, and -retry does the cell again.
func TestFaults(t *testing.T) {
	tests := []struct {
		fault  string
		status workload.Status
		text   string
	}{
		{"prepare:crash", workload.Crash, "exit status 1: a message on standard error"},
		{"go:crash", workload.Crash, `ended before "done"`},
		{"prepare:error", workload.Crash, "prepare: RuntimeError"},
		{"go:error", workload.Crash, "go: RuntimeError"},
		{"prepare:garbage", workload.Garbage, "Segmentation fault"},
		{"go:garbage", workload.Garbage, "not an event"},
		{"prepare:oom", workload.OOM, "CUDA out of memory"},
		{"go:oom", workload.OOM, "CUDA out of memory"},
		{"go:hang", workload.Timeout, `no "done" within`},
		{"go:spawn", workload.Timeout, `no "done" within`},
	}
	pair := plan.Cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "dlrm"}}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			b := newBench(t, "lstm,dlrm", 1, profile.TimeSlice)
			b.config.Keep = 2
			b.fault(pair, 1, tt.fault)
			if tt.status == workload.Timeout {
				b.config.Warmup, b.config.Measure, b.config.Grace = 0, 0.001, 2*time.Second
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
			for _, row := range table.Tidy(c) {
				if row.Cell == pair.ID() && !row.Speed.IsZero() {
					t.Errorf("%s has a speed in a cell that failed", row.Task)
				}
			}
			if tt.status == workload.Timeout {
				return // the other cells are too short to tell anything
			}
			if other := find(t, c, solo("dlrm", 2)); other.Status != workload.OK {
				t.Errorf("another cell: %s", other.Status)
			}
			b.sim.Faults, b.config.Retry = nil, true
			before := len(c.Results)
			if c, err = b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			again := map[bool]int{true: 1}[tt.status != workload.OOM]
			if got := len(c.Results) - before; got != again {
				t.Errorf("-retry measured %d cells, want %d", got, again)
			}
		})
	}
}

// watchChild gives workloads a third file that ends when all processes that
// hold it have ended, and waits for that.
func watchChild(t *testing.T, r *rig.Rig) {
	t.Helper()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	launch := r.Launch
	r.Launch = withFile(launch, held)
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
	b := newBench(t, "lstm", 1, profile.TimeSlice)
	big := plan.Cell{Mechanism: profile.TimeSlice, Tasks: slices.Repeat([]string{"lstm"}, 9)}
	s := newSession(b.rig, &b.config, &b.log)
	res, err := s.measure(t.Context(), big)
	if err != nil {
		t.Fatal(err)
	}
	oom := 0
	for _, m := range res.Members {
		if m.Status == workload.OOM {
			oom++
		}
	}
	if res.Status != workload.OOM || oom == 0 || oom == len(res.Members) {
		t.Errorf("cell %s, %d of %d members out of memory", res.Status, oom, len(res.Members))
	}
}

// TestInterrupt stops in the middle of a cell; going on measures it again and
// nothing else twice.
func TestInterrupt(t *testing.T) {
	b := newBench(t, "lstm,dlrm", 1, profile.TimeSlice)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target := plan.Cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}}
	b.fault(target, 0, "go:hang")
	b.sim.Acted = func(c *plan.Cell, cmd string) {
		if c.ID() == target.ID() && cmd == "go" {
			cancel()
		}
	}
	c, err := b.run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v", err)
	}
	before := len(c.Results)
	for _, r := range c.Results {
		if r.Cell.ID() == target.ID() {
			t.Error("the cell that was stopped left a result")
		}
	}
	b.sim.Faults, b.sim.Acted = nil, nil
	if c, err = b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i, r := range c.Results {
		if seen[r.Cell.ID()] {
			t.Errorf("%s was measured twice", r.Cell.ID())
		}
		if seen[r.Cell.ID()] = true; r.Order != i {
			t.Errorf("result %d has order %d", i, r.Order)
		}
	}
	if find(t, c, target); before == 0 || len(c.Results) <= before {
		t.Errorf("%d results before and %d after", before, len(c.Results))
	}
}

// TestForeign refuses to begin beside others, and throws away a cell during
// which they came.
func TestForeign(t *testing.T) {
	b := newBench(t, "lstm", 1, profile.TimeSlice)
	b.config.Keep = 0
	stranger := nvmlx.Process{PID: 1, Name: "train.py"}
	b.sim.Foreign = []nvmlx.Process{stranger}
	if c, err := b.run(t.Context()); !errors.Is(err, rig.ErrForeign) || !strings.Contains(err.Error(), "1 train.py") || c != nil {
		t.Errorf("beside a stranger: %v", err)
	}
	b.sim.Foreign = nil
	b.sim.Acted = func(c *plan.Cell, cmd string) {
		if c.Repeat == 1 && cmd == "go" {
			b.sim.Foreign = []nvmlx.Process{stranger}
		}
	}
	c, err := b.run(t.Context())
	if !errors.Is(err, rig.ErrForeign) {
		t.Errorf("a stranger came: %v", err)
	}
	for _, r := range c.Results {
		if r.Cell.Repeat == 1 {
			t.Errorf("%s was measured beside a stranger", r.Cell.ID())
		}
	}
}

// TestUntold refuses to measure where nothing tells who uses the GPU, unless that
// is wanted.
func TestUntold(t *testing.T) {
	b := newBench(t, "lstm", 1, profile.TimeSlice)
	b.rig.Source = secretive{b.rig.Source}
	if c, err := b.run(t.Context()); !errors.Is(err, nvmlx.ErrNotSupported) || !strings.Contains(err.Error(), "-unchecked") || c != nil {
		t.Errorf("checked: %v", err)
	}
	b.config.Unchecked = true
	c, err := b.run(t.Context())
	if err != nil || !c.Header.Unchecked || len(c.Results) == 0 {
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
	b := newBench(t, "lstm,dlrm", 4, profile.TimeSlice)
	for _, name := range []string{"lstm", "dlrm"} {
		for r := range 4 {
			b.fault(solo(name, r), 0, "prepare:crash")
			for _, other := range []string{"lstm", "dlrm"} {
				b.fault(plan.Cell{Mechanism: profile.TimeSlice, Tasks: []string{name, other}, Repeat: r}, 0, "prepare:crash")
			}
		}
	}
	c, err := b.run(t.Context())
	if n := len(c.Results); !errors.Is(err, errTrouble) || n < mostTroubles || n >= 2*mostTroubles { // of one mechanism or the other
		t.Errorf("%d results, %v", len(c.Results), err)
	}
	t.Run("MPS alone", func(t *testing.T) {
		b := newBench(t, "lstm", 4)
		for _, c := range b.cells() {
			if c.Mechanism == profile.MPS {
				b.fault(c, 0, "go:crash")
			}
		}
		c, err := b.run(t.Context())
		failed := 0
		for _, r := range c.Results {
			if r.Status == workload.Crash {
				failed++
			}
		}
		if err != nil || failed != mostTroubles || !strings.Contains(b.log.String(), "cells with MPS are left out") {
			t.Errorf("%d cells failed, %v", failed, err)
		}
		find(t, c, plan.Cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}, Repeat: 3})
	})
	t.Run("no program", func(t *testing.T) {
		b := newBench(t, "lstm", 3)
		b.rig.Launch = missing
		if c, err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "-python names the Python") || c != nil {
			t.Errorf("got %v, %v", c, err)
		}
	})
}

// TestNoMPS leaves cells with MPS out and measures the rest.
func TestNoMPS(t *testing.T) {
	b := newBench(t, "lstm", 1)
	launch := b.rig.Launch
	b.rig.Launch = withoutMPS(launch)
	c, err := b.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.log.String(), "cells with MPS are left out") {
		t.Errorf("nothing said of MPS:\n%s", b.log.String())
	}
	find(t, c, plan.Cell{Mechanism: profile.TimeSlice, Tasks: []string{"lstm", "lstm"}})
	for _, r := range c.Results {
		if r.Cell.Mechanism == profile.MPS {
			t.Errorf("%s was measured", r.Cell.ID())
		}
	}
}

// full is a raw file on a disk with room for so many results.
type full struct {
	*raw.File
	room int
}

func (f *full) AddResult(r *raw.Result) error {
	if f.room == 0 {
		return syscall.ENOSPC
	}
	f.room--
	return f.File.AddResult(r)
}

// TestFullDisk stops at a full disk and goes on when there is room.
func TestFullDisk(t *testing.T) {
	b := newBench(t, "lstm,dlrm", 1, profile.TimeSlice)
	file, c, err := raw.Open(b.config.Out)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(b.rig, &b.config, &b.log)
	s.resume(c)
	if err := file.Begin(&raw.Header{}); err != nil {
		t.Fatal(err)
	}
	cells := []plan.Cell{solo("lstm", 0), solo("dlrm", 0), solo("lstm", 1)}
	s.file = &full{file, 1}
	if err := s.run(t.Context(), cells); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	done := len(s.done)
	s.file = file
	if err := errors.Join(s.run(t.Context(), cells), file.Close()); err != nil {
		t.Fatal(err)
	}
	if c, err = raw.Load(b.config.Out); err != nil {
		t.Fatal(err)
	}
	if done != 1 || len(c.Results) != len(cells) || len(c.Specs) != 2 {
		t.Errorf("%d cells before, %d results with %d descriptions after", done, len(c.Results), len(c.Specs))
	}
}
