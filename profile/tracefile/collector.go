package tracefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/colloc/profile"
)

const (
	maxWarnings = 100
	maxKey      = 4096 // bytes of the labels that tell a source apart
)

// collector gathers the samples of one log by their source.
type collector struct {
	options  *Options
	interval time.Duration
	zone     *time.Location
	zoneless bool // a time without zone was read

	lastStamp [19]byte // the last date and time, and what it means
	lastTime  time.Time

	line     int
	sources  []source
	index    map[string]int
	samples  int
	warnings []error
	unknown  string // a metric that is not read
	instead  string // what a log without a sample holds; empty is so many lines
	dataWait profile.Opt[float64]
}

// source is one GPU, MIG instance, process or pod. Its samples lie in blocks,
// so that a long log is not copied again and again while it grows.
type source struct {
	labels   map[string]string
	mig      bool
	blocks   [][]profile.Sample
	count    int
	unsorted bool
}

func newCollector(o *Options) *collector {
	c := &collector{options: o, interval: o.Interval, zone: o.Location, index: map[string]int{}}
	if c.interval == 0 {
		c.interval = time.Second
	}
	if c.zone == nil {
		c.zone = time.UTC
	}
	return c
}

// warn adds a warning about the current line.
func (c *collector) warn(format string, args ...any) { c.warnAt(c.line, format, args...) }

func (c *collector) warnAt(line int, format string, args ...any) {
	switch {
	case len(c.warnings) < maxWarnings:
		c.warnings = append(c.warnings, &LineError{Line: line, Text: fmt.Sprintf(format, args...)})
	case len(c.warnings) == maxWarnings:
		c.warnings = append(c.warnings, &LineError{Line: line, Text: "further warnings are left out"})
	}
}

// source returns the source with a key; labels makes its labels when it is new.
func (c *collector) source(key []byte, labels func() map[string]string) (*source, error) {
	i, ok := c.index[string(key)]
	if !ok {
		if len(c.sources) >= MaxTraces {
			return nil, fmt.Errorf("more than %d GPUs, processes or pods", MaxTraces)
		}
		if len(key) > maxKey {
			return nil, fmt.Errorf("the names of a GPU, process or pod take %d bytes, at most %d are allowed", len(key), maxKey)
		}
		i = len(c.sources)
		c.index[string(key)] = i
		c.sources = append(c.sources, source{labels: labels()})
		c.sources[i].mig = c.sources[i].labels[LabelInstance] != ""
	}
	return &c.sources[i], nil
}

// push finishes a row and appends it to a source. A row without time gets one
// from its number.
func (c *collector) push(s *source, r *row) error {
	if c.samples >= MaxSamples {
		return fmt.Errorf("more than %d samples", MaxSamples)
	}
	if r.At.IsZero() {
		r.Window = c.interval
		if !c.options.Start.IsZero() {
			r.At = c.options.Start.Add(time.Duration(s.count) * c.interval)
		}
	}
	before := s.last()
	if before != nil && r.At.Before(before.At) {
		s.unsorted, before = true, nil
	}
	r.finish(s.mig, before)
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

func (s *source) last() *profile.Sample {
	if s.count == 0 {
		return nil
	}
	block := s.blocks[len(s.blocks)-1]
	return &block[len(block)-1]
}

// file returns what was gathered.
func (c *collector) file(format Format) *File {
	f := &File{Format: format}
	if c.zoneless && c.options.Location == nil {
		c.warnAt(0, "times without a zone were read as UTC: set Options.Location")
	}
	unsorted := 0
	for i := range c.sources {
		s := &c.sources[i]
		if s.count == 0 {
			continue
		}
		samples := slices.Concat(s.blocks...)
		s.blocks = nil
		if s.unsorted {
			unsorted++
			slices.SortStableFunc(samples, func(a, b profile.Sample) int { return a.At.Compare(b.At) })
		}
		f.Traces = append(f.Traces, profile.Trace{Samples: samples, Labels: s.labels})
	}
	if unsorted > 0 {
		c.warnAt(0, "the times of %d sources go backwards; their samples were sorted", unsorted)
	}
	if len(f.Traces) == 0 {
		c.warnAt(0, "%v", ErrEmpty)
	}
	f.Warnings = c.warnings
	for i := range f.Traces {
		f.Traces[i].Warnings = c.warnings
	}
	return f
}

// next returns the next line without its end; it holds until the next call.
func (c *collector) next(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("line %d: %w", c.line+1, err)
		}
		return nil, err
	}
	c.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", c.line, MaxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", c.line, err)
	}
	return line, nil
}

// each calls visit for each line with its surrounding blanks removed; empty
// lines are left out. Errors name the line.
func (c *collector) each(r *bufio.Reader, visit func(line []byte) error) error {
	for {
		line, err := c.next(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for len(line) > 0 && line[len(line)-1] <= ' ' {
			line = line[:len(line)-1]
		}
		for len(line) > 0 && line[0] <= ' ' {
			line = line[1:]
		}
		if len(line) == 0 {
			continue
		}
		if err := visit(line); err != nil {
			return fmt.Errorf("line %d: %w", c.line, err)
		}
	}
}

// clip shortens text of a log for a message.
func clip[T string | []byte](text T) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}
