package taskfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/jsondoc"
	"example.com/colloc/profile"
)

// gpuFile is the JSON form of a list of GPUs and of the host they are in.
type gpuFile struct {
	About string            `json:"about"`
	Host  json.RawMessage   `json:"host"`
	GPUs  []json.RawMessage `json:"gpus"`
}

type gpuEntry struct {
	ID         string              `json:"id"`
	Model      string              `json:"model"`
	Name       string              `json:"name"` // as in a file of -fake-gpus
	Memory     profile.Bytes       `json:"memory"`
	Mechanisms []profile.Mechanism `json:"mechanisms"`
	Labels     []string            `json:"labels"`
}

// Cluster is what tasks can run on.
type Cluster struct {
	// Config has the Host that the file tells, and nothing else.
	Config colloc.Config
	GPUs   []colloc.GPU
}

// ReadGPUs reads a GPU file, which errors call name:
//
//	{"host": {"context_bytes": "520MiB"},
//	 "gpus": [{"id": "gpu0", "model": "A100-40GB", "mechanisms": ["time-slicing", "mps"], "labels": ["rack7"]}]}
//
// Of a GPU only the model must be told, by any name that [profile.LookupGPU] knows, or its
// memory. A fault of the file is an [*Error]. O(size).
func ReadGPUs(r io.Reader, name string) (*Cluster, error) {
	doc, err := jsondoc.Read(r, name, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("taskfile: %w", err)
	}
	c, err := clusterOf(doc)
	var place *jsondoc.Error
	if errors.As(err, &place) {
		return nil, &Error{File: place.File, Line: place.Line, Err: place.Err}
	}
	return c, err
}

func clusterOf(doc *jsondoc.Document) (*Cluster, error) {
	var file gpuFile
	if err := doc.Decode(doc.Whole(), &file); err != nil {
		return nil, err
	}
	if len(file.GPUs) == 0 {
		return nil, doc.ErrorAt(len(doc.Data), errors.New(`no GPUs: nowhere to place a task; want a "gpus" list such as {"gpus": [{"id": "gpu0", "model": "A100-40GB"}]}`))
	}
	c := &Cluster{}
	parts, err := doc.Members(doc.Whole())
	if err != nil {
		return nil, err
	}
	if h := slices.IndexFunc(parts, func(p jsondoc.Part) bool { return p.Key == "host" }); h >= 0 {
		if err := doc.Decode(parts[h], &c.Config.Host); err != nil {
			return nil, err
		}
	}
	at := slices.IndexFunc(parts, func(p jsondoc.Part) bool { return p.Key == "gpus" })
	if parts, err = doc.Members(parts[at]); err != nil {
		return nil, err
	}
	for i, p := range parts {
		var e gpuEntry
		if err := doc.Decode(p, &e); err != nil {
			return nil, err
		}
		e.ID, e.Model = cmp.Or(e.ID, fmt.Sprint("gpu", i)), cmp.Or(e.Model, e.Name)
		if err := c.add(&e); err != nil {
			return nil, doc.ErrorAt(p.Offset, err)
		}
	}
	return c, nil
}

// add checks a GPU and takes it over.
func (c *Cluster) add(e *gpuEntry) error {
	model, known := profile.LookupGPU(e.Model)
	switch {
	case slices.ContainsFunc(c.GPUs, func(g colloc.GPU) bool { return g.ID == e.ID }):
		return fmt.Errorf("GPU %q: this id was used before", e.ID)
	case !known && e.Memory <= 0:
		return fmt.Errorf("GPU %q: model %q is not in the catalogue; give its memory", e.ID, e.Model)
	case !known:
		model = profile.GPUModel{Name: e.Model, Memory: e.Memory}
	}
	if (&profile.GPUModel{Name: e.Model}).Sliced() {
		model.Name = e.Model // the catalogue's entry is that of the card, and only the name says which slice
	}
	c.GPUs = append(c.GPUs, colloc.GPU{ID: e.ID, Model: model, Memory: e.Memory, Mechanisms: e.Mechanisms, Labels: e.Labels})
	return nil
}
