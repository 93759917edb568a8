package dataset

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"example.com/colloc/profile"
)

// BesideRow is one training beside a server that answers requests.
type BesideRow struct {
	// Line is the row's line in the file.
	Line int
	// Mechanism is how they shared the GPU. Excluded names a way that is neither turns
	// nor plain MPS; empty for a good row.
	Mechanism profile.Mechanism
	Excluded  string
	// Training and Server are the tasks as they are alone, the server at its load.
	Training, Server *profile.Profile
	// Load is the rate of the requests, evenly spaced, as a share of what the server
	// could serve alone, in (0, 1].
	Load float64
	// Speed is the training's throughput beside the server over that alone. Served is the
	// share of the requests that were answered.
	Speed, Served float64
	// Alone and Latency are the mean time to an answer, without and beside the training.
	// AloneP99 and P99 are what 99 of 100 answers take at most.
	Alone, Latency, AloneP99, P99 time.Duration
}

// ReadBeside reads trainings beside a loaded server, as tally-bench measured them. Rows of
// one task share one Profile. file names the source in errors. O(rows).
func ReadBeside(file string, r io.Reader) ([]BesideRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("gpu", "training", "training_batch", "training_gpu_busy", "training_mem_util", "training_mem_mib", "inference",
		"inference_load", "inference_gpu_busy", "inference_mem_util", "inference_mem_mib", "mechanism", "training_speed", "inference_served",
		"solo_avg_ms", "avg_ms", "solo_p99_ms", "p99_ms"); err != nil {
		return nil, err
	}
	tasks := make(map[string]*profile.Profile)
	out := make([]BesideRow, len(t.rows))
	for i := range t.rows {
		line, row := t.row(i), &out[i]
		row.Line = t.lines[i]
		switch sharing := line.text("mechanism"); sharing {
		case "time-slicing":
			row.Mechanism = profile.TimeSlice
		case "mps":
			row.Mechanism = profile.MPS
		default:
			row.Excluded = sharing
		}
		row.Load = line.share("inference_load")
		row.Alone = line.milliseconds("solo_avg_ms")
		row.Training = line.beside("training", int(line.count("training_batch")), nil, tasks)
		if row.Alone > 0 {
			alone := 1 / row.Alone.Seconds()
			row.Server = line.beside("inference", 1, &profile.Server{Rate: row.Load * alone, Capacity: alone, Even: true}, tasks)
		}
		row.Speed, row.Served = line.share("training_speed"), line.share("inference_served")
		row.Latency = line.milliseconds("avg_ms")
		row.AloneP99, row.P99 = line.milliseconds("solo_p99_ms"), line.milliseconds("p99_ms")
		if err := line.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// besideNames are the names that tally-bench's other file gives the same trainings.
//
//nolint:gochecknoglobals // a table of constants
var besideNames = map[string]string{"bert": "BERT", "pointnet": "PointNet", "resnet50": "ResNet50"}

// beside builds the profile of a training or a server, once.
func (r *row) beside(kind string, batch int, server *profile.Server, tasks map[string]*profile.Profile) *profile.Profile {
	key := kind + "\x00" + r.text(kind) + "\x00" + r.text(kind+"_batch")
	if server != nil {
		key += fmt.Sprint(*server)
	}
	if p, ok := tasks[key]; ok {
		return p
	}
	name := r.text(kind)
	spec := profile.Spec{Model: profile.Model{Name: cmp.Or(besideNames[name], name)}, Training: profile.Training{BatchSize: batch}, Server: server}
	if server != nil {
		spec.Model.Name += serving
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{{
		GPUBusy: r.fraction(kind+"_gpu_busy", 1), MemBusy: r.fraction(kind+"_mem_util", 1), MemUsed: r.mib(kind + "_mem_mib"),
	}}}, r.gpuModel())
	if err != nil {
		r.fault(kind, "%v", err)
	}
	tasks[key] = &p
	return &p
}

// serving tells the name of a model that only answers from that of its training: they
// are no tasks of one type.
const serving = " inference"

// share returns a number above 0 and at most 1.
func (r *row) share(column string) float64 {
	v := r.number(column)
	if !(v > 0 && v <= 1) {
		r.fault(column, "%v is not a share above 0 and at most 1", v)
	}
	return v
}

// milliseconds returns a time above 0.
func (r *row) milliseconds(column string) time.Duration { return r.duration(column, time.Millisecond) }

// duration returns a time above 0 and at most a year from a cell in the given unit.
func (r *row) duration(column string, unit time.Duration) time.Duration {
	v := r.number(column)
	if most := float64(365*24*time.Hour) / float64(unit); !(v > 0 && v <= most) {
		r.fault(column, "%v is not a time above 0 and at most a year", v)
		return 0
	}
	return time.Duration(v * float64(unit))
}
