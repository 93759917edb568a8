package tracefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile/internal/gather"
	"example.com/colloc/profile/tracefile/internal/profiler"
	"example.com/colloc/profile/tracefile/internal/prometheus"
	"example.com/colloc/profile/tracefile/internal/smi"
)

// File is what was understood of one log.
type File struct {
	// Format is the format that was read.
	Format Format
	// Traces holds one trace for each GPU, MIG instance, process or pod in the
	// log, in the order in which they first appear. Their labels are named in
	// the package constants.
	Traces []profile.Trace
	// DataWait is the share of the time in which the training loop waited for its data
	// loader, in [0, 1]. A profiler's trace tells, where it marks steps.
	DataWait profile.Opt[float64]
	// Warnings are what the reader left out; each is a [*LineError].
	Warnings []error
}

// Labels that readers set, where the log tells.
const (
	LabelGPU       = gather.LabelGPU       // index on the host
	LabelUUID      = gather.LabelUUID      // of the GPU or MIG device
	LabelName      = gather.LabelName      // of the product
	LabelInstance  = gather.LabelInstance  // MIG instance on the GPU
	LabelPID       = gather.LabelPID       // process, as the host sees it
	LabelCommand   = gather.LabelCommand   // name of the process
	LabelHost      = gather.LabelHost      // node
	LabelNamespace = gather.LabelNamespace // of the pod
	LabelPod       = gather.LabelPod
	LabelContainer = gather.LabelContainer
	LabelJob       = gather.LabelJob // of the scheduler, such as Slurm
)

// LineError is something in a log that a reader left out.
type LineError struct {
	// Line is the line it concerns, from 1; 0 is the log as a whole.
	Line int
	// Text says what and why.
	Text string
}

// Error returns the text, after the line where there is one.
func (w *LineError) Error() string {
	if w.Line > 0 {
		return fmt.Sprintf("line %d: %s", w.Line, w.Text)
	}
	return w.Text
}

// Format is a log format.
type Format int

// The formats that [Read] recognises.
const (
	// UnknownFormat is none of those below.
	UnknownFormat Format = iota
	// CSV is what nvidia-smi --query-gpu or --query-compute-apps prints with
	// --format=csv.
	CSV
	// Table is what nvidia-smi dmon, nvidia-smi pmon and dcgmi dmon print.
	Table
	// Exposition is Prometheus text: what an exporter answers.
	Exposition
	// Matrix is the JSON that Prometheus answers to a query.
	Matrix
	// Recording is colloc's own format, JSON Lines.
	Recording
	// XML is what nvidia-smi -q -x prints, once or again and again.
	XML
	// Kineto is the Chrome trace that the PyTorch profiler writes, also gzipped.
	Kineto
	// Nsys is the CSV of nsys stats -r cuda_gpu_trace.
	Nsys
	// Report is the text that nvidia-smi -q prints, once or again and again.
	Report

	formats int = iota
)

//nolint:gochecknoglobals // read-only table of the formats
var formatTable = [formats]struct {
	name string
	read func(*bufio.Reader, *gather.Collector) error
}{
	UnknownFormat: {"unknown", func(*bufio.Reader, *gather.Collector) error { return ErrFormat }},
	CSV:           {"csv", smi.ReadCSV},
	Table:         {"table", smi.ReadTable},
	Exposition:    {"exposition", prometheus.ReadExposition},
	Matrix:        {"matrix", prometheus.ReadMatrix},
	Recording:     {"recording", readRecording},
	XML:           {"xml", smi.ReadXML},
	Kineto:        {"kineto", profiler.ReadKineto},
	Nsys:          {"nsys", profiler.ReadNsys},
	Report:        {"report", smi.ReadReport},
}

// String returns the format's name.
func (f Format) String() string {
	if f < 0 || int(f) >= formats {
		f = UnknownFormat
	}
	return formatTable[f].name
}

// ErrFormat says that a log is in no format that this package reads.
var ErrFormat = gather.ErrFormat

// Options set what a log does not say. The zero value, or nil, is ready to use.
type Options struct {
	// Fields are the column names of a CSV without header, as given to
	// nvidia-smi --query-gpu: "timestamp", "index", "utilization.gpu", ...
	Fields []string
	// Location is where times without a zone were written; nil is UTC, which a
	// warning says.
	Location *time.Location
	// Start is the time of the first row of a log without times; the zero Time
	// leaves the times of such a log zero.
	Start time.Time
	// Interval is the time between rows of a log without times; 0 means one
	// second, the default of the tools.
	Interval time.Duration
}

