package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/jsondoc"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// gpuFile is the JSON form of a list of GPUs and of the host they are in.
type gpuFile struct {
	About string            `json:"about"`
	Host  predict.Host      `json:"host"`
	GPUs  []json.RawMessage `json:"gpus"`
}

type gpuEntry struct {
	ID         string              `json:"id"`
	Model      string              `json:"model"`
	Memory     profile.Bytes       `json:"memory"`
	Mechanisms []profile.Mechanism `json:"mechanisms"`
	Labels     []string            `json:"labels"`
}

// cluster is what the tasks can run on.
type cluster struct {
	Host predict.Host
	GPUs []colloc.GPU
}

// loadGPUs reads the GPUs at path, or the built-in ones.
func loadGPUs(name string) (*cluster, error) {
	doc, err := document(name)
	if err != nil {
		return nil, err
	}
	var file gpuFile
	if err := doc.Decode(doc.Whole(), &file); err != nil {
		return nil, err
	}
	if len(file.GPUs) == 0 {
		return nil, doc.ErrorAt(len(doc.Data), errors.New(`no GPUs: nowhere to place a task; see -h for an example of a "gpus" list`))
	}
	c := &cluster{Host: file.Host}
	parts, err := doc.Members(doc.Whole())
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(parts, func(p jsondoc.Part) bool { return p.Key == "gpus" })
	if parts, err = doc.Members(parts[at]); err != nil {
		return nil, err
	}
	for _, p := range parts {
		var e gpuEntry
		if err := doc.Decode(p, &e); err != nil {
			return nil, err
		}
		if err := c.add(&e); err != nil {
			return nil, doc.ErrorAt(p.Offset, err)
		}
	}
	return c, nil
}

// document reads the file at path, or the built-in one.
func document(path string) (*jsondoc.Document, error) {
	if path != "" {
		return jsondoc.ReadFile(path, taskfile.MaxFile)
	}
	f, err := builtin.Open("gpus.json")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return jsondoc.Read(f, "gpus.json", taskfile.MaxFile)
}

// add checks a GPU and takes it over.
func (c *cluster) add(e *gpuEntry) error {
	model, known := profile.LookupGPU(e.Model)
	switch {
	case e.ID == "":
		return errors.New("a GPU has no id")
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
