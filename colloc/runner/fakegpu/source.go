package fakegpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The variables that lead a process to the fake GPUs.
const (
	envFile    = "COLLOC_FAKE_GPUS"
	envUses    = "COLLOC_FAKE_USES"
	envVisible = "CUDA_VISIBLE_DEVICES"
)

// Source is a host with fake GPUs. It is safe for concurrent use.
type Source struct {
	file, uses string

	mu   sync.Mutex
	read os.FileInfo // the file when it was read
	gpus []gpu
}

var _ interface {
	nvmlx.Source
	nvmlx.ProcessReader
} = (*Source)(nil)

// Open reads the GPUs from file. Claims of memory are kept in the folder uses,
// which is made with mode 0700 if it is not there.
func Open(file, uses string) (*Source, error) {
	s := &Source{file: file, uses: uses}
	for _, path := range []*string{&s.file, &s.uses} {
		full, err := filepath.Abs(*path)
		if err != nil {
			return nil, fmt.Errorf("fakegpu: %w", err)
		}
		*path = full
	}
	if _, err := s.list(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.uses, 0o700); err != nil {
		return nil, fmt.Errorf("fakegpu: %w", err)
	}
	return s, nil
}

// Env returns the environment that lets a process find the GPUs: KEY=value.
func (s *Source) Env() []string { return []string{envFile + "=" + s.file, envUses + "=" + s.uses} }

// Share lets processes of all users claim memory. They can take one another's claims away:
// it is for trying things out.
func (s *Source) Share() error {
	if err := os.Chmod(s.uses, 0o777); err != nil {
		return fmt.Errorf("fakegpu: %w", err)
	}
	return nil
}

// list returns the GPUs, read again if the file changed.
func (s *Source) list() ([]gpu, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.file)
	switch {
	case err != nil && s.read == nil: // it was never there
		return nil, fmt.Errorf("fakegpu: %w", err)
	case err != nil: // somebody is replacing it
		return nil, fmt.Errorf("fakegpu: %w: %w", nvmlx.ErrTransient, err)
	}
	if s.read != nil && info.ModTime().Equal(s.read.ModTime()) && info.Size() == s.read.Size() && os.SameFile(info, s.read) {
		return s.gpus, nil
	}
	gpus, err := readFile(s.file)
	if err != nil {
		return nil, err
	}
	s.read, s.gpus = info, gpus
	return gpus, nil
}

// find returns one GPU.
func (s *Source) find(id nvmlx.DeviceID) (gpu, error) {
	gpus, err := s.list()
	if err != nil {
		return gpu{}, err
	}
	for _, g := range gpus {
		if g.id == id {
			if g.lost {
				return gpu{}, fmt.Errorf("fakegpu: %w: %s", nvmlx.ErrDeviceLost, id)
			}
			return g, nil
		}
	}
	return gpu{}, fmt.Errorf("fakegpu: %w: %s", nvmlx.ErrNoDevice, id)
}

// Info implements [nvmlx.Source].
func (s *Source) Info(context.Context) (nvmlx.SystemInfo, error) {
	return nvmlx.SystemInfo{Driver: "fake"}, nil
}

// Devices implements [nvmlx.Source]. Lost ones are listed.
func (s *Source) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	gpus, err := s.list()
	if err != nil {
		return nil, err
	}
	devices := make([]nvmlx.DeviceInfo, len(gpus))
	for i, g := range gpus {
		devices[i] = nvmlx.DeviceInfo{ID: g.id, Index: i, Name: g.name, Memory: profile.Some(g.memory)}
	}
	return devices, nil
}

// Read implements [nvmlx.Source]: it knows the memory in use.
func (s *Source) Read(_ context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	sample := nvmlx.Sample{Device: id}
	g, err := s.find(id)
	if err != nil {
		return sample, err
	}
	sample.Missing.Set(what&^nvmlx.FieldMemUsed, nvmlx.ErrNotSupported)
	if !what.Has(nvmlx.FieldMemUsed) {
		return sample, nil
	}
	claims, err := claims(s.uses, id)
	if err != nil {
		return sample, fmt.Errorf("fakegpu: %w: %w", nvmlx.ErrTransient, err)
	}
	used := g.foreign
	for _, c := range claims {
		used += c.size
	}
	sample.MemUsed = profile.Some(used)
	return sample, nil
}

// Processes implements [nvmlx.ProcessReader]: those that claimed memory and
// live.
func (s *Source) Processes(_ context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	g, err := s.find(id)
	if err != nil {
		return nil, err
	}
	claims, err := claims(s.uses, id)
	if err != nil {
		return nil, fmt.Errorf("fakegpu: %w: %w", nvmlx.ErrTransient, err)
	}
	var processes []nvmlx.Process
	if g.foreign > 0 {
		processes = append(processes, nvmlx.Process{Name: "foreign", MemUsed: profile.Some(g.foreign)})
	}
	for _, c := range claims {
		processes = append(processes, nvmlx.Process{PID: c.pid, MemUsed: profile.Some(c.size)})
	}
	return processes, nil
}

// Close does nothing: a Source holds nothing open.
func (s *Source) Close() error { return nil }

// ErrOutOfMemory means that the fake GPU has not enough memory left. Its text is
// CUDA's, so that a process that prints it and fails is recognised.
var ErrOutOfMemory = errors.New("CUDA out of memory")

// Allocate claims memory for this process on each GPU that CUDA_VISIBLE_DEVICES
// names, and returns how to give it back. It is [ErrOutOfMemory] if one of them has
// not enough, and another error if the environment names no fake GPU: then it claims none.
func Allocate(size profile.Bytes) (free func() error, err error) {
	file, uses, visible := os.Getenv(envFile), os.Getenv(envUses), os.Getenv(envVisible)
	if file == "" || uses == "" || visible == "" {
		return nil, fmt.Errorf("fakegpu: the environment has no %s, %s or %s: start the process with Source.Env", envFile, envUses, envVisible)
	}
	if size < 0 {
		return nil, fmt.Errorf("fakegpu: allocate %d bytes, want 0 or more", int64(size))
	}
	source := &Source{file: file, uses: uses}
	var frees []func() error
	free = func() (err error) {
		for _, f := range frees {
			err = errors.Join(err, f())
		}
		return err
	}
	for id := range strings.SplitSeq(visible, ",") {
		g, err := source.find(nvmlx.DeviceID(id))
		if err != nil {
			return nil, errors.Join(err, free())
		}
		one, err := allocate(uses, g, size)
		if err != nil {
			return nil, errors.Join(err, free())
		}
		frees = append(frees, one)
	}
	return free, nil
}
