//go:build linux && cgo

package gonvml

import (
	"errors"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// gpmPause is the least time between two samples for which NVML promises values.
const gpmPause = 100 * time.Millisecond

// gpmMetrics are the metrics that are read.
//
//nolint:gochecknoglobals // read-only table
var gpmMetrics = [...]nvml.GpmMetricId{
	nvml.GPM_METRIC_SM_UTIL, nvml.GPM_METRIC_SM_OCCUPANCY, nvml.GPM_METRIC_ANY_TENSOR_UTIL,
	nvml.GPM_METRIC_DRAM_BW_UTIL, nvml.GPM_METRIC_FP32_UTIL,
	nvml.GPM_METRIC_PCIE_TX_PER_SEC, nvml.GPM_METRIC_PCIE_RX_PER_SEC,
}

// gpm reads the counters of nvmlx.FieldsGPM: means since the last sample.
func (r *reading) gpm(what nvmlx.Fields) {
	const all = nvmlx.FieldsGPM
	for _, function := range []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmSampleGet", "nvmlGpmMetricsGet"} {
		if !r.can(what, all, function) {
			return
		}
	}
	g := &r.device.gpm
	err := g.refused
	if err == nil && g.samples[0] == nil {
		err = r.gpmBegin(g)
	}
	if err != nil {
		r.sample.Missing.Set(all, err)
		r.lost = r.lost || errors.Is(err, nvmlx.ErrDeviceLost)
		if errors.Is(err, nvmlx.ErrNotSupported) {
			g.refused = err
		}
		return
	}
	now := r.source.clock.Now()
	first := g.at.IsZero()
	if !first && now.Sub(g.at) < gpmPause {
		return // too soon: missing, for no lasting reason
	}
	next := 1 - g.newest
	if !r.got(all, r.gpmSample(g.samples[next])) {
		return
	}
	window := now.Sub(g.at)
	g.newest, g.at = next, now
	if first {
		return
	}
	// The samples come from the same library, as the binding demands.
	metrics := nvml.GpmMetricsGetType{NumMetrics: uint32(len(gpmMetrics)), Sample1: g.samples[1-next], Sample2: g.samples[next]}
	for i, id := range gpmMetrics {
		metrics.Metrics[i].MetricId = uint32(id)
	}
	if r.got(all, r.source.lib.api.GpmMetricsGet(&metrics)) {
		r.sample.Window = window
		r.gpmValues(metrics.Metrics[:len(gpmMetrics)])
	}
}

// gpmBegin allocates the samples of a device that has GPM.
func (r *reading) gpmBegin(g *gpm) error {
	if r.device.parent != nil && (!r.source.lib.has("nvmlGpmMigSampleGet") || r.device.gpuInstance < 0) {
		return nvmlx.ErrNotSupported
	}
	support, code := r.device.gpu().handle.GpmQueryDeviceSupport()
	if err := sentinel(code); err != nil {
		return err
	}
	if support.IsSupportedDevice == 0 {
		return nvmlx.ErrNotSupported
	}
	for i := range g.samples {
		sample, code := r.source.lib.api.GpmSampleAlloc()
		if code != nvml.SUCCESS {
			g.free(r.source.lib)
			return nvmlx.ErrTransient
		}
		g.samples[i] = sample
	}
	return nil
}

func (r *reading) gpmSample(sample nvml.GpmSample) nvml.Return {
	if r.device.parent != nil {
		return r.device.parent.handle.GpmMigSampleGet(r.device.gpuInstance, sample)
	}
	return r.device.handle.GpmSampleGet(sample)
}

// gpmValues takes over the metrics, each of which has its own return code.
func (r *reading) gpmValues(m []nvml.GpmMetric) {
	ratio := func(f nvmlx.Fields, m nvml.GpmMetric) profile.Opt[float64] {
		if !r.got(f, nvml.Return(m.NvmlReturn)) {
			return profile.Opt[float64]{}
		}
		return percent(m.Value)
	}
	s := &r.sample
	s.SMActive = ratio(nvmlx.FieldSMActive, m[0])
	s.SMOccupancy = ratio(nvmlx.FieldSMOccupancy, m[1])
	s.TensorActive = ratio(nvmlx.FieldTensorActive, m[2])
	s.DRAMActive = ratio(nvmlx.FieldDRAMActive, m[3])
	s.FP32Active = ratio(nvmlx.FieldFP32Active, m[4])
	const mib = 1 << 20
	sum := (m[5].Value + m[6].Value) * mib
	if r.got(nvmlx.FieldPCIe, nvml.Return(m[5].NvmlReturn)) && r.got(nvmlx.FieldPCIe, nvml.Return(m[6].NvmlReturn)) &&
		sum >= 0 && !math.IsInf(sum, 1) {
		s.PCIeBytesPerSec = profile.Some(sum)
	}
}
