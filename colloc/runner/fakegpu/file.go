package fakegpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/colloc/internal/regular"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// gpu is one fake GPU.
type gpu struct {
	id      nvmlx.DeviceID
	name    string
	memory  profile.Bytes
	foreign profile.Bytes
	lost    bool
}

// document is the file.
type document struct {
	GPUs []struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Memory  string `json:"memory"`
		Foreign string `json:"foreign"`
		Lost    bool   `json:"lost"`
	} `json:"gpus"`
}

// maxFile is the longest file in bytes. It is read again and again.
const maxFile = 1 << 20

// readFile reads the GPUs from a file.
func readFile(path string) ([]gpu, error) {
	text, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	gpus, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %s: %w", path, err)
	}
	return gpus, nil
}

// parse reads the GPUs from the text of a file and reports all its faults.
func parse(text []byte) ([]gpu, error) {
	var d document
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // as editors on Windows write it
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&d)
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); err == nil && len(rest) > 0 {
		err = errors.New("more text after it")
	}
	if err != nil {
		return nil, fmt.Errorf("want {\"gpus\": [{\"name\": \"A100-40GB\"}]}: line %d: %w", 1+bytes.Count(text[:decoder.InputOffset()], []byte("\n")), plainly(err))
	}
	var errs []error
	gpus := make([]gpu, len(d.GPUs))
	known := make(map[nvmlx.DeviceID]bool)
	for i, in := range d.GPUs {
		g := gpu{id: nvmlx.DeviceID(in.ID), name: in.Name, lost: in.Lost}
		if in.ID == "" {
			g.id = nvmlx.DeviceID(fmt.Sprintf("GPU-fake-%d", i))
		}
		model, ok := profile.LookupGPU(in.Name)
		g.memory = model.Memory
		size := func(field, value string, to *profile.Bytes) {
			if value == "" {
				return
			}
			n, err := profile.ParseBytes(value)
			if err != nil {
				errs = append(errs, fmt.Errorf("gpus[%d].%s: %w", i, field, err))
			}
			*to = n
		}
		size("memory", in.Memory, &g.memory)
		size("foreign", in.Foreign, &g.foreign)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("gpus[%d].name: no GPU is called %q; see profile.LookupGPU", i, in.Name))
		case g.memory <= 0:
			errs = append(errs, fmt.Errorf("gpus[%d].memory: %v, want more than 0", i, g.memory))
		case known[g.id]:
			errs = append(errs, fmt.Errorf("gpus[%d].id: %q is used twice", i, g.id))
		case strings.ContainsAny(string(g.id), "/\x00,") || g.id == "." || g.id == "..":
			errs = append(errs, fmt.Errorf("gpus[%d].id: %q cannot be the name of a folder", i, g.id))
		}
		known[g.id] = true
		gpus[i] = g
	}
	return gpus, errors.Join(errs...)
}

// plainly says a fault of JSON without the words of Go.
func plainly(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file ends in the middle")
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("this is of kind %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%s is of kind %s", kind.Field, kind.Value)
	}
	return err
}
