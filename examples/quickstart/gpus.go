package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"example.com/colloc/colloc"
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
}

// cluster is what the tasks can run on.
type cluster struct {
	Host predict.Host
	GPUs []colloc.GPU
}

// loadGPUs reads the GPUs at path, or the built-in ones.
func loadGPUs(name string) (*cluster, error) {
	var file gpuFile
	doc, _, err := open(name, "gpus.json", &file)
	if err != nil {
		return nil, err
	}
	if len(file.GPUs) == 0 {
		return nil, doc.errorAt(len(doc.data), errors.New(`no GPUs: nowhere to place a task; see -h for an example of a "gpus" list`))
	}
	c := &cluster{Host: file.Host}
	seen := make(map[string]bool)
	err = each(doc, file.GPUs, func(e *gpuEntry, _ string) error {
		model, known := profile.LookupGPU(e.Model)
		switch {
		case e.ID == "":
			return errors.New("a GPU has no id")
		case seen[e.ID]:
			return fmt.Errorf("GPU %q: this id was used before", e.ID)
		case !known && e.Memory <= 0:
			return fmt.Errorf("GPU %q: model %q is not in the catalogue; give its memory", e.ID, e.Model)
		case !known:
			model = profile.GPUModel{Name: e.Model, Memory: e.Memory}
		}
		seen[e.ID] = true
		c.GPUs = append(c.GPUs, colloc.GPU{ID: e.ID, Model: model, Memory: e.Memory, Mechanisms: e.Mechanisms})
		return nil
	})
	return c, err
}
