package main

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/rigtest"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/profile"
)

// TestMachine measures through everything that a real machine has but the GPU:
// nvidia-smi, the MPS daemon, processes with the environment of their share.
func TestMachine(t *testing.T) {
	rigtest.Machine(t, rigtest.WithMPS)
	out := filepath.Join(t.TempDir(), "raw.jsonl")
	args := []string{
		"-out", out, "-gpu", "GPU-1", "-tasks", "lstm", "-repeats", "1", "-keep", "4",
		"-warmup", "10ms", "-measure", "40ms", "-period", "10ms",
	}
	code, _, stderr := program(t, args...)
	if code != 0 {
		t.Fatalf("exit status %d:\n%s", code, stderr)
	}
	c, err := raw.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Header; h.Simulated || h.Samples != "nvidia-smi" || h.System.Driver != "580.95.05" || h.GPU.ID != "GPU-1" {
		t.Errorf("header %+v", h)
	}
	shared := 0
	for _, r := range c.Results {
		if r.Status != workload.OK {
			t.Errorf("%s: %s: %s", r.Cell.ID(), r.Status, r.Complaints())
		}
		if r.Cell.Mechanism == profile.MPS {
			shared++
		}
		for _, s := range r.Samples {
			if s.GPUBusy.Or(0) != 0.87 || !s.PowerWatts.IsZero() {
				t.Errorf("%s: sample %+v", r.Cell.ID(), s)
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

// TestMachineWithoutMPS measures what can be measured.
func TestMachineWithoutMPS(t *testing.T) {
	rigtest.Machine(t, rigtest.WithoutMPS)
	args := []string{
		"-out", filepath.Join(t.TempDir(), "raw.jsonl"), "-gpu", "0", "-tasks", "lstm", "-repeats", "1", "-keep", "4",
		"-warmup", "10ms", "-measure", "40ms", "-period", "10ms",
	}
	code, _, stderr := program(t, args...)
	if code != 0 || !strings.Contains(stderr, "cells with MPS are left out") || !strings.Contains(stderr, "no MPS on this machine") {
		t.Errorf("exit status %d:\n%s", code, stderr)
	}
}
