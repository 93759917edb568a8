package gpuinfo

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// host is what does not change while the program runs.
type host struct {
	info    nvmlx.SystemInfo
	devices []device
	index   map[nvmlx.DeviceID]int // of devices
}

// device is a GPU, or a MIG instance, and who used it at the start.
type device struct {
	nvmlx.DeviceInfo
	Processes []nvmlx.Process     `json:"processes,omitempty"`
	MIG       *nvmlx.MIGInventory `json:"mig,omitempty"`
}

// inventory asks the source for everything that is asked once. What it is not
// able or allowed to tell is left out.
func inventory(ctx context.Context, src nvmlx.Source) (*host, error) {
	h := &host{index: map[nvmlx.DeviceID]int{}}
	var err error
	if h.info, err = src.Info(ctx); err != nil {
		return nil, err
	}
	list, err := src.Devices(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("there is a driver, but no GPU")
	}
	for i, info := range list {
		d := device{DeviceInfo: info}
		if reader, ok := src.(nvmlx.ProcessReader); ok {
			if processes, err := reader.Processes(ctx, info.ID); err == nil {
				d.Processes = processes
			}
		}
		if reader, ok := src.(nvmlx.MIGReader); ok && info.MIGEnabled.Or(false) {
			if mig, err := reader.MIG(ctx, info.ID); err == nil {
				d.MIG = &mig
			}
		}
		h.devices = append(h.devices, d)
		h.index[info.ID] = i
	}
	return h, nil
}

// withCPU adds how busy the host's CPUs were since the last reading of the same
// device. It knows Linux's /proc/stat; elsewhere the counter stays missing.
type withCPU struct {
	nvmlx.Source
	mu   sync.Mutex
	last map[nvmlx.DeviceID][2]uint64
}

func (c *withCPU) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s, err := c.Source.Read(ctx, id, what&^nvmlx.FieldCPUBusy)
	if err != nil || !what.Has(nvmlx.FieldCPUBusy) {
		return s, err
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		s.Missing.Set(nvmlx.FieldCPUBusy, nvmlx.ErrNotSupported)
		return s, nil
	}
	busy, total := cpuTicks(string(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.last[id]; ok && total > last[1] && busy >= last[0] {
		s.CPUBusy = profile.Some(min(1, float64(busy-last[0])/float64(total-last[1])))
	}
	if c.last == nil {
		c.last = map[nvmlx.DeviceID][2]uint64{}
	}
	c.last[id] = [2]uint64{busy, total}
	return s, nil
}

// Processes and MIG pass on what the source below can do.
func (c *withCPU) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	if reader, ok := c.Source.(nvmlx.ProcessReader); ok {
		return reader.Processes(ctx, id)
	}
	return nil, nvmlx.ErrNotSupported
}

// MIG passes on what the source below knows.
func (c *withCPU) MIG(ctx context.Context, id nvmlx.DeviceID) (nvmlx.MIGInventory, error) {
	if reader, ok := c.Source.(nvmlx.MIGReader); ok {
		return reader.MIG(ctx, id)
	}
	return nvmlx.MIGInventory{}, nvmlx.ErrNotSupported
}

// cpuTicks reads the first line of /proc/stat: user, nice, system, idle, iowait
// and so on, of all CPUs together.
func cpuTicks(stat string) (busy, total uint64) {
	line, _, _ := strings.Cut(stat, "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil || i > 8 { // the name; guest time is part of user time
			continue
		}
		total += n
		if i != 4 && i != 5 {
			busy += n
		}
	}
	return busy, total
}
