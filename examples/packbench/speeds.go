package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// table is a model that looks pair speeds up: speeds[i*n+j] is the speed of job i
// beside job j, which a task keeps in its profile's batch size. In larger sets
// slowdowns add up.
type table struct {
	n      int
	speeds []float64
}

var _ packer.BatchModel = (*table)(nil)

func job(t *packer.Task) int { return t.Profile.Spec.Training.BatchSize }

// Speeds implements packer.Model. A GPU with more memory suffers less from
// sharing.
func (m *table) Speeds(set []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i, t := range set {
		slowdown := 1.0
		for k, o := range set {
			if k != i {
				slowdown += 1/m.speeds[job(t)*m.n+job(o)] - 1
			}
		}
		dst[i] = soften(gpu, 1/slowdown)
	}
	return nil
}

// PairSpeeds implements packer.BatchModel.
func (m *table) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, own, other []float64) error {
	i := job(task)
	for k, o := range partners {
		j := job(o)
		own[k], other[k] = soften(gpu, m.speeds[i*m.n+j]), soften(gpu, m.speeds[j*m.n+i])
	}
	return nil
}

// smallGPU is the memory of the smaller kind of GPU.
const smallGPU = profile.GiB

// soften raises a speed on the larger kinds of GPU.
func soften(gpu *packer.GPU, s float64) float64 {
	if gpu.Memory == smallGPU {
		return s
	}
	return math.Pow(s, 1.2-0.2*gpu.Memory.GiBs()/smallGPU.GiBs())
}

// drawn makes a table of n jobs: copies of the kinds of a source, each a little
// different, or jobs like no other.
func drawn(source *source, n int) *table {
	rng := rand.New(rand.NewPCG(42, uint64(n)))
	m := &table{n: n, speeds: make([]float64, n*n)}
	if source.speeds == nil {
		for i := range m.speeds {
			m.speeds[i] = 0.5 + rng.Float64()/2
		}
		return m
	}
	kind, jitter := make([]int, n), make([]float64, n)
	for i := range kind {
		kind[i] = rng.IntN(len(source.speeds))
		jitter[i] = math.Exp(0.02 * rng.NormFloat64())
	}
	for i := range n {
		for j := range n {
			m.speeds[i*n+j] = min(1, max(0.01, source.speeds[kind[i]][kind[j]]*jitter[i]))
		}
	}
	return m
}

// source is where speeds come from.
type source struct {
	name   string
	speeds [][]float64 // of each kind of job beside each; nil: at random
}

// sources returns the tables to measure with.
func sources(data string) ([]source, error) {
	out := []source{{name: "random"}}
	if data == "" {
		return append(out, source{"tied", tied()}), nil
	}
	lucid, err := measured(filepath.Join(data, "interference_lucid.csv"), "")
	if err != nil {
		return nil, err
	}
	gavel, err := measured(filepath.Join(data, "interference_gavel.csv"), "v100")
	if err != nil {
		return nil, err
	}
	return append(out, source{"lucid", lucid}, source{"gavel", gavel}), nil
}

// tied makes up 40 kinds of job with speeds in steps of 5 %.
func tied() [][]float64 {
	rng := rand.New(rand.NewPCG(40, 40))
	out := make([][]float64, 40)
	load := make([]float64, len(out))
	for i := range load {
		load[i] = rng.Float64()
	}
	for i := range out {
		out[i] = make([]float64, len(out))
		for j := range out[i] {
			out[i][j] = max(0.1, math.Round(20/(1+load[i]*load[j]+0.3*load[j]))/20)
		}
	}
	return out
}

// measured reads pair speeds, of one GPU if gpu is not empty. Pairs that were not
// measured or did not fit get the product of both jobs' mean speeds over the mean
// of all.
func measured(file, gpu string) ([][]float64, error) {
	pairs, err := read(file, trace.ReadPairs)
	if err != nil {
		return nil, err
	}
	g := &grid{index: map[string]int{}, known: map[[2]int]float64{}}
	for _, p := range pairs {
		if (gpu == "" || gpu == p.GPU) && p.SpeedA > 0 && p.SpeedB > 0 {
			i, j := g.job(p.A), g.job(p.B)
			g.known[[2]int{i, j}], g.known[[2]int{j, i}] = p.SpeedA, p.SpeedB
		}
	}
	if len(g.known) == 0 {
		return nil, fmt.Errorf("%s: no row with two speeds", file)
	}
	return g.filled(), nil
}

// read parses a file.
func read[T any](file string, parse func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(file)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	out, err := parse(f)
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// grid collects speeds by job.
type grid struct {
	index map[string]int
	known map[[2]int]float64
}

func (g *grid) job(name string) int {
	i, ok := g.index[name]
	if !ok {
		i = len(g.index)
		g.index[name] = i
	}
	return i
}

func (g *grid) filled() [][]float64 {
	n := len(g.index)
	out := make([][]float64, n)
	own, other := make([]float64, n), make([]float64, n)
	ownCount, otherCount := make([]float64, n), make([]float64, n)
	total, count := 0.0, 0.0
	for i := range out {
		out[i] = make([]float64, n)
		for j := range n {
			s, ok := g.known[[2]int{i, j}]
			if !ok {
				continue
			}
			out[i][j] = s
			own[i], other[j], total = own[i]+s, other[j]+s, total+s
			ownCount[i]++
			otherCount[j]++
			count++
		}
	}
	for i := range out {
		for j := range n {
			if out[i][j] == 0 {
				out[i][j] = own[i] / max(1, ownCount[i]) * other[j] / max(1, otherCount[j]) / (total / count)
			}
		}
	}
	return out
}
