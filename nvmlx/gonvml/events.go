//go:build linux && cgo

package gonvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

const (
	// eventWait is how long one call waits, in milliseconds: so long, at most,
	// does the end of ctx or a Close take to arrive.
	eventWait = 200
	// eventQueue is how many events wait for a reader; more are dropped.
	eventQueue = 64
	// eventTypes are XIDs and uncorrectable memory errors.
	eventTypes = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError
)

// Events reports XIDs and uncorrectable memory errors of GPUs. MIG instances
// have none of their own: name their GPU. It returns ErrNotSupported if none of
// the devices has events. The channel is also closed when the driver can tell no
// more, as after the loss of a device; call Events again for the others.
func (s *source) Events(ctx context.Context, ids ...nvmlx.DeviceID) (<-chan nvmlx.Event, error) {
	leave, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("gonvml: events: %w", err)
	}
	defer leave()
	for _, function := range []string{"nvmlEventSetCreate", "nvmlEventSetFree", "nvmlDeviceRegisterEvents", "nvmlEventSetWait"} {
		if !s.lib.has(function) {
			return nil, fmt.Errorf("gonvml: events: the driver has no %s: %w", function, nvmlx.ErrNotSupported)
		}
	}
	devices, err := s.gpus(ids)
	if err != nil {
		return nil, fmt.Errorf("gonvml: events: %w", err)
	}
	set, code := s.lib.api.EventSetCreate()
	if err := failure("event set", code); err != nil {
		return nil, fmt.Errorf("gonvml: events: %w", err)
	}
	names := map[string]nvmlx.DeviceID{}
	for _, d := range devices {
		if d.handle.RegisterEvents(eventTypes, set) == nvml.SUCCESS || d.handle.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			names[string(d.id)] = d.id
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 || s.ending.Err() != nil {
		_ = set.Free()
		return nil, fmt.Errorf("gonvml: events: none of %d devices has events: %w", len(devices), nvmlx.ErrNotSupported)
	}
	out := make(chan nvmlx.Event, eventQueue)
	s.events.Go(func() {
		defer close(out)
		s.wait(ctx, set, names, out)
	})
	return out, nil
}

// gpus returns the GPUs of the given IDs, or all.
func (s *source) gpus(ids []nvmlx.DeviceID) ([]*device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*device
	for _, id := range ids {
		d := s.devices[id]
		if d == nil {
			return nil, fmt.Errorf("no GPU %q here: %w", id, nvmlx.ErrNoDevice)
		}
		if d.parent == nil {
			list = append(list, d)
		}
	}
	if len(ids) > 0 {
		return list, nil
	}
	for _, d := range s.devices {
		if d.parent == nil {
			list = append(list, d)
		}
	}
	return list, nil
}

// wait hands on events until ctx or the source ends, or the driver fails.
func (s *source) wait(ctx context.Context, set nvml.EventSet, names map[string]nvmlx.DeviceID, out chan<- nvmlx.Event) {
	defer func() { _ = set.Free() }() // Close waits for this goroutine before it shuts down
	for ctx.Err() == nil && s.ending.Err() == nil {
		data, code := set.Wait(eventWait)
		if code == nvml.ERROR_TIMEOUT {
			continue
		}
		if code != nvml.SUCCESS {
			return
		}
		event := nvmlx.Event{At: s.clock.Now(), Kind: nvmlx.EventMemory}
		if id, code := data.Device.GetUUID(); code == nvml.SUCCESS {
			event.Device = names[id]
		}
		if data.EventType == nvml.EventTypeXidCriticalError {
			event.Kind, event.XID = nvmlx.EventXID, profile.Some(int(data.EventData))
		}
		select {
		case out <- event:
		default: // nobody takes them
		}
	}
}
