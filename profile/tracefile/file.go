package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/colloc/profile"
)

// File is what was understood of one log.
type File struct {
	// Format is the format that was read.
	Format Format
	// Traces holds one trace for each GPU, MIG instance, process or pod in the
	// log, in the order in which they first appear. Their labels are named in
	// the package constants.
	Traces []profile.Trace
	// DataWait is the share of the time in which the training loop waited for its
	// data loader, in [0, 1]; a profiler's trace tells, where it marks steps.
	DataWait profile.Opt[float64]
	// Warnings are what the reader left out; each is a [*LineError].
	Warnings []error
}

// Labels that readers set, where the log tells.
const (
	LabelGPU       = "gpu"       // index on the host
	LabelUUID      = "uuid"      // of the GPU or MIG device
	LabelName      = "name"      // of the product
	LabelInstance  = "instance"  // MIG instance on the GPU
	LabelPID       = "pid"       // process, as the host sees it
	LabelCommand   = "command"   // name of the process
	LabelHost      = "host"      // node
	LabelNamespace = "namespace" // of the pod
	LabelPod       = "pod"
	LabelContainer = "container"
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
	read func(*bufio.Reader, *collector) error
}{
	UnknownFormat: {"unknown", func(*bufio.Reader, *collector) error { return ErrFormat }},
	CSV:           {"csv", readCSV},
	Table:         {"table", readTable},
	Exposition:    {"exposition", readExposition},
	Matrix:        {"matrix", readMatrix},
	Recording:     {"recording", readRecording},
	XML:           {"xml", readXML},
	Kineto:        {"kineto", readKineto},
	Nsys:          {"nsys", readNsys},
	Report:        {"report", readReport},
}

// String returns the format's name.
func (f Format) String() string {
	if f < 0 || int(f) >= formats {
		f = UnknownFormat
	}
	return formatTable[f].name
}

// ErrFormat says that a log is in no format that this package reads.
var ErrFormat = errors.New("format not recognised; want nvidia-smi CSV (with Options.Fields if it has no header), " +
	"-q text or -x XML, a PyTorch profiler trace, nsys CSV, dmon or pmon text, dcgmi dmon text, Prometheus text or JSON, or a colloc recording")

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

// Bounds that every reader keeps; beyond them it returns an error.
const (
	// MaxLine is the longest line in bytes.
	MaxLine = 64 << 10
	// MaxSamples is the largest number of samples of one log.
	MaxSamples = 1 << 22
	// MaxTraces is the largest number of GPUs, processes or pods in one log.
	MaxTraces = 1 << 14
	// MaxJSON is the largest JSON answer in bytes.
	MaxJSON = 128 << 20
)

// Read recognises the format of a log from its beginning and reads it. It wraps
// [ErrFormat] where it recognises none, [ErrOther] where it recognises what is no
// log, and [ErrEmpty] where it finds no sample. A damaged row costs a warning, not
// the log; errors name the line. O(size); memory is proportional to the samples.
func Read(r io.Reader, o *Options) (*File, error) {
	f, err := read(r, o)
	if err != nil {
		return nil, fmt.Errorf("tracefile: %w", err)
	}
	return f, nil
}

// ReadFile reads a log as [Read] does; errors name the path.
func ReadFile(path string, o *Options) (*File, error) {
	r, err := os.Open(path)
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
	c := newCollector(o)
	if err := formatTable[format].read(in, c); err != nil {
		if format != UnknownFormat && !errors.Is(err, ErrOther) && !errors.Is(err, ErrFormat) {
			err = fmt.Errorf("%v: %w", format, err)
		}
		return nil, err
	}
	f := c.file(format)
	f.DataWait = c.dataWait
	if len(f.Traces) == 0 {
		return nil, fmt.Errorf("%v: %w: %s", format, ErrEmpty, c.saw())
	}
	return f, nil
}

// plain undoes UTF-16 and gzip; head is the beginning of the text.
func plain(r io.Reader) (in *bufio.Reader, head []byte, err error) {
	in = bufio.NewReaderSize(r, MaxLine)
	head, err = in.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) { // PowerShell's redirection
		in = bufio.NewReaderSize(&wide{r: in}, MaxLine)
		if head, err = in.Peek(4 << 10); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		if _, err := in.Discard(len(mark)); err != nil {
			return nil, nil, err
		}
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		in = bufio.NewReaderSize(&unpacked{r: z, left: MaxProfile}, MaxLine)
		if head, err = in.Peek(4 << 10); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
	}
	return in, head, nil
}

// unpacked bounds what comes out of gzip, of which a little may hold very much.
type unpacked struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, fmt.Errorf("gzip: more than %d bytes unpacked", MaxProfile)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("gzip: the file is cut off: %w", err)
	}
	return n, err
}

// ErrEmpty says that a log holds no sample that this package reads.
var ErrEmpty = errors.New("the log holds no sample")

// saw says what a log without a sample held instead.
func (c *collector) saw() string {
	text := c.instead
	if text == "" {
		text = fmt.Sprintf("%d lines", c.line)
	}
	if c.unknown != "" {
		text += ", with metrics that are not read, such as " + c.unknown
	}
	for _, w := range c.warnings {
		var line *LineError
		if errors.As(w, &line) && line.Line > 0 {
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
		if isKineto(text) {
			return Kineto
		}
		return Matrix
	}
	if bytes.HasPrefix(text, []byte("<?xml")) || bytes.HasPrefix(text, []byte("<nvidia_smi_log")) {
		return XML
	}
	if bytes.HasPrefix(text, []byte(reportHead)) {
		return Report
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("# HELP ")), bytes.HasPrefix(line, []byte("# TYPE ")), isMetricLine(line):
			return Exposition
		case isTableHeader(line):
			return Table
		case isNsys(line):
			return Nsys
		case isCSVHeader(line):
			return CSV
		}
	}
	return UnknownFormat
}
