package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/nvmlx/mps"
)

// scripts are the workloads.
//
//go:embed workloads/*.py
var scripts embed.FS

// rigOptions say which GPU, and with which Python.
type rigOptions struct {
	gpu       string // index or ID; "" is the first
	python    string
	unchecked bool
}

// openRig returns a rig on a real GPU. It changes nothing on it: no modes, no
// clocks, no limits.
func openRig(ctx context.Context, o rigOptions) (_ *rig, err error) {
	r := &rig{clock: nvmlx.SystemClock(), servers: func() int { return 0 }}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	dir, err := os.MkdirTemp("", "colloc-measure-")
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() error { return os.RemoveAll(dir) })
	if err := os.CopyFS(dir, scripts); err != nil {
		return nil, err
	}
	if err := r.open(ctx, o); err != nil {
		return nil, err
	}
	lockFile, err := lockDevice(os.TempDir(), string(r.device.ID))
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, lockFile.Close)
	for _, pipe := range []string{mps.DefaultPipeDir, mps.PipeDir(os.Environ())} {
		if mps.Running(pipe) {
			return nil, fmt.Errorf("%w: an MPS daemon that is not ours listens in %s, so that time-slicing could not be told from MPS: stop it with "+
				"echo quit | CUDA_MPS_PIPE_DIRECTORY=%[2]s nvidia-cuda-mps-control, or remove that folder if none runs any more", errForeign, pipe)
		}
	}
	l := &launcher{rig: r, dir: dir, python: o.python}
	r.launch = l.command
	r.servers = l.servers
	return r, nil
}

// open finds a source and the device.
func (r *rig) open(ctx context.Context, o rigOptions) error {
	source, noLibrary := gonvml.Open(nil)
	r.source, r.via = source, "nvml"
	if noLibrary != nil {
		if r.source, r.via = openSMI(), "nvidia-smi"; r.source == nil {
			r.via = "none"
			if !o.unchecked {
				return fmt.Errorf("nothing tells who uses the GPU (%w, and there is no nvidia-smi): -unchecked measures all the same, without samples; -fake needs no GPU", noLibrary)
			}
			list, _ := wanted(o.gpu)
			first, _, _ := strings.Cut(list, ",")
			r.source, r.device.ID = nil, nvmlx.DeviceID(first)
			return nil
		}
	}
	r.closers = append(r.closers, r.source.Close)
	var err error
	if r.system, err = r.source.Info(ctx); err != nil {
		return errors.Join(noLibrary, err)
	}
	devices, err := r.source.Devices(ctx)
	if err != nil {
		return err
	}
	r.device, err = chooseDevice(devices, o.gpu)
	r.device.MPSActive = nvmlx.DeviceInfo{}.MPSActive // changes while we measure
	return err
}

// wanted returns the devices to choose from, in the form of CUDA_VISIBLE_DEVICES,
// and who says so: -gpu, else that variable, as a batch system sets it.
func wanted(gpu string) (list, by string) {
	if gpu != "" {
		return gpu, "-gpu " + gpu
	}
	if list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return list, "CUDA_VISIBLE_DEVICES=" + list
	}
	return "0", "the first"
}

// chooseDevice finds the first device that is wanted and refuses one that cannot
// be shared as it is set up.
func chooseDevice(devices []nvmlx.DeviceInfo, gpu string) (nvmlx.DeviceInfo, error) {
	list, by := wanted(gpu)
	visible := nvmlx.Visible(devices, list)
	if len(visible) == 0 {
		return nvmlx.DeviceInfo{}, fmt.Errorf("no such GPU here: %s; there are: %s", by, deviceList(devices))
	}
	d := visible[0]
	if d.MIGEnabled.Or(false) && d.Parent == "" {
		return d, fmt.Errorf("GPU %s is in MIG mode: choose one of its instances by its ID with -gpu; there are: %s", d.ID, deviceList(devices))
	}
	if mode := d.ComputeMode.Or(nvmlx.ComputeDefault); mode != nvmlx.ComputeDefault {
		return d, fmt.Errorf("GPU %s has compute mode %q, so that tasks cannot share it without MPS; root can change that: nvidia-smi -i %[1]s -c DEFAULT", d.ID, mode)
	}
	return d, nil
}

// deviceList names what there is, for messages.
func deviceList(devices []nvmlx.DeviceInfo) string {
	var names []string
	for _, d := range devices {
		name := string(d.ID)
		if d.Parent == "" {
			name = strconv.Itoa(d.Index) + " (" + name + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// launcher starts workloads on a real GPU, and the MPS daemon for those that
// want it.
type launcher struct {
	rig         *rig
	dir, python string
	daemon      *mps.Daemon
}

// daemonPatience is how long the MPS daemon may take to start, and to stop.
const daemonPatience = 20 * time.Second

func (l *launcher) servers() int {
	if l.daemon == nil {
		return 0
	}
	return 1
}

// command returns the command of a workload.
func (l *launcher) command(ctx context.Context, s slot) (*exec.Cmd, error) {
	env := append(cleanEnvironment(os.Environ()),
		"CUDA_VISIBLE_DEVICES="+string(l.rig.device.ID),
		"OMP_NUM_THREADS=2", // a task has the same share of the CPU alone and in a set
		"PYTHONDONTWRITEBYTECODE=1")
	if s.mps {
		if err := l.startDaemon(ctx); err != nil {
			return nil, err
		}
		share, err := l.daemon.Env(mps.Share{Device: l.rig.device.ID, Threads: s.threads})
		if err != nil {
			return nil, err
		}
		env = append(env, share...)
	} else {
		// A directory without a daemon: without it CUDA looks in the default one.
		env = append(env, "CUDA_MPS_PIPE_DIRECTORY="+filepath.Join(l.dir, "no-mps"))
	}
	cmd := exec.Command(l.python, filepath.Join(l.dir, "workloads", "worker.py"), s.task)
	cmd.Env = env
	return cmd, nil
}

// startDaemon starts a daemon of our own, once, with private directories.
func (l *launcher) startDaemon(ctx context.Context) error {
	if l.daemon != nil {
		select {
		case <-l.daemon.Done():
			return fmt.Errorf("%w: the daemon ended: %w", errMPS, orZero(l.daemon.Err()))
		default:
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	daemon, err := mps.Start(ctx, mps.Config{
		PipeDir: filepath.Join(l.dir, "mps"), LogDir: filepath.Join(l.dir, "mps-log"), Devices: []nvmlx.DeviceID{l.rig.device.ID},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errMPS, err)
	}
	l.daemon = daemon
	l.rig.closers = append(l.rig.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), daemonPatience)
		defer cancel()
		return daemon.Stop(ctx)
	})
	return nil
}

// cleanEnvironment leaves out what others set for MPS.
func cleanEnvironment(environment []string) []string {
	var clean []string
	for _, v := range environment {
		if !strings.HasPrefix(v, "CUDA_MPS_") && !strings.HasPrefix(v, "CUDA_VISIBLE_DEVICES=") {
			clean = append(clean, v)
		}
	}
	return clean
}
