package tracefile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// span is a time from start to end in nanoseconds.
type span struct{ start, end int64 }

// cover makes a span hold another one; the zero span holds nothing.
func (s *span) cover(other span) {
	if *s == (span{}) {
		*s = other
		return
	}
	s.start, s.end = min(s.start, other.start), max(s.end, other.end)
}

// union is the time within a window that at least one span covers. It sorts the
// spans. O(n log n).
func union(spans []span, window span) int64 {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var sum int64
	covered := window.start
	for _, s := range spans {
		from, to := max(s.start, covered), min(s.end, window.end)
		if to > from {
			sum += to - from
			covered = to
		}
	}
	return sum
}

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
	if len(p.categories) < maxNamedKeys && category != "" && !slices.Contains(p.categories, category) {
		p.categories = append(p.categories, clip(category))
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
		if len(p.devices) >= MaxTraces {
			return nil, fmt.Errorf("more than %d GPUs", MaxTraces)
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
func (p *profiled) finish(c *collector) error {
	var steps span
	for _, s := range p.steps {
		steps.cover(s)
	}
	if length := float64(steps.end - steps.start); length > 0 {
		c.dataWait = profile.Some(min(1, float64(union(p.waits, steps))/length))
	}
	length := float64(p.all.end - p.all.start)
	c.instead = p.saw()
	if length <= 0 {
		return nil // no work of a GPU
	}
	ids := make([]int, 0, len(p.devices))
	for id := range p.devices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := p.sample(c, id, p.all, length); err != nil {
			return err
		}
	}
	return nil
}

func (p *profiled) sample(c *collector, id int, window span, length float64) error {
	d := p.devices[id]
	if len(d.kernels) == 0 {
		return nil
	}
	var r row
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
	r.GPUBusy = profile.Some(min(1, float64(union(spans, window))/length))
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
	s, err := c.source([]byte(strconv.Itoa(id)), func() map[string]string {
		labels := map[string]string{LabelGPU: strconv.Itoa(id)}
		if p.names[id] != "" {
			labels[LabelName] = p.names[id]
		}
		return labels
	})
	if err != nil {
		return err
	}
	return c.push(s, &r)
}

// readNsys reads the CSV that nsys stats -r cuda_gpu_trace --format csv prints:
// start and duration of each kernel and copy. It becomes one sample a GPU, as
// readKineto's, over all activity.
func readNsys(r *bufio.Reader, c *collector) error {
	bound := &guard{r: r, left: MaxProfile, keep: true}
	in := csv.NewReader(bound)
	in.FieldsPerRecord, in.ReuseRecord, in.LazyQuotes = -1, true, true
	p := newProfiled()
	columns := map[string]int{}
	var sum kernelSum
	ids := map[string]int{} // names of devices in order
	for line := 1; ; line++ {
		bound.reset()
		cells, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			c.line = line - 1
			return errors.Join(sum.refuse(p.kernels), p.finish(c))
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		case isNsys([]byte(strings.Join(cells[:min(len(cells), 2)], ","))):
			sum.open = !strings.HasPrefix(cells[0], "Start")
			clear(columns)
			for i, name := range cells[:min(len(cells), 100)] {
				columns[strings.Replace(strings.TrimSpace(name), "Time(", "Time (", 1)] = i
			}
			continue
		case len(columns) == 0:
			continue // what nsys says before its tables
		}
		cell := func(name string) string {
			if i, ok := columns[name]; ok && i < len(cells) {
				return cells[i]
			}
			return ""
		}
		if sum.open {
			sum.add(cell)
			continue
		}
		start, err1 := strconv.ParseInt(cell("Start (ns)"), 10, 64)
		length, err2 := strconv.ParseInt(cell("Duration (ns)"), 10, 64)
		if err1 != nil || err2 != nil || start < 0 || length < 0 || start > 1<<61 || length > 1<<61 {
			c.warnAt(line, "no start and duration in whole nanoseconds: %q", clip(strings.Join(cells, ",")))
			continue
		}
		id, ok := ids[cell("Device")]
		if !ok {
			id = len(ids)
			ids[strings.Clone(cell("Device"))] = id
			p.names[id] = strings.Clone(cell("Device"))
		}
		s, name := span{start, start + length}, cell("Name")
		if strings.HasPrefix(name, "[CUDA mem") {
			bytes := share(json.RawMessage(cell("Bytes (MB)")), 1e-6)
			err = p.copied(id, s, name, bytes.Or(0))
		} else {
			err = p.kernel(id, s, profile.Opt[float64]{}, profile.Opt[float64]{})
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// kernelSum is what nsys stats -r cuda_gpu_kern_sum tells.
type kernelSum struct {
	open              bool // its table is read
	kernels, launches int
	total             float64 // nanoseconds
}

func (k *kernelSum) add(cell func(string) string) {
	total, err1 := strconv.ParseFloat(cell("Total Time (ns)"), 64)
	launches, err2 := strconv.Atoi(cell("Instances"))
	if err1 == nil && err2 == nil && total >= 0 && launches >= 0 {
		k.kernels, k.launches, k.total = k.kernels+1, k.launches+launches, k.total+total
	}
}

// refuse says why a summary is no sample: a share wants the time that was watched
// and how far kernels overlap. Where activities stand beside it, they are enough.
func (k *kernelSum) refuse(activities int) error {
	if k.kernels == 0 || activities > 0 {
		return nil
	}
	return fmt.Errorf("%w: a summary of %d kernels, %.6g s in %d launches, but not over which time, nor how they overlap: print it with -r cuda_gpu_trace",
		ErrOther, k.kernels, k.total/1e9, k.launches)
}

// isNsys recognises the header of a table of nsys stats.
func isNsys(line []byte) bool {
	for _, head := range []string{"Start (ns),Duration (ns)", "Time (%),Total Time (ns)", "Time(%),Total Time (ns)"} {
		if bytes.HasPrefix(line, []byte(head)) {
			return true
		}
	}
	return false
}
