package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The raw file is JSON Lines that only grows: a header, then one line for each
// workload's description and for each finished cell. A line that was torn by a
// crash is cut off when the file is opened again.
const (
	rawFormat  = "colloc-measure"
	rawVersion = 1
)

// header says where and how the file was measured. A file has one machine.
type header struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Simulated bool   `json:"simulated"`

	Machine   machine          `json:"machine"`
	GPU       nvmlx.DeviceInfo `json:"gpu"`
	System    nvmlx.SystemInfo `json:"system"`
	Framework framework        `json:"framework"`
	Settings  settings         `json:"settings"`
	Samples   string           `json:"samples"` // where samples come from
	Unchecked bool             `json:"unchecked,omitempty"`
}

// machine is the host.
type machine struct {
	Label string `json:"label,omitempty"`
	OS    string `json:"os"`
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores"`
}

// record is one line of a raw file after the header.
type record struct {
	Task   *taskRecord `json:"task,omitempty"`
	Result *result     `json:"result,omitempty"`
}

// taskRecord is what a workload says about itself.
type taskRecord struct {
	Name string        `json:"name"`
	Spec *profile.Spec `json:"spec"`
}

// contents is a raw file that was read.
type contents struct {
	header  *header // nil for an empty file
	specs   map[string]*profile.Spec
	results []result
	size    int64 // of the lines that are whole
}

// readRaw reads a raw file. A last line without its end was torn and is left
// out; any other fault is an error.
func readRaw(name string, r io.Reader) (*contents, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c := &contents{specs: make(map[string]*profile.Spec)}
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
func (c *contents) add(text []byte) error {
	if c.header == nil {
		var h header
		if err := json.Unmarshal(text, &h); err != nil {
			return fmt.Errorf("header: %w", err)
		}
		if h.Format != rawFormat || h.Version != rawVersion {
			return fmt.Errorf("header: format %q version %d, want %q version %d", h.Format, h.Version, rawFormat, rawVersion)
		}
		c.header = &h
		return nil
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	switch {
	case r.Task != nil:
		c.specs[r.Task.Name] = r.Task.Spec
	case r.Result != nil:
		if err := r.Result.check(); err != nil {
			return err
		}
		c.results = append(c.results, *r.Result)
	}
	return nil
}

// check finds what no run of this program writes.
func (r *result) check() error {
	if len(r.Cell.Tasks) == 0 || len(r.Members) != len(r.Cell.Tasks) {
		return fmt.Errorf("result with %d tasks and %d members", len(r.Cell.Tasks), len(r.Members))
	}
	if n := len(r.Cell.Threads); n != 0 && n != len(r.Cell.Tasks) {
		return fmt.Errorf("result with %d tasks and %d thread shares", len(r.Cell.Tasks), n)
	}
	for i := range r.Members {
		m := &r.Members[i]
		if !m.Status.known() {
			return fmt.Errorf("member %s: unknown status %q", m.Task, m.Status)
		}
		if len(m.Times) == 0 && len(m.Counts) == 0 && r.Window == nil {
			continue
		}
		if err := checkSteps(m.Times, m.Counts); err != nil {
			return fmt.Errorf("member %s: %w", m.Task, err)
		}
	}
	if !r.Status.known() {
		return fmt.Errorf("unknown status %q", r.Status)
	}
	return nil
}

// latest returns each cell's last result, in the order of the file.
func (c *contents) latest() []result {
	last := make(map[string]int)
	for i := range c.results {
		last[c.results[i].Cell.id()] = i
	}
	var list []result
	for i := range c.results {
		if last[c.results[i].Cell.id()] == i {
			list = append(list, c.results[i])
		}
	}
	return list
}

// disk is what the raw file needs of an *os.File.
type disk interface {
	io.WriteSeeker
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// raw is a raw file that is being written.
type raw struct {
	disk disk
	size int64
}

// openRaw opens or creates a raw file for this process alone and reads what is
// there.
func openRaw(name string) (*raw, *contents, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	c, err := func() (*contents, error) {
		if err := lock(f); err != nil {
			return nil, err
		}
		return readRaw(name, f)
	}()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	r := &raw{disk: f, size: c.size}
	if err := r.cut(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, c, nil
}

// append writes one line to the disk. After an error the file is as before.
func (r *raw) append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := r.disk.Write(append(text, '\n'))
	if err == nil {
		err = r.disk.Sync()
	}
	if err != nil {
		return fmt.Errorf("cannot write results: %w; make room and run the same command again: it goes on from here", errors.Join(err, r.cut()))
	}
	r.size += int64(n)
	return nil
}

// cut removes what is not whole.
func (r *raw) cut() error {
	if err := r.disk.Truncate(r.size); err != nil {
		return err
	}
	_, err := r.disk.Seek(r.size, io.SeekStart)
	return err
}

func (r *raw) close() error { return r.disk.Close() }
