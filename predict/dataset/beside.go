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
	// Mechanism is how they shared the GPU. Excluded names a way that is neither turns
	// nor plain MPS; empty for a good row.
	Mechanism profile.Mechanism
	Excluded  string
	// Training and Server are the tasks as they are alone, the server at its load: requests
	// come evenly spaced.
	Training, Server *profile.Profile
	// Speed is the training's throughput beside the server over that alone.
	Speed float64
	// Alone and Latency are the mean time to an answer, without and beside the training.
	Alone, Latency time.Duration
}

// ReadBeside reads trainings beside a loaded server, as tally-bench measured them. Rows of
// one task share one Profile. file names the source in errors. O(rows).
func ReadBeside(file string, r io.Reader) ([]BesideRow, error) {
	return readRows(file, r, (*row).besideRow, "gpu", "training", "training_batch", "training_gpu_busy", "training_mem_util", "training_mem_mib",
		"inference", "inference_load", "inference_gpu_busy", "inference_mem_util", "inference_mem_mib", "mechanism", "training_speed", "solo_avg_ms", "avg_ms")
}

func (r *row) besideRow(out *BesideRow) {
	switch sharing := r.text("mechanism"); sharing {
	case "time-slicing":
		out.Mechanism = profile.TimeSlice
	case "mps":
		out.Mechanism = profile.MPS
	default:
		out.Excluded = sharing
	}
	load := r.share("inference_load")
	out.Speed = r.share("training_speed")
	out.Alone, out.Latency = r.milliseconds("solo_avg_ms"), r.milliseconds("avg_ms")
	out.Training = r.beside("training", int(r.count("training_batch")), nil)
	if out.Alone > 0 {
		alone := 1 / out.Alone.Seconds()
		out.Server = r.beside("inference", 1, &profile.Server{Rate: load * alone, Capacity: alone, Even: true})
	}
}

// besideNames are the names that tally-bench's other file gives the same trainings.
//
//nolint:gochecknoglobals // a table of constants
var besideNames = map[string]string{"bert": "BERT", "pointnet": "PointNet", "resnet50": "ResNet50"}

// beside builds the profile of a training or a server, once.
func (r *row) beside(kind string, batch int, server *profile.Server) *profile.Profile {
	key := kind + "\x00" + r.text(kind) + "\x00" + r.text(kind+"_batch")
	if server != nil {
		key += fmt.Sprint(*server)
	}
	return r.once(key, kind, func() (profile.Profile, error) {
		name := r.text(kind)
		spec := profile.Spec{Model: profile.Model{Name: cmp.Or(besideNames[name], name)}, Training: profile.Training{BatchSize: batch}, Server: server}
		if server != nil {
			spec.Model.Name += serving
		}
		return profile.New(spec, profile.Trace{Samples: []profile.Sample{{
			GPUBusy: r.fraction(kind+"_gpu_busy", 1), MemBusy: r.fraction(kind+"_mem_util", 1), MemUsed: r.mib(kind + "_mem_mib"),
		}}}, r.gpuModel())
	})
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
