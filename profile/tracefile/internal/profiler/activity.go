package profiler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// profiled gathers the events of a profiler.
type profiled struct {
	names        map[int]string
	devices      map[int]*device
	steps, waits []span
	all          span // activity of any GPU
	kernels      int
	seen         int      // events
	categories   []string // of events, the first few
	begun        func()   // a value of the document begins
}

// device is what one GPU did.
type device struct {
	kernels                      []kernel
	copies                       []copied
	peak                         int64
	unknownBlocks, unknownOccupy bool // some kernel does not tell
}

type kernel struct {
	span
	blocks, occupancy float32
}

type copied struct {
	span
	bytes float64
}

func newProfiled() *profiled {
	return &profiled{names: map[int]string{}, devices: map[int]*device{}}
}

// note remembers the categories of events, for [profiled.saw].
func (p *profiled) note(category string) {
	p.seen++
	if len(p.categories) < gather.MaxNamedKeys && category != "" && !slices.Contains(p.categories, category) {
		p.categories = append(p.categories, reading.Clip(category))
	}
}

// saw says what a trace without a sample holds instead.
func (p *profiled) saw() string {
	if len(p.categories) == 0 {
		return fmt.Sprintf("%d events, no kernel of a GPU among them", p.seen)
	}
	return fmt.Sprintf("%d events, no kernel of a GPU among them, but %s", p.seen, strings.Join(p.categories, ", "))
}

func (p *profiled) device(id int) (*device, error) {
	d := p.devices[id]
	if d == nil {
		if len(p.devices) >= gather.MaxTraces {
			return nil, fmt.Errorf("more than %d GPUs", gather.MaxTraces)
		}
		d = &device{}
		p.devices[id] = d
	}
	return d, nil
}

func (p *profiled) count() error {
	if p.kernels++; p.kernels > maxKernels {
		return fmt.Errorf("more than %d kernels and copies", maxKernels)
	}
	return nil
}

func (p *profiled) kernel(id int, s span, blocks, occupancy profile.Opt[float64]) error {
	d, err := p.device(id)
	if err = errors.Join(err, p.count()); err != nil {
		return err
	}
	p.all.cover(s)
	d.unknownBlocks, d.unknownOccupy = d.unknownBlocks || blocks.IsZero(), d.unknownOccupy || occupancy.IsZero()
	d.kernels = append(d.kernels, kernel{s, float32(min(1, blocks.Or(0))), float32(min(1, occupancy.Or(0)))})
	return nil
}

func (p *profiled) copied(id int, s span, name string, bytes float64) error {
	if !strings.Contains(name, "HtoD") && !strings.Contains(name, "DtoH") {
		bytes = 0 // within the GPU
	}
	d, err := p.device(id)
	if err = errors.Join(err, p.count()); err == nil {
		p.all.cover(s)
		d.copies = append(d.copies, copied{s, bytes})
	}
	return err
}

// finish turns what was gathered into one sample a GPU.
func (p *profiled) finish(c *gather.Collector) error {
	var steps span
	for _, s := range p.steps {
		steps.cover(s)
	}
	if length := float64(steps.end - steps.start); length > 0 {
		c.DataWait = profile.Some(float64(union(p.waits, steps)) / length)
	}
	length := float64(p.all.end - p.all.start)
	c.Instead = p.saw()
	if length <= 0 {
		return nil // no work of a GPU
	}
	for _, id := range slices.Sorted(maps.Keys(p.devices)) {
		if err := p.sample(c, id, p.all, length); err != nil {
			return err
		}
	}
	return nil
}

func (p *profiled) sample(c *gather.Collector, id int, window span, length float64) error {
	d := p.devices[id]
	if len(d.kernels) == 0 {
		return nil
	}
	var r gather.Row
	var blocks, occupancy, bytes float64
	spans := make([]span, len(d.kernels))
	for i, k := range d.kernels {
		spans[i] = k.span
		each := float64(k.end - k.start)
		blocks, occupancy = blocks+each*float64(k.blocks), occupancy+each*float64(k.occupancy)
	}
	for _, m := range d.copies {
		bytes += m.bytes
		spans = append(spans, m.span)
	}
	r.GPUBusy = profile.Some(float64(union(spans, window)) / length)
	if !d.unknownBlocks {
		r.SMActive = profile.Some(min(1, blocks/length))
	}
	if !d.unknownOccupy {
		r.SMOccupancy = profile.Some(min(1, occupancy/length))
	}
	r.PCIeBytesPerSec = profile.Some(bytes / length * 1e9)
	if d.peak > 0 {
		r.MemUsed = profile.Some(profile.Bytes(d.peak))
	}
	if n := len(p.steps); n > 0 {
		var sum float64
		for _, s := range p.steps {
			sum += float64(s.end - s.start)
		}
		r.StepTime = profile.Some(time.Duration(sum / float64(n)))
	}
	r.Window, r.At = time.Duration(length), time.Unix(0, window.end).UTC()
	s, err := c.Source([]byte(strconv.Itoa(id)), func() map[string]string {
		labels := map[string]string{gather.LabelGPU: strconv.Itoa(id)}
		if p.names[id] != "" {
			labels[gather.LabelName] = p.names[id]
		}
		return labels
	})
	if err != nil {
		return err
	}
	return c.Push(s, &r)
}
