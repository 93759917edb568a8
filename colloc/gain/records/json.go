package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// readJSON reads what sacct --json prints, an object with a list of jobs, or what a station
// does, a list of jobs; one job at a time.
func readJSON(in *bufio.Reader) (*Log, error) {
	dec := json.NewDecoder(in)
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	if tok == json.Delim('[') {
		b := newBuilder("station")
		return b.list(dec, b.station)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("JSON: %w", err)
		}
		if key != "jobs" {
			if err := dec.Decode(new(json.RawMessage)); err != nil {
				return nil, fmt.Errorf("JSON: %w", err)
			}
			continue
		}
		if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
			return nil, errors.New(`JSON: "jobs" is no list: want what sacct --json prints`)
		}
		b := newBuilder("sacct json")
		return b.list(dec, b.account)
	}
	return nil, errors.New(`JSON without "jobs": want what sacct --json or colloc station list -json prints`)
}

// list reads to the end of a list. A list that is cut off is read as far as it goes.
func (b *builder) list(dec *json.Decoder, read func(raw []byte) (*row, error)) (*Log, error) {
	b.unit = "entry"
	n := 1
	for ; dec.More(); n++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			b.damaged(n, "%w: the rest of the list is not read", err)
			return b.finish(), nil
		}
		r, err := read(raw)
		if err != nil {
			b.damaged(n, "%w", err)
			continue
		}
		b.add(r, n)
	}
	if _, err := dec.Token(); err != nil {
		b.damaged(n, "the list is cut off before it")
	}
	return b.finish(), nil
}

// account reads a record of sacct's.
func (b *builder) account(raw []byte) (*row, error) {
	jobs, err := site.ParseAccounting(bytes.Join([][]byte{[]byte(`{"jobs":[`), raw, []byte(`]}`)}, nil))
	if err != nil || len(jobs) != 1 {
		return nil, err
	}
	j := &jobs[0]
	r := &row{Job: Job{
		ID: strconv.FormatInt(int64(j.ID), 10), User: j.User, Name: j.Name, Partition: j.Partition, State: string(j.State),
		Submitted: j.Submitted, Started: j.Started, Ended: j.Ended, Nodes: j.Nodes,
		Seen: profile.Solo{GPUBusy: j.GPUBusy, Memory: j.GPUMemory},
	}, eligible: j.Eligible, elapsed: j.Elapsed}
	if i, ok := j.Index.Get(); ok {
		r.Raw, r.ID = r.ID, fmt.Sprintf("%d_%d", j.Array, i)
	}
	r.GPUs, r.Product, r.shares = site.CountGPUs(j.Asked)
	r.GPUs = min(r.GPUs, maxGPUs)
	return r, nil
}

// station reads a job of a station's.
func (b *builder) station(raw []byte) (*row, error) {
	var j struct {
		ID        string                     `json:"id"`
		Name      string                     `json:"name"`
		Kind      string                     `json:"kind"`
		User      string                     `json:"user"`
		State     string                     `json:"state"`
		Submitted time.Time                  `json:"submitted"`
		Started   time.Time                  `json:"started"`
		Ended     time.Time                  `json:"ended"`
		Width     int                        `json:"width"`
		GPUs      []int                      `json:"gpus"`
		Product   string                     `json:"product"`
		Peak      profile.Opt[profile.Bytes] `json:"peak"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.ID == "" {
		return nil, errors.New("a job without an id")
	}
	if j.Width < 0 || j.Width > maxGPUs {
		return nil, fmt.Errorf("job %s: %d GPUs", clip(j.ID), j.Width)
	}
	return &row{Job: Job{
		ID: j.ID, User: j.User, Name: cmpOr(j.Name, j.Kind), State: j.State, GPUs: j.Width, Product: j.Product,
		Submitted: j.Submitted, Started: j.Started, Ended: j.Ended, Seen: profile.Solo{Memory: j.Peak},
	}, on: j.GPUs}, nil
}
