package raw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/internal/regular"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The raw file is JSON Lines that only grows: a header, then one line for each
// workload's description and for each finished cell. A line that was torn by a
// crash is cut off when the file is opened again.
const (
	format  = "colloc-measure"
	version = 1
)

// Header says where and how the file was measured. A file has one machine.
type Header struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Simulated bool   `json:"simulated"`

	Machine   Machine            `json:"machine"`
	GPU       nvmlx.DeviceInfo   `json:"gpu"`
	System    nvmlx.SystemInfo   `json:"system"`
	Framework workload.Framework `json:"framework"`
	Settings  plan.Settings      `json:"settings"`
	Samples   string             `json:"samples"` // where samples come from
	Unchecked bool               `json:"unchecked,omitempty"`
}

// Machine is the host.
type Machine struct {
	Label string `json:"label,omitempty"`
	OS    string `json:"os"`
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores"`
}

// record is one line of a raw file after the header.
type record struct {
	Task   *taskRecord `json:"task,omitempty"`
	Result *Result     `json:"result,omitempty"`
}

// taskRecord is what a workload says about itself.
type taskRecord struct {
	Name string        `json:"name"`
	Spec *profile.Spec `json:"spec"`
}

// Contents is a raw file that was read.
type Contents struct {
	Header  *Header                  // nil for an empty file
	Specs   map[string]*profile.Spec // what the tasks say of themselves
	Results []Result                 // in the order of the file; a cell that was measured again has several
	size    int64                    // of the lines that are whole
}

// Read reads a raw file. A last line without its end was torn and is left
// out; any other fault is an error.
func Read(name string, r io.Reader) (*Contents, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c := &Contents{Specs: make(map[string]*profile.Spec)}
	number := 0
	for len(text) > 0 {
		number++
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		if err := c.add(text[:end]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		text = text[end+1:]
		c.size += int64(end) + 1
	}
	return c, nil
}

// add takes one line.
func (c *Contents) add(text []byte) error {
	if c.Header == nil {
		var h Header
		if err := json.Unmarshal(text, &h); err != nil {
			return fmt.Errorf("header: %w", err)
		}
		if h.Format != format || h.Version != version {
			return fmt.Errorf("header: format %q version %d, want %q version %d", h.Format, h.Version, format, version)
		}
		c.Header = &h
		return nil
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	switch {
	case r.Task != nil:
		c.Specs[r.Task.Name] = r.Task.Spec
	case r.Result != nil:
		if err := r.Result.check(); err != nil {
			return err
		}
		c.Results = append(c.Results, *r.Result)
	}
	return nil
}

// Load reads a raw file that nobody writes.
func Load(name string) (*Contents, error) {
	f, err := regular.Named(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return Read(name, f)
}

// Latest returns each cell's last result, in the order of the file.
func (c *Contents) Latest() []Result {
	last := make(map[string]int)
	for i := range c.Results {
		last[c.Results[i].Cell.ID()] = i
	}
	var list []Result
	for i := range c.Results {
		if last[c.Results[i].Cell.ID()] == i {
			list = append(list, c.Results[i])
		}
	}
	return list
}
