package tracefile

import (
	"slices"
	"strings"
)

// metrics are the Prometheus metrics that are read: dcgm-exporter's names of
// DCGM fields, old and new, nvidia_gpu_exporter's and HAMi's. DCGM's utilisations stay per cent under
// the new names that end in RATIO, and HAMi's ratios run to 100; DCGM's
// profiling fields are ratios.
//
//nolint:gochecknoglobals // read-only table
var metrics = map[string]measure{
	"DCGM_FI_DEV_GPU_UTIL":                 {gpuBusy, percent},
	"DCGM_FI_DEV_GPU_UTIL_RATIO":           {gpuBusy, percent},
	"DCGM_FI_DEV_MEM_COPY_UTIL":            {memBusy, percent},
	"DCGM_FI_DEV_MEM_COPY_UTIL_RATIO":      {memBusy, percent},
	"DCGM_FI_DEV_FB_USED":                  {memUsed, mebi},
	"DCGM_FI_DEV_POWER_USAGE":              {power, one},
	"DCGM_FI_DEV_BOARD_POWER_WATTS":        {power, one},
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": {energy, milli},
	"DCGM_FI_DEV_SM_CLOCK":                 {smClock, one},
	"DCGM_FI_DEV_GPU_TEMP":                 {temperature, one},
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":        {graphicsActive, one},
	"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO":    {graphicsActive, one},
	"DCGM_FI_PROF_SM_ACTIVE":               {smActive, one},
	"DCGM_FI_PROF_SM_UTIL_RATIO":           {smActive, one},
	"DCGM_FI_PROF_SM_OCCUPANCY":            {smOccupancy, one},
	"DCGM_FI_PROF_SM_OCCUPANCY_RATIO":      {smOccupancy, one},
	"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE":      {tensorActive, one},
	"DCGM_FI_PROF_TENSOR_UTIL_RATIO":       {tensorActive, one},
	"DCGM_FI_PROF_DRAM_ACTIVE":             {dramActive, one},
	"DCGM_FI_PROF_DRAM_UTIL_RATIO":         {dramActive, one},
	"DCGM_FI_PROF_PIPE_FP32_ACTIVE":        {fp32Active, one},
	"DCGM_FI_PROF_FP32_UTIL_RATIO":         {fp32Active, one},
	"DCGM_FI_PROF_PCIE_TX_BYTES":           {pcieSent, one},
	"DCGM_FI_PROF_PCIE_RX_BYTES":           {pcieReceived, one},

	"nvidia_smi_utilization_gpu_ratio":      {gpuBusy, one},
	"nvidia_smi_utilization_memory_ratio":   {memBusy, one},
	"nvidia_smi_memory_used_bytes":          {memUsed, one},
	"nvidia_smi_power_draw_watts":           {power, one},
	"nvidia_smi_clocks_current_sm_clock_hz": {smClock, micro},
	"nvidia_smi_temperature_gpu":            {temperature, one},

	"hami_vgpu_memory_used_bytes":                       {memUsed, one},
	"hami_container_device_utilization_ratio":           {gpuBusy, percent},
	"hami_host_gpu_memory_used_bytes":                   {memUsed, one},
	"hami_host_gpu_utilization_ratio":                   {gpuBusy, percent},
	"hami_host_gpu_memory_controller_utilization_ratio": {memBusy, percent},
	"vGPU_device_memory_usage_in_bytes":                 {memUsed, one},
	"Device_utilization_desc_of_container":              {gpuBusy, percent},
	"HostGPUMemoryUsage":                                {memUsed, one},
	"HostCoreUtilization":                               {gpuBusy, percent},
}

// metricNames returns the names in order.
func metricNames() []string {
	var names []string
	for name := range metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// labelName returns our name of a label, or "" for one that does not tell
// sources apart. Prometheus puts exported_ before the exporter's own label when
// it has one of that name itself; the exporter's wins.
func labelName(name string) (our string, exported bool) {
	name, exported = strings.CutPrefix(name, "exported_")
	switch name {
	case "gpu", "device_index", "deviceidx":
		return LabelGPU, exported
	case "UUID", "uuid", "gpu_uuid", "device_uuid", "deviceuuid":
		return LabelUUID, exported
	case "modelName", "model_name", "device_type":
		return LabelName, exported
	case "GPU_I_ID":
		return LabelInstance, exported
	case "Hostname", "hostname", "node", "nodeid":
		return LabelHost, exported
	case "namespace", "podnamespace", "pod_namespace":
		return LabelNamespace, exported
	case "pod", "podname", "pod_name":
		return LabelPod, exported
	case "container", "ctrname", "container_name":
		return LabelContainer, exported
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

// key tells sources apart: all labels in order, each with its length in front.
func (l *labelSet) key() []byte {
	var key []byte
	for _, name := range []string{
		LabelHost, LabelUUID, LabelGPU, LabelInstance, LabelNamespace, LabelPod, LabelContainer,
	} {
		value := l.labels[name]
		if name == LabelGPU && l.labels[LabelUUID] != "" {
			value = "" // the UUID says it
		}
		key = append(append(key, value...), 0)
	}
	return key
}
