package dataset

import (
	"io"
	"strings"

	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// PaceRow is one measured throughput of training on one GPU.
type PaceRow struct {
	// Source is the table that the row was taken from.
	Source string
	// Observation is the task, the card and the throughput. Task is the source,
	// network, width of the number format and batch; Group the source's repository
	// and the network.
	Observation pace.Observation
	// Excluded says why the row must not be used; empty for a good row.
	Excluded string
}

// ReadPace reads throughputs of single GPUs: columns source, model, family, gpu,
// precision, batch (empty where not given), throughput and notes. In Lambda's
// tables the batch is tuned to each card: there it is not part of the task. file
// names the source in errors. O(rows).
func ReadPace(file string, r io.Reader) ([]PaceRow, error) {
	return readRows(file, r, func(line *row, p *PaceRow) {
		p.Source, p.Observation = line.text("source"), line.pace()
		switch notes := line.text("notes"); {
		case strings.Contains(notes, "suspect"):
			p.Excluded = "suspect: it contradicts the same card's other rows"
		case strings.Contains(notes, "host-bound"):
			p.Excluded = "host-bound: it measures the host, not the card"
		}
	}, "source", "model", "family", "gpu", "precision", "batch", "throughput", "notes")
}

func (r *row) pace() pace.Observation {
	source, model, batch := r.text("source"), r.text("model"), r.text("batch")
	repository, _, _ := strings.Cut(source, "-")
	if repository == "lambda" {
		batch = ""
	}
	o := pace.Observation{GPU: r.gpuModel(), Throughput: r.number("throughput"), Group: repository + " " + model}
	if !(o.Throughput > 0) {
		r.fault("throughput", "%v is not more than 0", o.Throughput)
	}
	spec := profile.Spec{Model: profile.Model{Name: model, Family: paceFamily(r.text("family"))}, Training: profile.Training{BatchSize: 1}}
	spec.Training.Precision = r.precision()
	if batch != "" {
		spec.Training.BatchSize = int(r.count("batch"))
	}
	width := "32"
	if spec.Training.Precision.ElementBytes() == 2 {
		width = "16"
		if spec.Training.Precision == profile.FP16 {
			width = "16, no 32-bit weights"
		}
	}
	o.Task = strings.Join([]string{source, model, width, batch}, "|")
	p, err := profile.New(spec, profile.Trace{}, o.GPU)
	if err != nil {
		r.fault("batch", "%v", err)
	}
	if batch == "" {
		p.Vector.Clear(profile.BatchSize)
	}
	o.Profile = &p
	return o
}

// precision reads the number format; "amp" is mixed precision.
func (r *row) precision() profile.Precision {
	name := r.text("precision")
	if name == "amp" {
		return profile.Mixed
	}
	var p profile.Precision
	if err := p.UnmarshalText([]byte(name)); err != nil {
		r.fault("precision", "%v", err)
	}
	return p
}

// paceFamily is the library's family; generators and others have none.
func paceFamily(name string) profile.Family {
	switch name {
	case "cnn":
		return profile.CNN
	case "transformer":
		return profile.Transformer
	case "rnn":
		return profile.RNN
	case "recsys":
		return profile.Recommender
	}
	return profile.UnknownFamily
}
