package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/guest"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// engine runs the tasks: a runner of the sweep's own, or the station of this machine.
type engine interface {
	Submit(tasks ...runner.Task) ([]string, error)
	Retry(names ...string) error
	Describe(p *profile.Profile, memory profile.Bytes, names ...string) error
	Records() []runner.Record
	GPUs() []runner.GPUState
	Run(ctx context.Context) error
	Drain()
	Kill(names ...string) error
	Spare(names ...string) error
	Close() error
}

var (
	_ engine = (*runner.Runner)(nil)
	_ engine = (*guest.Queue)(nil)
)

// handed is which station has the tasks of a sweep.
type handed struct {
	Socket string `json:"socket"`
	guest.Tasks
}

// findStation finds the station that is to run the tasks: that which has them already,
// else the one that runs here, unless the options say what it cannot heed. note is what
// people should know.
func (o *options) findStation(ctx context.Context) (client *api.Client, h *handed, note string, err error) {
	text, err := regular.Read(filepath.Join(o.logs, stationName), regular.Large)
	if err == nil {
		h = new(handed)
		if err := json.Unmarshal(text, h); err != nil {
			return nil, nil, "", fmt.Errorf("%s: %w", filepath.Join(o.logs, stationName), err)
		}
		return api.NewClient(h.Socket), h, "", nil
	}
	if !errors.Is(err, fs.ErrNotExist) || o.station == "no" || o.fakeGPUs != "" || exists(filepath.Join(o.logs, queueName)) {
		return nil, nil, "", nil
	}
	client, ok := guest.Find(ctx)
	if !ok {
		if o.station == "yes" {
			return nil, nil, "", fmt.Errorf("-station yes: no station runs at %s: start one with colloc station serve", api.FindSocket())
		}
		return nil, nil, "", nil
	}
	if flag := o.ownOnly(); flag != "" {
		client.Close()
		if o.station == "yes" {
			return nil, nil, "", fmt.Errorf("-station yes: the station decides itself what %s asks for: leave that out", flag)
		}
		return nil, nil, fmt.Sprintf("a station runs at %s, but cannot heed %s: the tasks run beside it, not in its queue", client.Socket(), flag), nil
	}
	return client, &handed{Socket: client.Socket()}, "", nil
}

// ownOnly is a flag that only a runner of the sweep's own can heed, or "".
func (o *options) ownOnly() string {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"-gpus", len(o.gpus) > 0},
		{"-share", len(o.mechanisms) > 0},
		{"-per-gpu", o.perGPU != colloc.DefaultMaxSet},
		{"-mem-floor", o.floor > 0},
		{"-known", o.known != ""},
		{"-halt", o.halt != halt{}},
		{"-log-limit", o.logLimit > 0},
		{"-gone", len(o.gone) > 0},
	} {
		if f.given {
			return f.name
		}
	}
	return ""
}

// atStation lets the station have the tasks.
func (s *sweep) atStation(ctx context.Context, client *api.Client, h *handed) error {
	keep := func(tasks guest.Tasks) error {
		name := filepath.Join(s.o.logs, stationName)
		if len(tasks.Numbers) == 0 && tasks.Pending == nil {
			if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) { // the station has none
				return err
			}
			return nil
		}
		text, err := json.MarshalIndent(handed{h.Socket, tasks}, "", "  ")
		if err != nil {
			return err
		}
		return replace.Text(name, append(text, '\n'))
	}
	q, err := guest.Open(ctx, client, h.Tasks, guest.Hooks{Keep: keep, Event: s.event, Note: s.show.Note})
	if err != nil {
		client.Close()
		return err
	}
	s.runner = q
	return nil
}

// stationHost is the host as the station sees it: whose GPUs they are is its business.
func stationHost(ctx context.Context, client *api.Client) (*gpus.Host, error) {
	state, err := client.State(ctx)
	if err != nil {
		return nil, err
	}
	h := new(gpus.Host)
	for i := range state.GPUs {
		g := &state.GPUs[i]
		h.Devices = append(h.Devices, nvmlx.DeviceInfo{ID: g.ID, Index: g.Index, Name: g.Name, Memory: profile.Some(g.Memory)})
	}
	return h, nil
}
