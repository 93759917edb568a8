package gather

import (
	"fmt"
	"slices"
	"time"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
)

// Collector gathers the samples of one log by their source.
type Collector struct {
	reading.Lines

	Options  *Options
	Zone     *time.Location
	Zoneless bool // a time without zone was read
	Sources  []Source
	Index    map[string]int // of Sources, by key
	Warnings reading.Warnings
	Unknown  string // a metric that is not read
	Instead  string // what a log without a sample holds; empty is so many lines
	DataWait profile.Opt[float64]

	interval  time.Duration
	lastStamp [19]byte // the last date and time, and what it means
	lastTime  time.Time
	samples   int
}

// New returns a collector that has seen nothing.
func New(o *Options) *Collector {
	c := &Collector{Options: o, interval: o.Interval, Zone: o.Location, Index: map[string]int{}}
	if c.interval == 0 {
		c.interval = time.Second
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	return c
}

// Warn adds a warning about the current line.
func (c *Collector) Warn(format string, args ...any) { c.WarnAt(c.Line, format, args...) }

// WarnAt adds a warning about a line; line 0 is the log as a whole.
func (c *Collector) WarnAt(line int, format string, args ...any) {
	c.Warnings.Add(line, format, args...)
}

// Source returns the source with a key; labels makes its labels when it is new.
func (c *Collector) Source(key []byte, labels func() map[string]string) (*Source, error) {
	i, ok := c.Index[string(key)]
	if !ok {
		if len(c.Sources) >= MaxTraces {
			return nil, fmt.Errorf("more than %d GPUs, processes or pods", MaxTraces)
		}
		if len(key) > MaxKey {
			return nil, fmt.Errorf("the names of a GPU, process or pod take %d bytes, at most %d are allowed", len(key), MaxKey)
		}
		i = len(c.Sources)
		c.Index[string(key)] = i
		c.Sources = append(c.Sources, Source{labels: labels()})
		c.Sources[i].MIG = c.Sources[i].labels[LabelInstance] != ""
	}
	return &c.Sources[i], nil
}

// Push finishes a row and appends it to a source. A row without time gets one
// from its number.
func (c *Collector) Push(s *Source, r *Row) error {
	if c.samples >= MaxSamples {
		return fmt.Errorf("more than %d samples", MaxSamples)
	}
	if r.At.IsZero() {
		r.Window = c.interval
		if !c.Options.Start.IsZero() {
			r.At = c.Options.Start.Add(time.Duration(s.count) * c.interval)
		}
	}
	before := s.last()
	if before != nil && r.At.Before(before.At) {
		s.unsorted, before = true, nil
	}
	r.finish(s.MIG, before)
	n := len(s.blocks)
	if n == 0 || len(s.blocks[n-1]) == cap(s.blocks[n-1]) {
		s.blocks = append(s.blocks, make([]profile.Sample, 0, min(16<<min(n, 8), 4096)))
		n++
	}
	s.blocks[n-1] = append(s.blocks[n-1], r.Sample)
	s.count++
	c.samples++
	return nil
}

// Traces returns what was gathered, once.
func (c *Collector) Traces() []profile.Trace {
	var traces []profile.Trace
	if c.Zoneless && c.Options.Location == nil {
		c.WarnAt(0, "times without a zone were read as UTC: set Options.Location")
	}
	unsorted := 0
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.count == 0 {
			continue
		}
		samples := slices.Concat(s.blocks...)
		s.blocks = nil
		if s.unsorted {
			unsorted++
			slices.SortStableFunc(samples, func(a, b profile.Sample) int { return a.At.Compare(b.At) })
		}
		traces = append(traces, profile.Trace{Samples: samples, Labels: s.labels})
	}
	if unsorted > 0 {
		c.WarnAt(0, "the times of %d sources go backwards; their samples were sorted", unsorted)
	}
	return traces
}
