package solve

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// BenchmarkLEMON gives the pairs of BenchmarkMatching to LEMON's MaxWeightedMatching, where its headers are installed
// (Debian: liblemon-dev), and holds what both find against each other. ratio is how many times longer LEMON takes.
func BenchmarkLEMON(b *testing.B) {
	program := filepath.Join(b.TempDir(), "lemon")
	if out, err := exec.CommandContext(b.Context(), "g++", "-std=c++14", "-O2", "-w", "-o", program, "testdata/lemon.cpp", "-llemon").CombinedOutput(); err != nil {
		b.Skipf("LEMON's program does not compile: %v: %s", err, out)
	}
	for _, w := range packtest.Weights() {
		for _, n := range []int{100, 1000} {
			b.Run(fmt.Sprintf("weights=%s/n=%d", w, n), func(b *testing.B) {
				p := packtest.BenchProblem(packtest.BenchModel(b, w, n), n/2)
				in := pairWeights(b, p)
				var ours, theirs time.Duration
				for b.Loop() {
					start := time.Now()
					s, err := (Matching{}).Pack(b.Context(), p)
					if err != nil {
						b.Fatal(err)
					}
					ours += time.Since(start)
					run := exec.CommandContext(b.Context(), program)
					run.Stdin = bytes.NewReader(in)
					out, err := run.Output()
					var seconds, total float64
					if _, scan := fmt.Sscan(string(out), &seconds, &total); err != nil || scan != nil {
						b.Fatalf("LEMON prints %q: %v", out, err)
					}
					theirs += time.Duration(seconds * float64(time.Second))
					if math.Abs(total/lemonUnit-s.Throughput) > 1e-4*s.Throughput {
						b.Fatalf("LEMON finds a matching worth %v, Matching one worth %v", total/lemonUnit, s.Throughput)
					}
				}
				b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
			})
		}
	}
}

const lemonUnit = 1 << 20 // weights are whole numbers for LEMON

// pairWeights writes the number of tasks and the upper triangle of what pairs are worth, row by row: what both do
// together, or one of them while the other waits.
func pairWeights(b *testing.B, p *packer.Problem) []byte {
	b.Helper()
	n := len(p.Tasks)
	in := binary.LittleEndian.AppendUint32(nil, uint32(n))
	speeds := make([]float64, 2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if err := p.Model.Speeds([]*packer.Task{&p.Tasks[i], &p.Tasks[j]}, &p.GPUs[0], profile.TimeSlice, speeds); err != nil {
				b.Fatal(err)
			}
			sum := math.Round(speeds[0]*lemonUnit) + math.Round(speeds[1]*lemonUnit)
			in = binary.LittleEndian.AppendUint32(in, uint32(max(lemonUnit, sum)))
		}
	}
	return in
}
