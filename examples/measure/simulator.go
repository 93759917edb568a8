package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// simulator plays the device: a Source whose counters follow from the cell that
// runs. Workloads are real processes of this program that speak the protocol
// (fakeworkload.go) and are told here how fast they are. Time is made up too: it
// passes when somebody waits, at once.
type simulator struct {
	mu      sync.Mutex
	now     time.Time
	running *cell
	pids    map[int]string // task by process
	// faults are what workloads do wrong, by the id of the cell, then by member.
	faults map[string]map[int]string
	// acted, if set, is told of every command before it is sent.
	acted func(c *cell, cmd string)
	// foreign are processes of others on the device.
	foreign []nvmlx.Process
}

const (
	simulatedGPU    = nvmlx.DeviceID("GPU-simulated")
	simulatedMemory = 40 * profile.GiB
	driverMemory    = 600 * profile.MiB
	launchTime      = 5 * time.Second // of a framework, simulated
)

// fakeEnv makes this program a workload; its value is the task.
const fakeEnv = "COLLOC_MEASURE_FAKE_WORKLOAD"

var (
	_ nvmlx.Source        = (*simulator)(nil)
	_ nvmlx.ProcessReader = (*simulator)(nil)
	_ nvmlx.Clock         = (*simulator)(nil)
)

// fakeRig returns a rig that is all simulation but for its processes.
func fakeRig() (*rig, error) {
	sim := &simulator{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), pids: make(map[int]string)}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &rig{source: sim, via: "simulated", clock: sim, sim: sim, servers: func() int { return 0 }}
	r.system, _ = sim.Info(context.Background())
	devices, err := sim.Devices(context.Background())
	if err != nil {
		return nil, err
	}
	r.device = devices[0]
	r.launch = func(_ context.Context, s slot) (*exec.Cmd, error) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fakeEnv+"="+s.task)
		sim.pass(launchTime)
		return cmd, nil
	}
	return r, nil
}

func (s *simulator) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// Now returns the simulated time.
func (s *simulator) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// NewWaiter returns a waiter that makes time pass.
func (s *simulator) NewWaiter() nvmlx.Waiter { return simulatedWaiter{s} }

type simulatedWaiter struct{ s *simulator }

func (w simulatedWaiter) Wait(_ context.Context, t time.Time) error {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if t.After(w.s.now) {
		w.s.now = t
	}
	return nil
}

func (simulatedWaiter) Stop() {}

// act tells a workload what to play; see fakeworkload.go.
func (s *simulator) act(c *cell, i, pid int, cmd string, now time.Time) *act {
	if s.acted != nil {
		s.acted(c, cmd)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.running.id() != c.id() {
		s.running, s.pids = c, make(map[int]string)
	}
	own := truthOf(c.Tasks[i])
	s.pids[pid] = c.Tasks[i]
	a := &act{At: float64(now.UnixMicro()) / 1e6, Rate: own.rate * noisy(c, i), Peak: own.peak}
	need := driverMemory
	for j := range i + 1 { // the earlier ones get theirs
		t := truthOf(c.Tasks[j])
		need += t.context + t.peak
	}
	if need > simulatedMemory {
		a.Fault = cmd + ":oom"
		a.Free = max(0, simulatedMemory-(need-own.peak))
	}
	if fault := s.faults[c.id()][i]; fault != "" {
		a.Fault = fault
	}
	return a
}

// Info tells that nothing here is real.
func (s *simulator) Info(context.Context) (nvmlx.SystemInfo, error) {
	return nvmlx.SystemInfo{Driver: "simulated", CUDA: "0.0"}, nil
}

// Devices lists the one device.
func (s *simulator) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	return []nvmlx.DeviceInfo{{ID: simulatedGPU, Name: "Simulated GPU", Memory: profile.Some(simulatedMemory)}}, nil
}

// Read returns what the running cell does to the device.
func (s *simulator) Read(_ context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample := nvmlx.Sample{Device: id}
	sample.At = s.now
	used, busy, mem := driverMemory, 0.0, 0.0
	for _, name := range s.pids {
		t := truthOf(name)
		used, busy, mem = used+t.context+t.peak, busy+t.busy, mem+t.mem
	}
	watts := 60 + 240*min(1, busy)
	sample.GPUBusy, sample.MemBusy = profile.Some(min(1, busy)), profile.Some(min(1, mem))
	sample.SMActive, sample.DRAMActive = profile.Some(min(1, busy)), profile.Some(min(1, mem))
	sample.MemUsed, sample.PowerWatts = profile.Some(min(used, simulatedMemory)), profile.Some(watts)
	sample.Missing.Set(nvmlx.FieldSMOccupancy|nvmlx.FieldTensorActive, nvmlx.ErrNotSupported)
	sample.Keep(what)
	return sample, nil
}

// Processes lists the workloads of the cell that runs, and the foreign ones.
func (s *simulator) Processes(context.Context, nvmlx.DeviceID) ([]nvmlx.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.foreign)
	for pid, name := range s.pids {
		t := truthOf(name)
		list = append(list, nvmlx.Process{PID: pid, Kind: nvmlx.ComputeProcess, MemUsed: profile.Some(t.context + t.peak)})
	}
	return list, nil
}

// end empties the device: the cell's processes left.
func (s *simulator) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.pids = nil, make(map[int]string)
}

// Close does nothing.
func (s *simulator) Close() error { return nil }
