package plan

import (
	"math/rand/v2"
	"slices"

	"example.com/colloc/profile"
)

// Options says what to measure.
type Options struct {
	Tasks      []Task
	Mechanisms []profile.Mechanism // TimeSlice, MPS
	Repeats    int                 // of everything, at least 1
	Triples    int                 // sampled sets of three
	Quadruples int                 // sampled sets of four
	Threads    bool                // MPS with thread percentages
	Seed       uint64              // of sampling and order
}

// Stage is a part of the plan that is worth finishing before the next.
type Stage struct {
	Name  string // for people
	Cells []Cell
}

// Stages returns the cells of each stage, the most valuable stage first, each
// stage in a random order of its own, so that drift of the machine (heat, other
// tenants) does not look like an effect of a mechanism or a partner. The same
// options give the same plan.
func (o *Options) Stages() []Stage {
	all, core := split(o.Tasks)
	everyPair, corePairs := multisets(all), multisets(core)
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	triples, quadruples := sample(core, 3, o.Triples, rng), sample(core, 4, o.Quadruples, rng)
	again := sampleOf(corePairs, (len(corePairs)+3)/4, rng)
	list := []Stage{
		{"every task alone", o.solo(all, 0)},
		{"pairs of the core tasks", slices.Concat(o.shared(corePairs, 0), o.solo(core, 1))},
		{"sets of three and four", slices.Concat(o.shared(triples, 0), o.shared(quadruples, 0))},
		{"repetitions for the noise floor", slices.Concat(o.solo(all, 1), o.solo(all, 2), o.shared(again, 1))},
		{"every other pair", o.shared(everyPair, 0)},
		{"MPS with thread percentages", o.capped(all, corePairs, triples, quadruples, 0)},
	}
	for r := 1; r < o.Repeats; r++ {
		list = append(list, Stage{"repetition of everything", slices.Concat(
			o.solo(all, r), o.shared(everyPair, r), o.shared(triples, r), o.shared(quadruples, r),
			o.capped(all, corePairs, triples, quadruples, r))})
	}
	seen := make(map[string]bool)
	for i := range list {
		list[i].Cells = slices.DeleteFunc(list[i].Cells, func(c Cell) bool {
			known := seen[c.ID()]
			seen[c.ID()] = true
			return known
		})
		shuffle(list[i].Cells, rng)
	}
	return slices.DeleteFunc(list, func(s Stage) bool { return len(s.Cells) == 0 })
}

// split returns the names of all tasks and of the core; without at least two
// core tasks, the first eight are the core.
func split(tasks []Task) (all, core []string) {
	for _, t := range tasks {
		all = append(all, t.Name)
		if t.Core {
			core = append(core, t.Name)
		}
	}
	if len(core) < 2 {
		core = all[:min(8, len(all))]
	}
	return all, core
}

func shuffle[T any](list []T, rng *rand.Rand) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// multisets returns all pairs, each task beside itself included.
func multisets(names []string) [][]string {
	var pairs [][]string
	for i := range names {
		for j := i; j < len(names); j++ {
			pairs = append(pairs, []string{names[i], names[j]})
		}
	}
	return pairs
}

// sample returns at most n different sets of k different names.
func sample(names []string, k, n int, rng *rand.Rand) [][]string {
	return sampleOf(combinations(names, k), n, rng)
}

func sampleOf(sets [][]string, n int, rng *rand.Rand) [][]string {
	sets = slices.Clone(sets)
	shuffle(sets, rng)
	return sets[:min(max(n, 0), len(sets))]
}

func combinations(names []string, k int) [][]string {
	if k == 0 {
		return [][]string{nil}
	}
	var sets [][]string
	for i := range names {
		for _, rest := range combinations(names[i+1:], k-1) {
			sets = append(sets, append([]string{names[i]}, rest...))
		}
	}
	return sets
}

// solo returns the references: each task with the GPU to itself.
func (o *Options) solo(names []string, repeat int) []Cell {
	var cells []Cell
	for _, name := range names {
		cells = append(cells, Cell{Mechanism: profile.Exclusive, Tasks: []string{name}, Repeat: repeat})
	}
	return cells
}

// shared returns the sets under every mechanism.
func (o *Options) shared(sets [][]string, repeat int) []Cell {
	var cells []Cell
	for _, m := range o.Mechanisms {
		for _, set := range sets {
			cells = append(cells, Cell{Mechanism: m, Tasks: set, Repeat: repeat})
		}
	}
	return cells
}

// capped returns MPS cells with thread percentages: each task alone with a
// quarter, a half and all of the GPU, equal shares for sets, and for pairs also
// unequal ones.
func (o *Options) capped(names []string, pairs, triples, quadruples [][]string, repeat int) []Cell {
	if !o.Threads || !slices.Contains(o.Mechanisms, profile.MPS) {
		return nil
	}
	var cells []Cell
	add := func(set []string, shares ...float64) {
		cells = append(cells, Cell{Mechanism: profile.MPS, Tasks: set, Threads: shares, Repeat: repeat})
	}
	for _, name := range names {
		for _, share := range []float64{0.25, 0.5, 1} {
			add([]string{name}, share)
		}
	}
	for _, pair := range pairs {
		add(pair, 0.5, 0.5)
		add(pair, 0.25, 0.75)
		if pair[0] != pair[1] {
			add(pair, 0.75, 0.25)
		}
	}
	for _, set := range triples {
		add(set, 0.33, 0.33, 0.33)
	}
	for _, set := range quadruples {
		add(set, 0.25, 0.25, 0.25, 0.25)
	}
	return cells
}
