//go:build linux && cgo

package gonvml

// symbol is one ability of the driver's library: a C function in the versions
// that the binding can call. Having one of them is enough, because the binding
// uses the newest that it finds.
type symbol int

const (
	symInit symbol = iota
	symShutdown
	symDriverVersion
	symNVMLVersion
	symCUDAVersion2
	symCUDAVersion
	symProcessName
	symCount
	symHandleByIndex
	symHandleByUUID
	symUUID
	symName
	symPCIInfo
	symCapability
	symComputeMode
	symNUMANode
	symUtilization
	symMemory2
	symMemory
	symPower
	symEnergy
	symClock
	symEventReasons
	symThrottleReasons
	symTemperature
	symMIGMode
	symMIGCount
	symMIGHandle
	symAttributes
	symGPUInstance
	symComputeInstance
	symComputeProcesses
	symGraphicsProcesses
	symMPSProcesses
	symProcessUtilization
	symGPMSupport
	symGPMAlloc
	symGPMFree
	symGPMGet
	symGPMGetMIG
	symGPMMetrics
	symEventSet
	symEventSetFree
	symEventRegister
	symEventWait

	symbols
)

// symbolNames are the C names, newest first.
//
//nolint:gochecknoglobals // read-only table
var symbolNames = [symbols][]string{
	symInit:               {"nvmlInit_v2", "nvmlInit"},
	symShutdown:           {"nvmlShutdown"},
	symDriverVersion:      {"nvmlSystemGetDriverVersion"},
	symNVMLVersion:        {"nvmlSystemGetNVMLVersion"},
	symCUDAVersion2:       {"nvmlSystemGetCudaDriverVersion_v2"},
	symCUDAVersion:        {"nvmlSystemGetCudaDriverVersion"},
	symProcessName:        {"nvmlSystemGetProcessName"},
	symCount:              {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
	symHandleByIndex:      {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
	symHandleByUUID:       {"nvmlDeviceGetHandleByUUID"},
	symUUID:               {"nvmlDeviceGetUUID"},
	symName:               {"nvmlDeviceGetName"},
	symPCIInfo:            {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
	symCapability:         {"nvmlDeviceGetCudaComputeCapability"},
	symComputeMode:        {"nvmlDeviceGetComputeMode"},
	symNUMANode:           {"nvmlDeviceGetNumaNodeId"},
	symUtilization:        {"nvmlDeviceGetUtilizationRates"},
	symMemory2:            {"nvmlDeviceGetMemoryInfo_v2"},
	symMemory:             {"nvmlDeviceGetMemoryInfo"},
	symPower:              {"nvmlDeviceGetPowerUsage"},
	symEnergy:             {"nvmlDeviceGetTotalEnergyConsumption"},
	symClock:              {"nvmlDeviceGetClockInfo"},
	symEventReasons:       {"nvmlDeviceGetCurrentClocksEventReasons"},
	symThrottleReasons:    {"nvmlDeviceGetCurrentClocksThrottleReasons"},
	symTemperature:        {"nvmlDeviceGetTemperature"},
	symMIGMode:            {"nvmlDeviceGetMigMode"},
	symMIGCount:           {"nvmlDeviceGetMaxMigDeviceCount"},
	symMIGHandle:          {"nvmlDeviceGetMigDeviceHandleByIndex"},
	symAttributes:         {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"},
	symGPUInstance:        {"nvmlDeviceGetGpuInstanceId"},
	symComputeInstance:    {"nvmlDeviceGetComputeInstanceId"},
	symComputeProcesses:   processNames("nvmlDeviceGetComputeRunningProcesses"),
	symGraphicsProcesses:  processNames("nvmlDeviceGetGraphicsRunningProcesses"),
	symMPSProcesses:       processNames("nvmlDeviceGetMPSComputeRunningProcesses"),
	symProcessUtilization: {"nvmlDeviceGetProcessUtilization"},
	symGPMSupport:         {"nvmlGpmQueryDeviceSupport"},
	symGPMAlloc:           {"nvmlGpmSampleAlloc"},
	symGPMFree:            {"nvmlGpmSampleFree"},
	symGPMGet:             {"nvmlGpmSampleGet"},
	symGPMGetMIG:          {"nvmlGpmMigSampleGet"},
	symGPMMetrics:         {"nvmlGpmMetricsGet"},
	symEventSet:           {"nvmlEventSetCreate"},
	symEventSetFree:       {"nvmlEventSetFree"},
	symEventRegister:      {"nvmlDeviceRegisterEvents"},
	symEventWait:          {"nvmlEventSetWait_v2", "nvmlEventSetWait"},
}

func processNames(name string) []string { return []string{name + "_v3", name + "_v2", name} }
