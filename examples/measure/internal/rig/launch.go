package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
)

// launcher starts workloads on a real GPU, and the MPS daemon for those that
// want it.
type launcher struct {
	rig            *Rig
	dir            string // for what the daemon needs
	python, script string
	daemon         *mps.Daemon
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
func (l *launcher) command(ctx context.Context, s plan.Slot) (*exec.Cmd, error) {
	env := append(cleanEnvironment(os.Environ()),
		"CUDA_VISIBLE_DEVICES="+string(l.rig.Device.ID),
		"OMP_NUM_THREADS=2", // a task has the same share of the CPU alone and in a set
		"PYTHONDONTWRITEBYTECODE=1")
	if s.MPS {
		if err := l.startDaemon(ctx); err != nil {
			return nil, err
		}
		share, err := l.daemon.Env(mps.Share{Device: l.rig.Device.ID, Threads: s.Threads})
		if err != nil {
			return nil, err
		}
		env = append(env, share...)
	} else {
		// A directory without a daemon: without it CUDA looks in the default one.
		env = append(env, "CUDA_MPS_PIPE_DIRECTORY="+filepath.Join(l.dir, "no-mps"))
	}
	cmd := exec.Command(l.python, l.script, s.Task)
	cmd.Env = env
	return cmd, nil
}

// startDaemon starts a daemon of our own, once, with private directories.
func (l *launcher) startDaemon(ctx context.Context) error {
	if l.daemon != nil {
		select {
		case <-l.daemon.Done():
			return fmt.Errorf("%w: the daemon ended: %w", ErrMPS, cmp.Or(l.daemon.Err(), errors.New("exit status 0")))
		default:
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	daemon, err := mps.Start(ctx, mps.Config{
		PipeDir: filepath.Join(l.dir, "mps"), LogDir: filepath.Join(l.dir, "mps-log"), Devices: []nvmlx.DeviceID{l.rig.Device.ID},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMPS, err)
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
