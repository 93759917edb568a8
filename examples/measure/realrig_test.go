package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// machineEnv makes the test binary play the program by whose name it is called:
// nvidia-smi, nvidia-cuda-mps-control or python3.
const machineEnv = "COLLOC_MEASURE_FAKE_MACHINE"

func playMachine(args []string) int {
	var err error
	switch filepath.Base(args[0]) {
	case "nvidia-smi":
		if strings.Contains(strings.Join(args, " "), "compute-apps=") {
			return 0 // nobody
		}
		return playSMI(args[1:])
	case "nvidia-cuda-mps-control":
		err = playControl(args[1:])
	default:
		err = fakeWorkload(args[len(args)-1], os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playControl is the MPS daemon with -f, and else the client that passes one
// command on.
func playControl(args []string) error {
	if os.Getenv(machineEnv) == "without MPS" {
		return errors.New("no MPS on this machine")
	}
	socket := filepath.Join(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), "control")
	if len(args) == 0 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		if _, err := io.Copy(conn, os.Stdin); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, conn)
		return errors.Join(err, conn.Close())
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err := errors.Join(err, conn.Close()); err != nil {
			return err
		}
		if line == "quit\n" {
			return listener.Close()
		}
	}
}

// machineWithGPU sets up a machine with the programs that a rig needs.
func machineWithGPU(t *testing.T, how string) {
	t.Helper()
	if source, err := gonvml.Open(nil); err == nil {
		t.Skipf("there is a real driver here: %v", source.Close())
	}
	if mps.Running("") {
		t.Skip("there is a real MPS daemon here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rig") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(dir, "colloc-measure-*"))
		if err != nil || len(left) != 1 { // the lock
			t.Errorf("left behind: %q, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"nvidia-smi", "nvidia-cuda-mps-control", "python3"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(machineEnv, how)
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", dir)
	t.Setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1")
}

// TestRealRig measures through everything that a real machine has but the GPU:
// nvidia-smi, the MPS daemon, processes with the environment of their share.
func TestRealRig(t *testing.T) {
	machineWithGPU(t, "with MPS")
	raw := filepath.Join(t.TempDir(), "raw.jsonl")
	args := []string{
		"-out", raw, "-gpu", "GPU-1", "-tasks", "lstm", "-repeats", "1", "-keep", "4",
		"-warmup", "10ms", "-measure", "40ms", "-period", "10ms",
	}
	code, _, stderr := program(t, args...)
	if code != 0 {
		t.Fatalf("exit status %d:\n%s", code, stderr)
	}
	c, err := loadRaw(raw)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.header; h.Simulated || h.Samples != "nvidia-smi" || h.System.Driver != "580.95.05" || h.GPU.ID != "GPU-1" {
		t.Errorf("header %+v", h)
	}
	shared := 0
	for _, r := range c.results {
		if r.Status != statusOK {
			t.Errorf("%s: %s: %s", r.Cell.id(), r.Status, complaints(&r))
		}
		if r.Cell.Mechanism == profile.MPS {
			shared++
		}
		for _, s := range r.Samples {
			if s.GPUBusy.Or(0) != 0.87 || !s.PowerWatts.IsZero() {
				t.Errorf("%s: sample %+v", r.Cell.id(), s)
			}
		}
	}
	if shared == 0 {
		t.Error("nothing was measured under MPS")
	}
	if code, _, stderr := program(t, append(args, "-gpu", "GPU-2")...); code != 1 || !strings.Contains(stderr, "MIG mode") {
		t.Errorf("a GPU in MIG mode: exit status %d:\n%s", code, stderr)
	}
}

// TestRealRigWithoutMPS measures what can be measured.
func TestRealRigWithoutMPS(t *testing.T) {
	machineWithGPU(t, "without MPS")
	args := []string{
		"-out", filepath.Join(t.TempDir(), "raw.jsonl"), "-gpu", "0", "-tasks", "lstm", "-repeats", "1", "-keep", "4",
		"-warmup", "10ms", "-measure", "40ms", "-period", "10ms",
	}
	code, _, stderr := program(t, args...)
	if code != 0 || !strings.Contains(stderr, "cells with MPS are left out") || !strings.Contains(stderr, "no MPS on this machine") {
		t.Errorf("exit status %d:\n%s", code, stderr)
	}
}

// TestEnvironment checks what workloads are started with.
func TestEnvironment(t *testing.T) {
	machineWithGPU(t, "with MPS")
	r, err := openRig(t.Context(), rigOptions{gpu: "0", python: "python3"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := openRig(t.Context(), rigOptions{gpu: "0", python: "python3"}); !errors.Is(err, errLocked) {
		t.Errorf("a second instance on the GPU: %v", err)
	}
	tests := []struct {
		slot slot
		want []string
	}{
		{slot{task: "lstm"}, []string{"CUDA_MPS_PIPE_DIRECTORY=*no-mps", "CUDA_VISIBLE_DEVICES=GPU-1"}},
		{slot{task: "lstm", mps: true}, []string{"CUDA_MPS_PIPE_DIRECTORY=*/mps", "CUDA_VISIBLE_DEVICES=GPU-1"}},
		{slot{task: "lstm", mps: true, threads: 0.25}, []string{
			"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", "CUDA_MPS_PIPE_DIRECTORY=*/mps", "CUDA_VISIBLE_DEVICES=GPU-1",
		}},
	}
	for _, tt := range tests {
		cmd, err := r.launch(context.Background(), tt.slot)
		if err != nil {
			t.Fatal(err)
		}
		last := make(map[string]string)
		for _, v := range cmd.Env {
			name, value, _ := strings.Cut(v, "=")
			if strings.HasPrefix(name, "CUDA_") {
				if i := strings.LastIndex(value, "/colloc-measure-"); i >= 0 {
					value = "*" + value[strings.LastIndex(value, "/"):]
				}
				last[name] = value
			}
		}
		var got []string
		for name, value := range last {
			got = append(got, name+"="+strings.Replace(value, "*/no-mps", "*no-mps", 1))
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.slot, got, tt.want)
		}
		if script := cmd.Args[1]; filepath.Base(script) != "worker.py" {
			t.Errorf("%+v: runs %q", tt.slot, cmd.Args)
		} else if _, err := os.Stat(script); err != nil {
			t.Error(err)
		}
	}
	if n := r.servers(); n != 1 {
		t.Errorf("%d MPS servers, want 1", n)
	}
}