// Read recognises the format of a log from its beginning and reads it. It wraps
// [ErrFormat] where it recognises none, [ErrOther] where it recognises what is no
// log, and [ErrEmpty] where it finds no sample. A damaged row costs a warning, not
// the log; errors name the line. Beyond 64 KiB a line, 4,194,304 samples, 16,384 GPUs,
// processes or pods, 128 MiB of a JSON answer, and 1 GiB or 16,777,216 events of a
// profiler's trace, unpacked, it returns an error. O(size); memory is proportional to
// the samples.
func Read(r io.Reader, o *Options) (*File, error) {
	f, err := read(r, o)
	if err != nil {
		return nil, fmt.Errorf("tracefile: %w", err)
	}
	return f, nil
}

// ReadFile reads a log as [Read] does; errors name the path.
func ReadFile(path string, o *Options) (*File, error) {
	r, err := regular.Named(path)
	if err != nil {
		return nil, fmt.Errorf("tracefile: %w", err)
	}
	defer func() { _ = r.Close() }() // read only: nothing is lost
	f, err := read(r, o)
	if err != nil {
		return nil, fmt.Errorf("tracefile: %s: %w", path, err)
	}
	return f, nil
}

func read(r io.Reader, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Interval < 0 {
		return nil, fmt.Errorf("Options.Interval is %v, want 0 or more", o.Interval)
	}
	in, head, err := plain(r)
	if err != nil {
		return nil, err
	}
	format := sniff(head)
	if format == UnknownFormat {
		for line := range bytes.Lines(head) {
			if err := other(bytes.TrimSpace(line)); err != nil {
				return nil, err
			}
		}
	}
	if format == UnknownFormat && len(o.Fields) > 0 {
		format = CSV
	}
	c := gather.New((*gather.Options)(o))
	if err := formatTable[format].read(in, c); err != nil {
		if !errors.Is(err, ErrOther) && !errors.Is(err, ErrFormat) {
			err = fmt.Errorf("%v: %w", format, err)
		}
		return nil, err
	}
	f := file(c, format)
	f.DataWait = c.DataWait
	if len(f.Traces) == 0 {
		return nil, fmt.Errorf("%v: %w: %s", format, ErrEmpty, saw(c))
	}
	return f, nil
}

// file returns what a reader gathered.
func file(c *gather.Collector, format Format) *File {
	f := &File{Format: format, Traces: c.Traces()}
	if len(f.Traces) == 0 {
		c.WarnAt(0, "%v", ErrEmpty)
	}
	for _, w := range c.Warnings {
		f.Warnings = append(f.Warnings, (*LineError)(&w))
	}
	for i := range f.Traces {
		f.Traces[i].Warnings = f.Warnings
	}
	return f
}

// ErrEmpty says that a log holds no sample that this package reads.
var ErrEmpty = errors.New("the log holds no sample")

// saw says what a log without a sample held instead.
func saw(c *gather.Collector) string {
	text := c.Instead
	if text == "" {
		text = fmt.Sprintf("%d lines", c.Line)
	}
	if c.Unknown != "" {
		text += ", with metrics that are not read, such as " + c.Unknown
	}
	for _, w := range c.Warnings {
		if line := LineError(w); line.Line > 0 {
			return text + "; " + line.Error()
		}
	}
	return text
}

// sniff recognises a format from the beginning of a log.
func sniff(head []byte) Format {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) > 0 && text[0] == '{' {
		if line, _, _ := bytes.Cut(text, []byte("\n")); bytes.Contains(line, []byte(`"`+recordingFormat+`"`)) {
			return Recording
		}
		if profiler.IsKineto(text) {
			return Kineto
		}
		return Matrix
	}
	if bytes.HasPrefix(text, []byte("<?xml")) || bytes.HasPrefix(text, []byte("<nvidia_smi_log")) {
		return XML
	}
	if bytes.HasPrefix(text, []byte(smi.ReportHead)) {
		return Report
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("# HELP ")), bytes.HasPrefix(line, []byte("# TYPE ")), prometheus.IsMetricLine(line):
			return Exposition
		case smi.IsTableHeader(line):
			return Table
		case profiler.IsNsys(line):
			return Nsys
		case smi.IsCSVHeader(line):
			return CSV
		}
	}
	return UnknownFormat
}
