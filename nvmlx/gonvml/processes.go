//go:build linux && cgo

package gonvml

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Processes lists who uses a device: MPS clients, compute processes and
// graphics, each PID once, by PID. The list of compute processes decides whether
// there is an answer: where a driver has none of the others, their processes are
// compute processes or not listed.
func (s *source) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	d, leave, err := s.enter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("gonvml: processes of %s: %w", id, err)
	}
	defer leave()
	list, err := s.processes(d)
	if err != nil {
		return nil, fmt.Errorf("gonvml: processes of %s: %w", id, err)
	}
	s.smBusy(d, list)
	return list, nil
}

func (s *source) processes(d *device) ([]nvmlx.Process, error) {
	if garbled(s.info.Driver) {
		return nil, fmt.Errorf("driver %s lists processes in a layout that it does not declare; update it to 535.98 or later: %w", s.info.Driver, nvmlx.ErrNotSupported)
	}
	handle, code := s.lib.lists.handle(d.id)
	if err := failure("handle", code); err != nil {
		return nil, err
	}
	found := map[int]nvmlx.Process{}
	for _, list := range s.lib.lists.lists {
		rows, code := list.read(handle)
		if err := failure(list.kind.String()+" list", code); err != nil {
			if list.kind == nvmlx.ComputeProcess {
				return nil, err
			}
			continue // younger drivers and other products only
		}
		for _, row := range rows {
			if _, twice := found[int(row.Pid)]; !twice { // MPS clients stand in the compute list as well
				found[int(row.Pid)] = s.process(list.kind, row)
			}
		}
	}
	all := make([]nvmlx.Process, 0, len(found))
	for _, p := range found {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b nvmlx.Process) int { return cmp.Compare(a.PID, b.PID) })
	return all, nil
}

func (s *source) process(kind nvmlx.ProcessKind, row nvml.ProcessInfo) nvmlx.Process {
	p := nvmlx.Process{
		PID: int(row.Pid), Kind: kind, MemUsed: bytesOf(row.UsedGpuMemory),
		InnerPID: innerPID("/proc", int(row.Pid)),
	}
	if row.GpuInstanceId != math.MaxUint32 {
		p.GPUInstance = profile.Some(int(row.GpuInstanceId))
	}
	if row.ComputeInstanceId != math.MaxUint32 {
		p.ComputeInstance = profile.Some(int(row.ComputeInstanceId))
	}
	if s.lib.has("nvmlSystemGetProcessName") {
		if name, code := s.lib.api.SystemGetProcessName(p.PID); code == nvml.SUCCESS {
			p.Name = name
		}
	}
	return p
}

// garbled reports whether a driver is one of those whose process lists have
// another layout than their version says: 535.43 to 535.97.
func garbled(driver string) bool {
	major, rest, _ := strings.Cut(driver, ".")
	text, _, _ := strings.Cut(rest, ".")
	minor, _ := strconv.Atoi(text) // what is no number is 0
	return major == "535" && minor >= 43 && minor < 98
}

// smBusy adds to processes how busy each kept the multiprocessors, on average
// since the last call for the same device. Where the driver does not account for
// processes, as under MIG, they stay as they are.
func (s *source) smBusy(d *device, processes []nvmlx.Process) {
	if d.parent != nil || d.cut || !s.lib.has("nvmlDeviceGetProcessUtilization") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	samples := processUtilization(d.handle, d.seen)
	type sum struct {
		share float64
		n     int
	}
	sums := map[uint32]sum{}
	for _, u := range samples {
		if u.TimeStamp <= d.seen { // some drivers repeat old ones, or fill up with zeros
			continue
		}
		if share, ok := percent(float64(u.SmUtil)).Get(); ok {
			sums[u.Pid] = sum{sums[u.Pid].share + share, sums[u.Pid].n + 1}
		}
	}
	for _, u := range samples {
		d.seen = max(d.seen, u.TimeStamp)
	}
	for i := range processes {
		if sum := sums[uint32(processes[i].PID)]; sum.n > 0 {
			processes[i].SMBusy = profile.Some(sum.share / float64(sum.n))
		}
	}
}

// processUtilization returns nothing where the driver does not, and guards the
// binding's call, which slices beyond its buffer, and panics, when a process
// appears between its two questions to the driver.
func processUtilization(handle nvml.Device, since uint64) (samples []nvml.ProcessUtilizationSample) {
	defer func() { _ = recover() }()
	samples, code := handle.GetProcessUtilization(since)
	if code != nvml.SUCCESS {
		return nil
	}
	return samples
}
