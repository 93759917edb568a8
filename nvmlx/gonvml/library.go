//go:build linux && cgo

package gonvml

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
)

// library is the driver's library, which exists once in a process: C symbols are
// global, and the binding keeps package variables that it changes unguarded.
type library struct {
	mu    sync.Mutex
	users int    // open sources
	path  string // of the first open; later ones must agree
	api   nvml.Interface
	lists processLists

	open    *dl.DynamicLibrary
	looking sync.RWMutex    // guards found
	found   map[string]bool // whether a C function is there, by its name
}

//nolint:gochecknoglobals // see library: there is one per process whatever we do
var shared library

// acquire loads and initialises the library for one more source.
func (l *library) acquire(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != "" && l.path != path {
		return fmt.Errorf("gonvml: open: this process already uses %s and cannot use %s beside it: %w", l.path, path, nvmlx.ErrUnavailable)
	}
	if l.api == nil {
		if err := l.load(path); err != nil {
			return err
		}
	}
	if l.users == 0 {
		if err := l.init(); err != nil {
			return err
		}
	}
	l.users++
	return nil
}

// load maps the library and looks up every function. The mapping is never
// undone: the dynamic linker would leave the binding's calls pointing into it.
func (l *library) load(path string) error {
	lib := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL|dl.RTLD_NODELETE)
	if err := lib.Open(); err != nil {
		return fmt.Errorf("gonvml: open: %w: %w: install the NVIDIA driver, or in a container its runtime", err, nvmlx.ErrNoDriver)
	}
	l.open, l.found = lib, make(map[string]bool)
	for _, name := range []string{"nvmlInit", "nvmlShutdown", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID"} {
		if !l.has(name) {
			return fmt.Errorf("gonvml: open: %s has no function %s: it is no NVML, or too old: %w", path, name, nvmlx.ErrNoDriver)
		}
	}
	l.path, l.api = path, nvml.New(nvml.WithLibraryPath(path))
	l.lists.find(l.has)
	return nil
}

// has reports whether the library has a C function in any version. One that it has not must not be called.
func (l *library) has(name string) bool {
	l.looking.RLock()
	yes, known := l.found[name]
	l.looking.RUnlock()
	if known {
		return yes
	}
	yes = slices.ContainsFunc(versions[:], func(end string) bool { return l.open.Lookup(name+end) == nil })
	l.looking.Lock()
	l.found[name] = yes
	l.looking.Unlock()
	return yes
}

func (l *library) init() error {
	code := l.api.Init()
	if code == nvml.SUCCESS {
		return nil
	}
	err := sentinel(code)
	hint := "see nvidia-smi on this host"
	switch {
	case errors.Is(err, nvmlx.ErrDriverMismatch):
		hint = "reboot, or reload the kernel modules"
	case errors.Is(err, nvmlx.ErrNoDriver):
		hint = "the library is there, the kernel module is not: modprobe nvidia, or give the container a GPU"
	case errors.Is(err, nvmlx.ErrPermission):
		hint = "the device files are closed to this user"
	case err == nil:
		err = nvmlx.ErrUnavailable
	}
	return fmt.Errorf("gonvml: open: NVML code %d: %w: %s", int(code), err, hint)
}

// release gives the library back; the last one shuts it down.
func (l *library) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	if l.users > 0 {
		return nil
	}
	return failure("gonvml: close", l.api.Shutdown())
}
