//go:build linux

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// helperVariable makes the test binary something else: see TestMain.
const helperVariable = "RUNNER_TEST_HELPER"

// gateVariable names a pipe that a supervisor waits for before it does anything.
const gateVariable = "RUNNER_TEST_GATE"

// awaitGate waits for somebody to open a pipe for writing.
func awaitGate(path string) {
	if file, err := os.Open(path); err == nil {
		_ = file.Close() // nothing was written
	}
}

// TestMain lets the test binary be a supervisor, a task and a runner that is
// killed, besides the tests.
func TestMain(m *testing.M) {
	testbed.Prepare()
	if gate := os.Getenv(gateVariable); gate != "" {
		awaitGate(gate)
	}
	if os.Getenv(helperVariable) != "forget" {
		Supervise()
	}
	if name := os.Getenv(helperVariable); name != "" {
		code := 0
		if err := helpers[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		syscall.Exit(code) // as Supervise
	}
	goleak.VerifyTestMain(m)
}

// helpers are what the test binary can be.
var helpers = map[string]func(args []string) error{
	"crash":    helpCrash,
	"forget":   helpForget,
	"allocate": helpAllocate,
	"chaos":    helpChaos,
	"work":     helpWork,
	"owner":    helpOwner,
}

// allocator is a task that is the test binary as helpAllocate.
func allocator(tb testing.TB, args ...string) Task {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return Task{Command: append([]string{self}, args...), Env: []string{helperVariable + "=allocate"}, Memory: profile.GiB}
}

// shell is a task that runs a script.
func shell(script string, args ...string) Task {
	return Task{Command: append([]string{script}, args...), Shell: true, Memory: profile.GiB}
}

// rig is a runner with fake GPUs.
type rig struct {
	*Runner

	dir    string // of the runner
	gpus   string // the file
	events []Event

	planner simplePlanner
}

// openSimply opens a runner with a simple planner.
func openSimply(ctx context.Context, c Config, p *simplePlanner) (*Runner, error) {
	if err := errors.Join(c.check(), c.fill()); err != nil {
		return nil, err
	}
	return openWith(ctx, c, p)
}

// gpuFile describes n equal GPUs.
func gpuFile(n int) string {
	return `{"gpus": [` + strings.Repeat(`{"name": "A100-40GB"}, `, n-1) + `{"name": "A100-40GB"}]}`
}

// patience is how many tasks pass one that does not fit.
const patience = 64

// simplePlanner fits what memory allows; the real one reads its models for most
// of a second under -race. It keeps what it is taught.
type simplePlanner struct {
	most     int // on one GPU; 0 is 4
	mu       sync.Mutex
	observed []colloc.Observation
}

// Speeds implements packer.Model: the more there are, the slower.
func (*simplePlanner) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = 1.1 - 0.1*float64(len(set))
	}
	return nil
}

func (p *simplePlanner) Scheduler(_ []colloc.GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	return online.NewScheduler(nil, p, packer.Limits{Headroom: profile.Some(0.1), MaxSet: cmp.Or(p.most, 4)}, o)
}

func (*simplePlanner) Relearn(*online.Scheduler, []colloc.GPU) error { return nil }

func (*simplePlanner) Packed(t colloc.Task) (packer.Task, error) {
	reserved := t.Reserved
	if reserved == 0 {
		reserved = predictedBytes
	}
	return packer.Task{ID: t.ID, Memory: reserved, Weight: t.Weight, Alone: t.Alone, GPUs: t.GPUs, Kind: t.Kind}, nil
}

func (*simplePlanner) PackedGPU(g colloc.GPU) (packer.GPU, error) {
	return packer.GPU{ID: g.ID, Type: &g.Model, Memory: g.Memory, Mechanisms: g.Mechanisms}, nil
}

func (p *simplePlanner) Observe(o colloc.Observation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observed = append(p.observed, o)
	return nil
}

// newRig opens a runner in dir with the GPUs of the file; adjust changes the
// rest of its configuration.
func newRig(tb testing.TB, dir, gpus string, adjust func(*Config)) *rig {
	tb.Helper()
	g := &rig{dir: filepath.Join(dir, "state"), gpus: filepath.Join(dir, "gpus.json")}
	if err := os.WriteFile(g.gpus, []byte(gpus), 0o600); err != nil {
		tb.Fatal(err)
	}
	c, err := testConfig(g.dir, g.gpus)
	if err != nil {
		tb.Fatal(err)
	}
	c.OnEvent = func(e Event) { g.events = append(g.events, e) }
	if adjust != nil {
		adjust(&c)
	}
	g.planner.most = c.PerGPU
	if g.Runner, err = openSimply(tb.Context(), c, &g.planner); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
	})
	return g
}

// testConfig looks often, so that tests are quick.
func testConfig(dir, gpus string) (Config, error) {
	source, err := fakegpu.Open(gpus, filepath.Join(filepath.Dir(gpus), "uses"))
	if err != nil {
		return Config{}, err
	}
	return Config{
		Dir: dir, Source: source, PerGPU: 2,
		Env:  append(os.Environ(), source.Env()...),
		Halt: Halt{InARow: -1}, Watch: 20 * time.Millisecond, Grace: time.Minute, // a busy machine is slow
	}, nil
}

// newProfile is a profile of a small task.
func newProfile(tb testing.TB) *profile.Profile {
	tb.Helper()
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: "small"}, Training: profile.Training{BatchSize: 8}}, profile.Trace{}, profile.GPUModel{})
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

// submit adds tasks or fails the test.
func (g *rig) submit(tb testing.TB, tasks ...Task) []string {
	tb.Helper()
	ids, err := g.Submit(tasks...)
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}

// finish runs the queue to its end and closes the runner, so that all events are
// there.
func (g *rig) finish(tb testing.TB) []Record {
	tb.Helper()
	if err := g.Run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	records := g.Records()
	if err := g.Close(); err != nil {
		tb.Fatal(err)
	}
	return records
}

// record returns one task.
func (g *rig) record(tb testing.TB, id string) Record {
	tb.Helper()
	r, ok := g.Record(id)
	if !ok {
		tb.Fatalf("no task %q", id)
	}
	return r
}

// output is what a task printed.
func output(tb testing.TB, r Record) string {
	tb.Helper()
	text, err := os.ReadFile(r.Log)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
