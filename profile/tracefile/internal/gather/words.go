package gather

import (
	"errors"
	"time"

	"example.com/colloc/profile/internal/reading"
)

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
	LabelJob       = "job" // of the scheduler
)

// Options are what a log does not say, as package tracefile documents it.
type Options struct {
	Fields   []string
	Location *time.Location
	Start    time.Time
	Interval time.Duration
}

// ErrFormat says that a log is in no format that this package reads.
var ErrFormat = errors.New("format not recognised; want nvidia-smi CSV (with Options.Fields if it has no header), " +
	"-q text or -x XML, a PyTorch profiler trace, nsys CSV, dmon or pmon text, dcgmi dmon text, Prometheus text or JSON, or a colloc recording")

// ErrOther says that a file is known, but is no log that this package reads; the
// error around it names what the file is and what to print instead.
var ErrOther = errors.New("not a log that is read")

// Bounds that every reader keeps; beyond them it returns an error.
const (
	// MaxLine is the longest line in bytes.
	MaxLine = reading.MaxLine
	// MaxSamples is the largest number of samples of one log.
	MaxSamples = 1 << 22
	// MaxTraces is the largest number of GPUs, processes or pods in one log.
	MaxTraces = 1 << 14
	// MaxJSON is the largest JSON answer in bytes.
	MaxJSON = 128 << 20

	// MaxKey is the most bytes of the labels that tell a source apart.
	MaxKey = 4096
	// MaxNamedKeys is the most names of what was found instead that an error tells.
	MaxNamedKeys = 8
)
