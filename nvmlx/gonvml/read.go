//go:build linux && cgo

package gonvml

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// reading is one Read on its way.
type reading struct {
	source *source
	device *device
	sample nvmlx.Sample
	lost   bool
}

// Read returns the counters in what; see the package comment for what each
// means here.
func (s *source) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	d, leave, err := s.enter(ctx, id)
	if err != nil {
		return nvmlx.Sample{}, fmt.Errorf("gonvml: read %s: %w", id, err)
	}
	defer leave()
	d.mu.Lock() // NVML is safe for concurrent use; the GPM buffers are not
	defer d.mu.Unlock()
	if d.lost {
		return nvmlx.Sample{}, fmt.Errorf("gonvml: read %s: %w", id, nvmlx.ErrDeviceLost)
	}
	r := reading{source: s, device: d}
	r.sample.Device = id
	r.basic(what)
	if what&nvmlx.FieldsGPM != 0 {
		r.gpm(what)
	}
	r.sample.Missing.Set(what&(nvmlx.FieldCPUBusy|nvmlx.FieldStepTime), nvmlx.ErrNotSupported)
	if r.lost {
		d.lost = true
		return nvmlx.Sample{}, fmt.Errorf("gonvml: read %s: %w", id, nvmlx.ErrDeviceLost)
	}
	r.sample.Keep(what)
	r.sample.At = s.clock.Now()
	return r.sample, nil
}

// got notes how a call for counters f ended and reports whether its value
// counts.
func (r *reading) got(f nvmlx.Fields, code nvml.Return) bool {
	if code == nvml.SUCCESS {
		return true
	}
	err := sentinel(code)
	r.lost = r.lost || errors.Is(err, nvmlx.ErrDeviceLost)
	r.sample.Missing.Set(f, err)
	return false
}

// can reports whether counters f, which are among what, can be asked for with
// a C function; if they are wanted and cannot, it notes why.
func (r *reading) can(what, f nvmlx.Fields, function string) bool {
	if what&f == 0 || r.lost {
		return false
	}
	if !r.source.lib.has(function) {
		r.sample.Missing.Set(f, nvmlx.ErrNotSupported)
		return false
	}
	return true
}

// basic reads the counters of nvmlx.FieldsBasic.
func (r *reading) basic(what nvmlx.Fields) {
	if r.device.cut || r.device.parent != nil {
		const none = nvmlx.FieldGPUBusy | nvmlx.FieldMemBusy
		r.sample.Missing.Set(none, nvmlx.ErrNotSupported)
		what &^= none
	}
	if r.device.parent != nil {
		const none = nvmlx.FieldPower | nvmlx.FieldEnergy
		r.sample.Missing.Set(none, nvmlx.ErrNotSupported)
		what &^= none
	}
	r.utilization(what)
	r.memUsed(what)
	r.power(what)
	r.clocks(what)
	r.state(what)
}

func (r *reading) utilization(what nvmlx.Fields) {
	const both = nvmlx.FieldGPUBusy | nvmlx.FieldMemBusy
	if !r.can(what, both, "nvmlDeviceGetUtilizationRates") {
		return
	}
	if u, code := r.device.handle.GetUtilizationRates(); r.got(both, code) {
		r.sample.GPUBusy, r.sample.MemBusy = percent(float64(u.Gpu)), percent(float64(u.Memory))
	}
}

// memUsed prefers the call that counts the driver's own memory apart.
func (r *reading) memUsed(what nvmlx.Fields) {
	if what&nvmlx.FieldMemUsed == 0 || r.lost {
		return
	}
	if r.source.lib.has("nvmlDeviceGetMemoryInfo_v2") {
		m, code := r.device.handle.GetMemoryInfo_v2()
		if r.got(nvmlx.FieldMemUsed, code) {
			r.sample.MemUsed = bytesOf(m.Used)
			return
		}
		if !errors.Is(sentinel(code), nvmlx.ErrNotSupported) {
			return
		}
	}
	if !r.can(what, nvmlx.FieldMemUsed, "nvmlDeviceGetMemoryInfo") {
		return
	}
	if m, code := r.device.handle.GetMemoryInfo(); r.got(nvmlx.FieldMemUsed, code) {
		r.sample.Missing.Set(nvmlx.FieldMemUsed, nil)
		r.sample.MemUsed = bytesOf(m.Used)
	}
}

func (r *reading) power(what nvmlx.Fields) {
	if r.can(what, nvmlx.FieldPower, "nvmlDeviceGetPowerUsage") {
		if milliwatts, code := r.device.handle.GetPowerUsage(); r.got(nvmlx.FieldPower, code) {
			r.sample.PowerWatts = scaled(milliwatts, 1e3)
		}
	}
	if r.can(what, nvmlx.FieldEnergy, "nvmlDeviceGetTotalEnergyConsumption") {
		millijoules, code := r.device.handle.GetTotalEnergyConsumption()
		if r.got(nvmlx.FieldEnergy, code) && millijoules != math.MaxUint64 {
			r.sample.EnergyJoules = profile.Some(float64(millijoules) / 1e3)
		}
	}
}

func (r *reading) clocks(what nvmlx.Fields) {
	gpu := r.device.gpu().handle
	if r.can(what, nvmlx.FieldSMClock, "nvmlDeviceGetClockInfo") {
		if mhz, code := gpu.GetClockInfo(nvml.CLOCK_SM); r.got(nvmlx.FieldSMClock, code) {
			r.sample.SMClockMHz = scaled(mhz, 1)
		}
	}
	if r.can(what, nvmlx.FieldMemClock, "nvmlDeviceGetClockInfo") {
		if mhz, code := gpu.GetClockInfo(nvml.CLOCK_MEM); r.got(nvmlx.FieldMemClock, code) {
			r.sample.MemClockMHz = scaled(mhz, 1)
		}
	}
}

func (r *reading) state(what nvmlx.Fields) {
	gpu := r.device.gpu().handle
	if r.can(what, nvmlx.FieldTemp, "nvmlDeviceGetTemperature") {
		if celsius, code := gpu.GetTemperature(nvml.TEMPERATURE_GPU); r.got(nvmlx.FieldTemp, code) {
			r.sample.TempCelsius = scaled(celsius, 1)
		}
	}
	ask, name := gpu.GetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons"
	if !r.source.lib.has("nvmlDeviceGetCurrentClocksEventReasons") { // drivers before 535
		ask, name = gpu.GetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons"
	}
	if r.can(what, nvmlx.FieldThrottle, name) {
		if bits, code := ask(); r.got(nvmlx.FieldThrottle, code) && bits != math.MaxUint64 {
			r.sample.Throttle = profile.Some(nvmlx.Throttle(bits))
		}
	}
}
