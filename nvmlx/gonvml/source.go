//go:build linux && cgo

package gonvml

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
)

// source is an nvmlx.Source on the driver.
type source struct {
	lib   *library
	clock nvmlx.Clock
	info  nvmlx.SystemInfo

	calls  sync.RWMutex // held for reading during every call, for writing by Close
	closed bool

	events sync.WaitGroup  // goroutines of Events
	ending context.Context // done when Close begins
	end    context.CancelFunc

	mu      sync.Mutex
	devices map[nvmlx.DeviceID]*device
}

// device is one GPU or MIG instance. It does not change; what does is in state.
type device struct {
	id     nvmlx.DeviceID
	handle nvml.Device
	parent *device // of a MIG instance
	// gpuInstance numbers the instance in its parent; -1 is unknown.
	gpuInstance int
	// cut says that the GPU is in MIG mode.
	cut bool
	*state
}

// state outlives a fresh inventory.
type state struct {
	mu   sync.Mutex
	lost bool
	gpm  gpm
	seen uint64 // the driver's time of the last process utilisation
}

// gpm holds a device's two GPM samples, of which each read replaces the older.
type gpm struct {
	samples [2]nvml.GpmSample
	newest  int
	at      time.Time // of the newest; zero if there is none
	refused error     // for good
}

// free gives the samples back.
func (g *gpm) free(lib *library) {
	for i, sample := range g.samples {
		if sample != nil && lib.has("nvmlGpmSampleFree") {
			_ = sample.Free()
		}
		g.samples[i] = nil
	}
}

// gpu returns the whole GPU that d is or is part of.
func (d *device) gpu() *device {
	if d.parent != nil {
		return d.parent
	}
	return d
}

var (
	_ nvmlx.Source        = (*source)(nil)
	_ nvmlx.ProcessReader = (*source)(nil)
	_ nvmlx.MIGReader     = (*source)(nil)
	_ nvmlx.EventReader   = (*source)(nil)
)

// Open loads the driver's library and returns a source on all GPUs of the host.
// It is also an nvmlx.ProcessReader, an nvmlx.MIGReader and an nvmlx.EventReader.
//
// Errors wrap nvmlx.ErrNoDriver where no driver answers, nvmlx.ErrDriverMismatch
// where library and kernel module differ, nvmlx.ErrPermission, or
// nvmlx.ErrUnavailable in builds that cannot reach a driver. A host without GPUs
// is no error.
func Open(o *Options) (nvmlx.Source, error) {
	set := o.orDefault()
	if err := shared.acquire(set.Library); err != nil {
		return nil, err
	}
	s := &source{lib: &shared, clock: set.Clock, devices: map[nvmlx.DeviceID]*device{}}
	s.ending, s.end = context.WithCancel(context.Background())
	s.info = s.versions()
	if _, err := s.Devices(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Info returns the versions of driver, library and CUDA.
func (s *source) Info(ctx context.Context) (nvmlx.SystemInfo, error) { return s.info, ctx.Err() }

func (s *source) versions() nvmlx.SystemInfo {
	var info nvmlx.SystemInfo
	api, has := s.lib.api, s.lib.has
	if has("nvmlSystemGetDriverVersion") {
		if text, code := api.SystemGetDriverVersion(); code == nvml.SUCCESS {
			info.Driver = text
		}
	}
	if has("nvmlSystemGetNVMLVersion") {
		if text, code := api.SystemGetNVMLVersion(); code == nvml.SUCCESS {
			info.NVML = text
		}
	}
	version, code := 0, nvml.ERROR_FUNCTION_NOT_FOUND
	switch {
	case has("nvmlSystemGetCudaDriverVersion_v2"):
		version, code = api.SystemGetCudaDriverVersion_v2()
	case has("nvmlSystemGetCudaDriverVersion"):
		version, code = api.SystemGetCudaDriverVersion()
	}
	if code == nvml.SUCCESS {
		info.CUDA = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	return info
}

// Close ends Events and releases the driver after the calls in progress. Closing
// twice is allowed.
func (s *source) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.events.Wait()
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, d := range s.devices {
		d.gpm.free(s.lib)
	}
	return s.lib.release()
}

// enter begins a call on one device; leave ends it.
func (s *source) enter(ctx context.Context, id nvmlx.DeviceID) (d *device, leave func(), err error) {
	leave, err = s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	d = s.devices[id]
	s.mu.Unlock()
	if d == nil {
		leave()
		return nil, nil, fmt.Errorf("no GPU or MIG instance %q here: %w", id, nvmlx.ErrNoDevice)
	}
	return d, leave, nil
}

// begin begins a call. A call after Close would end the process.
func (s *source) begin(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.calls.RLock()
	if s.closed {
		s.calls.RUnlock()
		return nil, fmt.Errorf("the source is closed: %w", nvmlx.ErrUnavailable)
	}
	return s.calls.RUnlock, nil
}

// adopt makes a device known, with the state that it had before if it was.
func (s *source) adopt(d device) *device {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.devices[d.id]; old != nil {
		d.state = old.state
	} else {
		d.state = &state{}
	}
	s.devices[d.id] = &d
	return &d
}
