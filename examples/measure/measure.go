package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// measureAll measures what the raw file does not have yet.
func measureAll(ctx context.Context, o *options, log io.Writer) (err error) {
	r, err := makeRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return measureOn(ctx, o, r, log)
}

func makeRig(ctx context.Context, o *options) (*rig, error) {
	if o.fake {
		return fakeRig()
	}
	return openRig(ctx, rigOptions{gpu: o.gpu, python: o.python, unchecked: o.unchecked})
}

// measureOn measures on a given rig.
func measureOn(ctx context.Context, o *options, r *rig, log io.Writer) (err error) {
	s := newSession(o, r, log)
	if err := s.alone(ctx); err != nil {
		return err
	}
	h, err := s.header(ctx, o)
	if err != nil {
		return err
	}
	file, c, err := openRaw(o.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	s.raw = file
	if c.header == nil {
		if err := file.append(h); err != nil {
			return err
		}
	} else if err := sameHeader(c.header, h); err != nil {
		return fmt.Errorf("%s: %w", o.out, err)
	}
	s.resume(c, o.retry)
	var cells []cell
	for _, stage := range makePlan(o.planOptions) {
		cells = append(cells, stage.cells...)
	}
	return s.run(ctx, cells)
}

func newSession(o *options, r *rig, log io.Writer) *session {
	const quit = 10 * time.Second
	return &session{
		runner: runner{
			rig: r, settings: o.settings(),
			patience: patience{start: o.start, run: o.grace, quit: quit},
			pool:     pool{room: o.keep, patience: quit},
		},
		budget: o.budget, log: log, unchecked: o.unchecked, blind: r.source == nil,
	}
}

// header asks a workload for the versions, which also shows that it can run.
func (s *session) header(ctx context.Context, o *options) (*header, error) {
	const hint = "-python names the Python that has PyTorch for this GPU"
	w, err := s.start(ctx, slot{task: o.tasks[0].name})
	if err != nil {
		return nil, fmt.Errorf("no workload can run here: %w; %s", err, hint)
	}
	hello, err := w.await(ctx, eventHello, s.patience.start)
	if err != nil {
		w.kill()
		return nil, fmt.Errorf("no workload can run here: %w; %s", err, hint)
	}
	w.quit(s.patience.quit)
	h := &header{
		Format: rawFormat, Version: rawVersion, Simulated: s.rig.sim != nil || hello.Device == "cpu",
		Machine: machine{Label: o.machine, OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: processor(), Cores: runtime.NumCPU()},
		GPU:     s.rig.device, System: s.rig.system, Framework: hello.framework,
		Settings: s.settings, Samples: s.rig.via, Unchecked: s.blind,
	}
	if h.GPU.Name == "" {
		h.GPU.Name, h.GPU.Memory = hello.Device, hello.Total
	}
	return h, nil
}

// processor returns the model of the host's CPU, where Linux tells.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// resume takes over what a file has.
func (s *session) resume(c *contents, retry bool) {
	s.done, s.specs = make(map[string]bool), make(map[string]bool)
	for name := range c.specs {
		s.specs[name] = true
	}
	for _, r := range c.latest() {
		s.done[r.Cell.id()] = !retry || !r.Status.trouble()
		s.order = max(s.order, r.Order+1)
	}
}

// sameHeader refuses to mix machines, software or settings in one file.
func sameHeader(old, now *header) error {
	a, err := fields(old)
	if err != nil {
		return err
	}
	b, err := fields(now)
	if err != nil {
		return err
	}
	var different []string
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if string(a[key]) != string(b[key]) {
			different = append(different, fmt.Sprintf("%s was %s and is %s", key, a[key], b[key]))
		}
	}
	if len(different) == 0 && len(a) == len(b) {
		return nil
	}
	return fmt.Errorf("was measured under other conditions; choose another -out: %s", strings.Join(different, "; "))
}

// fields returns the parts of a header as JSON.
func fields(h *header) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	return m, json.Unmarshal(text, &m)
}
