// Package gonvml reads real NVIDIA GPUs: [Open] returns an nvmlx.Source on the
// driver's management library, NVML.
//
// It is the one package of colloc that imports the binding
// github.com/NVIDIA/go-nvml, which needs cgo and Linux. Everywhere else the
// package compiles too, and Open returns nvmlx.ErrUnavailable.
//
// The driver's C library is loaded when Open is called, not when the program is
// built or started, so one binary serves hosts with and without GPUs. NVML is
// one per process: all sources share it, and it is shut down when the last one
// is closed. Nothing here changes a device: no clocks, modes, limits or MIG.
//
// # What it guards against
//
// The binding resolves C functions lazily. Calling one that the installed
// driver does not have, or any before the library is loaded, ends the process
// at once, without a panic that could be recovered. Therefore every function is
// looked up before it is called; a missing one makes its counters missing
// with nvmlx.ErrNotSupported. Lists of processes are read without the binding's
// loops, which never end if the driver's list keeps growing, and not at all from
// drivers 535.43 to 535.97, whose lists have another layout than they declare.
// Values that NVML uses for "not available" become missing.
//
// Linking with -z now, or LD_BIND_NOW=1 in the environment, as hardened systems
// set it, makes any program with this binding die at its start. Link with
// -ldflags=-extldflags=-Wl,-z,lazy.
//
// # Building
//
// The C compiler warns of deprecated declarations in the binding. They are
// harmless; this silences them:
//
//	CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" go build ./...
//
// # Counters
//
// Per cent become ratios, milliwatts watts, millijoules joules, MiB/s bytes per
// second. GPUBusy and MemBusy cover the driver's own window, a sixth of a second
// to a second by product. Under MIG neither exists, for the GPU nor for its
// instances: some drivers answer 0, this package answers missing. An instance
// has its own memory and GPM counters; clocks, temperature and throttle reasons
// are those of its GPU; power and energy are missing. GPM counters (Hopper and
// later) are means since the previous read of the same device, at least 100 ms
// before; the first read has none.
package gonvml
