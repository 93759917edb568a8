//go:build linux && cgo

package gonvml

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

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
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
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

// mostProcesses is the longest list that is read.
const mostProcesses = 1 << 14

// shortProcess is nvmlProcessInfo_v1_t; nvml.ProcessInfo is its successor.
type shortProcess struct {
	pid  uint32
	used uint64
}

// find looks the functions up. The library must be loaded.
func (p *processLists) find(has *[symbols]bool) {
	look := func(name string) unsafe.Pointer {
		text := C.CString(name)
		defer C.free(unsafe.Pointer(text))
		return C.find_function(text)
	}
	if has[symHandleByUUID] {
		p.byUUID = look(symbolNames[symHandleByUUID][0])
	}
	for i, list := range []struct {
		symbol symbol
		kind   nvmlx.ProcessKind
	}{
		{symMPSProcesses, nvmlx.MPSProcess},
		{symComputeProcesses, nvmlx.ComputeProcess},
		{symGraphicsProcesses, nvmlx.GraphicsProcess},
	} {
		p.lists[i].kind = list.kind
		for _, name := range symbolNames[list.symbol] {
			if f := look(name); f != nil {
				p.lists[i].function, p.lists[i].short = f, !strings.Contains(name, "_v")
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
	text := C.CString(string(id))
	defer C.free(unsafe.Pointer(text))
	var device unsafe.Pointer
	code := nvml.Return(C.call_by_uuid(p.byUUID, text, &device))
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

// Processes lists who uses a device: MPS clients, compute processes and
// graphics, each PID once, by PID. The list of compute processes decides whether
// there is an answer: where a driver has none of the others, their processes are
// compute processes or not listed.
func (s *source) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	d, leave, err := s.enter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("gonvml: processes of %s: %w", id, err)
	}
	defer leave()
	list, err := s.processes(d)
	if err != nil {
		return nil, fmt.Errorf("gonvml: processes of %s: %w", id, err)
	}
	s.smBusy(d, list)
	return list, nil
}

func (s *source) processes(d *device) ([]nvmlx.Process, error) {
	if garbled(s.info.Driver) {
		return nil, fmt.Errorf("driver %s lists processes in a layout that it does not declare; update it to 535.98 or later: %w", s.info.Driver, nvmlx.ErrNotSupported)
	}
	handle, code := s.lib.lists.handle(d.id)
	if err := failure("handle", code); err != nil {
		return nil, err
	}
	found := map[int]nvmlx.Process{}
	for _, list := range s.lib.lists.lists {
		rows, code := list.read(handle)
		if err := failure(list.kind.String()+" list", code); err != nil {
			if list.kind == nvmlx.ComputeProcess {
				return nil, err
			}
			continue // younger drivers and other products only
		}
		for _, row := range rows {
			if _, twice := found[int(row.Pid)]; !twice { // MPS clients stand in the compute list as well
				found[int(row.Pid)] = s.process(list.kind, row)
			}
		}
	}
	all := make([]nvmlx.Process, 0, len(found))
	for _, p := range found {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b nvmlx.Process) int { return cmp.Compare(a.PID, b.PID) })
	return all, nil
}

func (s *source) process(kind nvmlx.ProcessKind, row nvml.ProcessInfo) nvmlx.Process {
	p := nvmlx.Process{
		PID: int(row.Pid), Kind: kind, MemUsed: bytesOf(row.UsedGpuMemory),
		InnerPID: innerPID("/proc", int(row.Pid)),
	}
	if row.GpuInstanceId != math.MaxUint32 {
		p.GPUInstance = profile.Some(int(row.GpuInstanceId))
	}
	if row.ComputeInstanceId != math.MaxUint32 {
		p.ComputeInstance = profile.Some(int(row.ComputeInstanceId))
	}
	if s.lib.has[symProcessName] {
		if name, code := s.lib.api.SystemGetProcessName(p.PID); code == nvml.SUCCESS {
			p.Name = name
		}
	}
	return p
}

// bytesOf takes NVML's all-ones for missing.
func bytesOf(n uint64) profile.Opt[profile.Bytes] {
	if n > math.MaxInt64 {
		return profile.Opt[profile.Bytes]{}
	}
	return profile.Some(profile.Bytes(n))
}

// garbled reports whether a driver is one of those whose process lists have
// another layout than their version says: 535.43 to 535.97.
func garbled(driver string) bool {
	major, rest, _ := strings.Cut(driver, ".")
	text, _, _ := strings.Cut(rest, ".")
	minor, _ := strconv.Atoi(text) // what is no number is 0
	return major == "535" && minor >= 43 && minor < 98
}
