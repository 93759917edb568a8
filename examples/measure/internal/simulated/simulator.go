package simulated

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Simulator plays the device: a Source whose counters follow from the cell that
// runs. Workloads are real processes of this program that speak the protocol
// ([Workload]) and are told here how fast they are. Time is made up too: it
// passes when somebody waits for it.
type Simulator struct {
	clock *nvmlx.VirtualClock

	mu      sync.Mutex
	running *plan.Cell
	pids    map[int]string // task by process
	// Faults are what workloads do wrong, by the id of the cell, then by member.
	Faults map[string]map[int]string
	// Acted, if set, is told of every command before it is sent.
	Acted func(c *plan.Cell, cmd string)
	// Foreign are processes of others on the device.
	Foreign []nvmlx.Process
}

const (
	memory       = 40 * profile.GiB
	driverMemory = 600 * profile.MiB
	launchTime   = 5 * time.Second // of a framework, simulated
)

// What the simulated machine says of itself.
var (
	system = nvmlx.SystemInfo{Driver: "simulated", CUDA: "0.0"}
	device = nvmlx.DeviceInfo{ID: "GPU-simulated", Name: "Simulated GPU", Memory: profile.Some(memory)}
)

// Env makes this program a workload; its value is the task.
const Env = "COLLOC_MEASURE_FAKE_WORKLOAD"

var (
	_ nvmlx.Source        = (*Simulator)(nil)
	_ nvmlx.ProcessReader = (*Simulator)(nil)
)

// New returns a device on which nothing runs.
func New() *Simulator {
	return &Simulator{clock: nvmlx.NewVirtualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), pids: make(map[int]string)}
}

// Rig returns a rig that is all simulation but for its processes.
func (s *Simulator) Rig() (*rig.Rig, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &rig.Rig{Source: s, Via: "simulated", Clock: s.clock, Sim: s, Servers: func() int { return 0 }, System: system, Device: device}
	r.Launch = func(_ context.Context, kind plan.Slot) (*exec.Cmd, error) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), Env+"="+kind.Task)
		s.pass(launchTime)
		return cmd, nil
	}
	return r, nil
}

// pass lets time pass.
func (s *Simulator) pass(d time.Duration) {
	waiter := s.clock.NewWaiter()
	defer waiter.Stop()
	_ = waiter.Wait(context.Background(), s.clock.Now().Add(d)) // fails only with its context
}

// Play tells a workload what to play; see [Workload].
func (s *Simulator) Play(c *plan.Cell, i, pid int, cmd string) *workload.Act {
	if s.Acted != nil {
		s.Acted(c, cmd)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.running.ID() != c.ID() {
		s.running, s.pids = c, make(map[int]string)
	}
	own := TruthOf(c.Tasks[i])
	s.pids[pid] = c.Tasks[i]
	a := &workload.Act{At: float64(s.clock.Now().UnixMicro()) / 1e6, Rate: own.Rate * noisy(c, i), Peak: own.Peak}
	need := driverMemory
	for j := range i + 1 { // the earlier ones get theirs
		t := TruthOf(c.Tasks[j])
		need += t.Context + t.Peak
	}
	if need > memory {
		a.Fault = cmd + ":oom"
		a.Free = max(0, memory-(need-own.Peak))
	}
	if fault := s.Faults[c.ID()][i]; fault != "" {
		a.Fault = fault
	}
	return a
}

// Info tells that nothing here is real.
func (s *Simulator) Info(context.Context) (nvmlx.SystemInfo, error) {
	return system, nil
}

// Devices lists the one device.
func (s *Simulator) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	return []nvmlx.DeviceInfo{device}, nil
}

// Read returns what the running cell does to the device.
func (s *Simulator) Read(_ context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample := nvmlx.Sample{Device: id}
	sample.At = s.clock.Now()
	used, busy, mem := driverMemory, 0.0, 0.0
	for _, name := range s.pids {
		t := TruthOf(name)
		used, busy, mem = used+t.Context+t.Peak, busy+t.Busy, mem+t.Mem
	}
	watts := 60 + 240*min(1, busy)
	sample.GPUBusy, sample.MemBusy = profile.Some(min(1, busy)), profile.Some(min(1, mem))
	sample.SMActive, sample.DRAMActive = profile.Some(min(1, busy)), profile.Some(min(1, mem))
	sample.MemUsed, sample.PowerWatts = profile.Some(min(used, memory)), profile.Some(watts)
	sample.Missing.Set(nvmlx.FieldSMOccupancy|nvmlx.FieldTensorActive, nvmlx.ErrNotSupported)
	sample.Keep(what)
	return sample, nil
}

// Processes lists the workloads of the cell that runs, and the foreign ones.
func (s *Simulator) Processes(context.Context, nvmlx.DeviceID) ([]nvmlx.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.Foreign)
	for pid, name := range s.pids {
		t := TruthOf(name)
		list = append(list, nvmlx.Process{PID: pid, Kind: nvmlx.ComputeProcess, MemUsed: profile.Some(t.Context + t.Peak)})
	}
	return list, nil
}

// End empties the device: the cell's processes left.
func (s *Simulator) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.pids = nil, make(map[int]string)
}

// Close does nothing.
func (s *Simulator) Close() error { return nil }
