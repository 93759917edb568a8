package mps

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// DefaultPipeDir is where daemon and tasks meet if nothing else is said.
const DefaultPipeDir = "/tmp/nvidia-mps"

// PipeDir returns where a program with this environment, KEY=value, looks for a
// daemon.
func PipeDir(env []string) string {
	dir := DefaultPipeDir
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "CUDA_MPS_PIPE_DIRECTORY" && value != "" {
			dir = value // the last one counts
		}
	}
	return dir
}

// Share is what one task may use of a GPU. The zero value is the whole GPU
// through the default daemon.
type Share struct {
	// Device is the GPU's, or MIG instance's, ID. With a Memory limit it is
	// required. If set, the task sees this device alone.
	Device nvmlx.DeviceID
	// Threads is the share of the multiprocessors that the task's kernels may
	// fill, in (0, 1]; 0 means no cap. It is rounded down to whole per cent, but
	// not below one.
	Threads float64
	// Memory is the most device memory that the task can allocate, at least
	// 1 MiB; 0 means no limit. It is rounded down to whole MiB.
	Memory profile.Bytes
	// LowPriority asks the driver to prefer other tasks. It is a hint.
	LowPriority bool
	// PipeDir is the daemon's directory; empty means DefaultPipeDir.
	PipeDir string
}

// Env returns the share as environment variables, KEY=value, to append to a
// task's environment. It returns an error that joins every fault of the share.
func (s Share) Env() ([]string, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	pipe := s.PipeDir
	if pipe == "" {
		pipe = DefaultPipeDir
	}
	env := []string{"CUDA_MPS_PIPE_DIRECTORY=" + pipe}
	if s.Device != "" {
		env = append(env, "CUDA_VISIBLE_DEVICES="+string(s.Device))
	}
	if s.Threads > 0 {
		// A tolerance, so that 0.29, which is a little less than 29/100, gives 29.
		percent := max(1, int(math.Floor(s.Threads*100+1e-9)))
		env = append(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="+strconv.Itoa(percent))
	}
	if s.Memory > 0 {
		// The only device the task sees is its device 0. By ID the limit has no effect
		// on many drivers (NVIDIA/k8s-device-plugin #572).
		env = append(env, fmt.Sprintf("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM", s.Memory/profile.MiB))
	}
	if s.LowPriority {
		env = append(env, "CUDA_MPS_CLIENT_PRIORITY=1")
	}
	return env, nil
}

func (s Share) check() error {
	var errs []error
	if !(s.Threads >= 0 && s.Threads <= 1) {
		errs = append(errs, fmt.Errorf("mps: share: threads are %v, want a share in (0, 1], or 0 for no cap", s.Threads))
	}
	if s.Memory != 0 && s.Memory < profile.MiB {
		errs = append(errs, fmt.Errorf("mps: share: memory is %d bytes, want at least 1 MiB, or 0 for no limit", int64(s.Memory)))
	}
	if s.Memory != 0 && s.Device == "" {
		errs = append(errs, errors.New("mps: share: a memory limit needs the device that it is for"))
	}
	if strings.ContainsAny(string(s.Device), ",=\x00 ") {
		errs = append(errs, fmt.Errorf("mps: share: device is %q, want one GPU-... or MIG-... ID", s.Device))
	}
	if strings.ContainsAny(s.PipeDir, "\x00\n") {
		errs = append(errs, fmt.Errorf("mps: share: pipe directory is %q, want a path", s.PipeDir))
	}
	return errors.Join(errs...)
}

// MaxClients returns how many tasks MPS takes on one GPU: 16 before Volta, 48
// since, and 60 from CUDA 13.1 on. What is unknown counts as old. A larger
// CUDA_DEVICE_MAX_CONNECTIONS, and a MIG instance, allow fewer.
func MaxClients(system nvmlx.SystemInfo, device nvmlx.DeviceInfo) int {
	capability, known := device.ComputeCapability.Get()
	if model, ok := device.GPU(); ok && !known {
		capability = model.ComputeCapability
	}
	switch {
	case !(capability >= 7):
		return 16
	case atLeast(system.CUDA, 13, 1):
		return 60
	default:
		return 48
	}
}

// atLeast compares a version "major.minor"; anything else is older.
func atLeast(version string, major, minor int) bool {
	a, b, _ := strings.Cut(version, ".")
	b, _, _ = strings.Cut(b, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return err1 == nil && err2 == nil && (x > major || x == major && y >= minor)
}
