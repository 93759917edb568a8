package packer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// tiedPairs makes up 40 kinds of job with speeds in steps of 5 %, as packbench does.
func tiedPairs() *measured {
	rng := rand.New(rand.NewPCG(40, 40))
	m := &measured{speed: map[[2]string]float64{}}
	load := make([]float64, 40)
	for i := range load {
		load[i] = rng.Float64()
		m.jobs = append(m.jobs, strconv.Itoa(i))
	}
	for i, a := range m.jobs {
		for j, b := range m.jobs {
			m.speed[[2]string{a, b}] = max(0.1, math.Round(20/(1+load[i]*load[j]+0.3*load[j]))/20)
		}
	}
	return m
}

// BenchmarkMatchingTies: many pairs are worth no more than their members apart,
// or all the same.
func BenchmarkMatchingTies(b *testing.B) {
	for _, w := range []string{"k80", "tied"} {
		for _, size := range [][2]int{{1000, 500}, {3000, 1500}, {1000, 300}, {1000, 800}} {
			b.Run(fmt.Sprintf("weights=%s/n=%d/gpus=%d", w, size[0], size[1]), func(b *testing.B) {
				benchPack(b, Matching{}, benchProblem(benchModel(b, w, size[0]), size[1]))
			})
		}
	}
}
