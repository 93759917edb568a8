//go:build linux && cgo

package gonvml

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>

typedef int (*list_function)(void *device, unsigned int *count, void *infos);
typedef int (*uuid_function)(const char *uuid, void **device);

static void *find_function(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static int call_list(void *function, void *device, unsigned int *count, void *infos) {
	return ((list_function)function)(device, count, infos);
}

static int call_by_uuid(void *function, const char *uuid, void **device) {
	return ((uuid_function)function)(uuid, device);
}
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
)

// processLists calls NVML's three lists of processes. The binding's own calls
// double their buffer for as long as the driver says that it is too small, which
// a driver may do for ever; this one gives up.
type processLists struct {
	byUUID unsafe.Pointer
	lists  [3]processList
}

// processList is one C function. Its first version has a shorter row.
type processList struct {
	kind     nvmlx.ProcessKind
	function unsafe.Pointer
	short    bool
}

// versions are the ends of the names of a C function, the newest first. The binding calls the newest that is there.
//
//nolint:gochecknoglobals // read-only table
var versions = [...]string{"_v3", "_v2", ""}

// mostProcesses is the longest list that is read.
const mostProcesses = 1 << 14

// shortProcess is nvmlProcessInfo_v1_t; nvml.ProcessInfo is its successor.
type shortProcess struct {
	pid  uint32
	used uint64
}

// cText is a text for a C function that does not keep it.
func cText(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

// find looks the functions up. The library must be loaded.
func (p *processLists) find(has func(name string) bool) {
	look := func(name string) unsafe.Pointer { return C.find_function(cText(name)) }
	if has("nvmlDeviceGetHandleByUUID") {
		p.byUUID = look("nvmlDeviceGetHandleByUUID")
	}
	for i, list := range []struct {
		name string
		kind nvmlx.ProcessKind
	}{
		{"nvmlDeviceGetMPSComputeRunningProcesses", nvmlx.MPSProcess},
		{"nvmlDeviceGetComputeRunningProcesses", nvmlx.ComputeProcess},
		{"nvmlDeviceGetGraphicsRunningProcesses", nvmlx.GraphicsProcess},
	} {
		p.lists[i].kind = list.kind
		for _, end := range versions {
			if f := look(list.name + end); f != nil {
				p.lists[i].function, p.lists[i].short = f, end == ""
				break
			}
		}
	}
}

// handle returns the C handle of a device.
func (p *processLists) handle(id nvmlx.DeviceID) (unsafe.Pointer, nvml.Return) {
	if p.byUUID == nil {
		return nil, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	var device unsafe.Pointer
	code := nvml.Return(C.call_by_uuid(p.byUUID, cText(string(id)), &device))
	return device, code
}

// read returns the rows of one list.
func (l processList) read(device unsafe.Pointer) ([]nvml.ProcessInfo, nvml.Return) {
	if l.function == nil {
		return nil, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	if !l.short {
		return readRows[nvml.ProcessInfo](l.function, device)
	}
	rows, code := readRows[shortProcess](l.function, device)
	list := make([]nvml.ProcessInfo, len(rows))
	for i, r := range rows {
		list[i] = nvml.ProcessInfo{Pid: r.pid, UsedGpuMemory: r.used, GpuInstanceId: math.MaxUint32, ComputeInstanceId: math.MaxUint32}
	}
	return list, code
}

// readRows calls a list function with ever longer buffers, up to mostProcesses.
func readRows[T any](function, device unsafe.Pointer) ([]T, nvml.Return) {
	for room := 64; room <= mostProcesses; room *= 4 {
		rows := make([]T, room)
		count := C.uint(room)
		code := nvml.Return(C.call_list(function, device, &count, unsafe.Pointer(&rows[0])))
		if code == nvml.SUCCESS {
			return rows[:min(int(count), room)], nvml.SUCCESS
		}
		if code != nvml.ERROR_INSUFFICIENT_SIZE {
			return nil, code // count says nothing
		}
	}
	return nil, nvml.ERROR_INSUFFICIENT_SIZE
}
