//go:build linux && cgo

package gonvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// smBusy adds to processes how busy each kept the multiprocessors, on average
// since the last call for the same device. Where the driver does not account for
// processes, as under MIG, they stay as they are.
func (s *source) smBusy(d *device, processes []nvmlx.Process) {
	if d.parent != nil || d.cut || !s.lib.has[symProcessUtilization] {
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
