package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

//go:embed testdata/lemon.cpp
var lemonSource []byte

// lemon runs the program in testdata.
type lemon struct {
	dir, program string
	limit        time.Duration
}

// newLEMON compiles the program; nil and the reason if that cannot be.
func newLEMON(ctx context.Context, limit time.Duration) (l *lemon, why string) {
	if limit == 0 {
		return nil, "-lemon is 0"
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return nil, "there is no g++"
	}
	dir, err := os.MkdirTemp("", "packbench")
	if err != nil {
		return nil, err.Error()
	}
	l = &lemon{dir: dir, program: filepath.Join(dir, "lemon"), limit: limit}
	source := filepath.Join(dir, "lemon.cpp")
	if err := os.WriteFile(source, lemonSource, 0o600); err != nil {
		l.close()
		return nil, err.Error()
	}
	build := exec.CommandContext(ctx, compiler, "-std=c++14", "-O2", "-w", "-o", l.program, source, "-llemon") //nolint:gosec // our own program
	if out, err := build.CombinedOutput(); err != nil {
		l.close()
		if bytes.Contains(out, []byte("lemon/matching.h")) {
			return nil, "its headers are not installed; on Debian: apt-get install liblemon-dev"
		}
		return nil, fmt.Sprintf("g++: %v: %s", err, bytes.TrimSpace(out))
	}
	return l, ""
}

func (l *lemon) close() {
	if l != nil {
		_ = os.RemoveAll(l.dir)
	}
}

// rivalry is what LEMON did.
type rivalry struct {
	took  time.Duration
	value float64
	late  bool // stopped at the limit
}

const unit = 1 << 20 // weights are whole numbers for LEMON

// solve gives the pairs of p, which has two tasks for each GPU, to LEMON.
func (l *lemon) solve(ctx context.Context, p *packer.Problem) (rivalry, error) {
	weights, err := pairWeights(p)
	if err != nil {
		return rivalry{}, err
	}
	var in bytes.Buffer
	_ = binary.Write(&in, binary.LittleEndian, int32(len(p.Tasks)))
	_ = binary.Write(&in, binary.LittleEndian, weights)
	limited, cancel := context.WithTimeout(ctx, l.limit+time.Second) // reading takes a while
	defer cancel()
	run := exec.CommandContext(limited, l.program) //nolint:gosec // our own program
	run.Stdin = &in
	out, err := run.Output()
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return rivalry{late: true}, nil
	}
	if err != nil {
		return rivalry{}, fmt.Errorf("LEMON: %w", err)
	}
	var seconds float64
	var total int64
	if _, err := fmt.Sscan(string(out), &seconds, &total); err != nil {
		return rivalry{}, fmt.Errorf("LEMON prints %q: %w", out, err)
	}
	return rivalry{took: time.Duration(seconds * float64(time.Second)), value: float64(total) / unit}, nil
}

// pairWeights returns the upper triangle of what pairs are worth, row by row: what
// both do together, or one of them while the other waits.
func pairWeights(p *packer.Problem) ([]int32, error) {
	n := len(p.Tasks)
	out := make([]int32, 0, n*(n-1)/2)
	speeds := make([]float64, 2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if err := p.Model.Speeds([]*packer.Task{&p.Tasks[i], &p.Tasks[j]}, &p.GPUs[0], profile.TimeSlice, speeds); err != nil {
				return nil, err
			}
			sum := math.Round(speeds[0]*unit) + math.Round(speeds[1]*unit)
			out = append(out, int32(max(unit, sum)))
		}
	}
	return out, nil
}
