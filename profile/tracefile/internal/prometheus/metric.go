package prometheus

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/profile/tracefile/internal/gather"
)

// metrics are the Prometheus metrics that are read: dcgm-exporter's names of
// DCGM fields, old and new, nvidia_gpu_exporter's and HAMi's. DCGM's utilisations stay per cent under
// the new names that end in RATIO, and HAMi's ratios run to 100; DCGM's
// profiling fields are ratios.
//
//nolint:gochecknoglobals // read-only table
var metrics = map[string]gather.Measure{
	"DCGM_FI_DEV_GPU_UTIL":                 gather.GPUBusy.In(gather.Percent),
	"DCGM_FI_DEV_GPU_UTIL_RATIO":           gather.GPUBusy.In(gather.Percent),
	"DCGM_FI_DEV_MEM_COPY_UTIL":            gather.MemBusy.In(gather.Percent),
	"DCGM_FI_DEV_MEM_COPY_UTIL_RATIO":      gather.MemBusy.In(gather.Percent),
	"DCGM_FI_DEV_FB_USED":                  gather.MemUsed.In(gather.Mebi),
	"DCGM_FI_DEV_POWER_USAGE":              gather.Power.In(gather.One),
	"DCGM_FI_DEV_BOARD_POWER_WATTS":        gather.Power.In(gather.One),
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": gather.Energy.In(gather.Milli),
	"DCGM_FI_DEV_SM_CLOCK":                 gather.SMClock.In(gather.One),
	"DCGM_FI_DEV_GPU_TEMP":                 gather.Temperature.In(gather.One),
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":        gather.GraphicsActive.In(gather.One),
	"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO":    gather.GraphicsActive.In(gather.One),
	"DCGM_FI_PROF_SM_ACTIVE":               gather.SMActive.In(gather.One),
	"DCGM_FI_PROF_SM_UTIL_RATIO":           gather.SMActive.In(gather.One),
	"DCGM_FI_PROF_SM_OCCUPANCY":            gather.SMOccupancy.In(gather.One),
	"DCGM_FI_PROF_SM_OCCUPANCY_RATIO":      gather.SMOccupancy.In(gather.One),
	"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE":      gather.TensorActive.In(gather.One),
	"DCGM_FI_PROF_TENSOR_UTIL_RATIO":       gather.TensorActive.In(gather.One),
	"DCGM_FI_PROF_DRAM_ACTIVE":             gather.DRAMActive.In(gather.One),
	"DCGM_FI_PROF_DRAM_UTIL_RATIO":         gather.DRAMActive.In(gather.One),
	"DCGM_FI_PROF_PIPE_FP32_ACTIVE":        gather.FP32Active.In(gather.One),
	"DCGM_FI_PROF_FP32_UTIL_RATIO":         gather.FP32Active.In(gather.One),
	"DCGM_FI_PROF_PCIE_TX_BYTES":           gather.PCIeSent.In(gather.One),
	"DCGM_FI_PROF_PCIE_RX_BYTES":           gather.PCIeReceived.In(gather.One),

	"nvidia_smi_utilization_gpu_ratio":      gather.GPUBusy.In(gather.One),
	"nvidia_smi_utilization_memory_ratio":   gather.MemBusy.In(gather.One),
	"nvidia_smi_memory_used_bytes":          gather.MemUsed.In(gather.One),
	"nvidia_smi_power_draw_watts":           gather.Power.In(gather.One),
	"nvidia_smi_clocks_current_sm_clock_hz": gather.SMClock.In(gather.Micro),
	"nvidia_smi_temperature_gpu":            gather.Temperature.In(gather.One),

	"hami_vgpu_memory_used_bytes":                       gather.MemUsed.In(gather.One),
	"hami_container_device_utilization_ratio":           gather.GPUBusy.In(gather.Percent),
	"hami_host_gpu_memory_used_bytes":                   gather.MemUsed.In(gather.One),
	"hami_host_gpu_utilization_ratio":                   gather.GPUBusy.In(gather.Percent),
	"hami_host_gpu_memory_controller_utilization_ratio": gather.MemBusy.In(gather.Percent),
	"vGPU_device_memory_usage_in_bytes":                 gather.MemUsed.In(gather.One),
	"Device_utilization_desc_of_container":              gather.GPUBusy.In(gather.Percent),
	"HostGPUMemoryUsage":                                gather.MemUsed.In(gather.One),
	"HostCoreUtilization":                               gather.GPUBusy.In(gather.Percent),
}

// MetricNames returns the names in order.
func MetricNames() []string { return slices.Sorted(maps.Keys(metrics)) }

// labelName returns our name of a label, or "" for one that does not tell
// sources apart. Prometheus puts exported_ before the exporter's own label when
// it has one of that name itself; the exporter's wins.
func labelName(name string) (our string, exported bool) {
	name, exported = strings.CutPrefix(name, "exported_")
	switch name {
	case "gpu", "device_index", "deviceidx":
		return gather.LabelGPU, exported
	case "UUID", "uuid", "gpu_uuid", "device_uuid", "deviceuuid":
		return gather.LabelUUID, exported
	case "modelName", "model_name", "device_type":
		return gather.LabelName, exported
	case "GPU_I_ID":
		return gather.LabelInstance, exported
	case "Hostname", "hostname", "node", "nodeid":
		return gather.LabelHost, exported
	case "namespace", "podnamespace", "pod_namespace":
		return gather.LabelNamespace, exported
	case "pod", "podname", "pod_name":
		return gather.LabelPod, exported
	case "container", "ctrname", "container_name":
		return gather.LabelContainer, exported
	case "hpc_job", "slurm_job_id", "slurmjobid":
		return gather.LabelJob, exported
	}
	return "", false
}

// labelSet gathers the labels of one series.
type labelSet struct {
	labels   map[string]string
	exported map[string]bool
}

func newLabelSet() *labelSet {
	return &labelSet{labels: map[string]string{}, exported: map[string]bool{}}
}

func (l *labelSet) add(name, value string) {
	our, exported := labelName(name)
	if our == "" || value == "" || l.exported[our] && !exported {
		return
	}
	l.labels[our] = value
	l.exported[our] = exported
}

// key tells sources apart: all labels in order, quoted.
func (l *labelSet) key() []byte {
	var key []byte
	for _, name := range []string{
		gather.LabelHost, gather.LabelUUID, gather.LabelGPU, gather.LabelInstance, gather.LabelNamespace, gather.LabelPod, gather.LabelContainer,
		gather.LabelJob,
	} {
		value := l.labels[name]
		if name == gather.LabelGPU && l.labels[gather.LabelUUID] != "" {
			value = "" // the UUID says it
		}
		key = strconv.AppendQuote(key, value)
	}
	return key
}
