package policy

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/colloc/sim"
)

// FGD is fragmentation gradient descent (Weng et al., ATC 2023): each task goes
// where it makes the cluster least fragmented. The fragmentation of a machine is
// what typical tasks cannot use of its idle GPUs,
//
//	F(n) = Σ_m p(m) · F(n, m),
//
// where F(n, m) is all that is idle if m does not fit n, and otherwise the sum
// over the GPUs with less left than m asks for. Typical are the most frequent
// requests that make up 95 % of Typical.
//
// As in the authors' artefact the score is int(100 · sigmoid(F before - F after))
// with F in GPUs, ties go to the first machine, and a task on part of a GPU goes to
// the GPU of the best score. Both details matter: without the rounding, or with
// random ties, FGD is no better than best fit.
type FGD struct {
	// Typical are the tasks that are to be expected, for example those of a
	// trace; required.
	Typical []sim.Task
	// Exact compares F itself instead of the rounded score.
	Exact bool
}

var _ sim.Policy = FGD{}

// Name implements [sim.Policy].
func (p FGD) Name() string {
	if p.Exact {
		return "fgd-exact"
	}
	return "fgd"
}

// Begin implements [sim.Policy].
func (p FGD) Begin(s *sim.State) (sim.Scheduler, error) {
	f := &fgd{FGD: p, typical: typicalOf(p.Typical)}
	f.nodes = nodes{memory: true, score: f.rate}
	f.begin(s)
	return f, nil
}

type fgd struct {
	FGD
	nodes
	typical []typical
}

// typical is a request with its frequency.
type typical struct {
	request
	p float64
}

// typicalShare is the part of the tasks that counts as typical.
const typicalShare = 0.95

// typicalOf counts the requests of tasks.
func typicalOf(tasks []sim.Task) []typical {
	count := map[request]int{}
	for i := range tasks {
		t := &tasks[i]
		r := request{cpu: t.CPU, memory: 0, share: t.Share, gpus: max(1, t.GPUs)}
		switch {
		case t.HostOnly:
			r.share, r.gpus = 0, 0
		case t.Share == 0:
			r.share = 1
		}
		count[r]++
	}
	var all []typical
	for r, n := range count {
		all = append(all, typical{r, float64(n)})
	}
	slices.SortFunc(all, func(a, b typical) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.share, b.share), cmp.Compare(a.cpu, b.cpu))
	})
	sum, n := 0.0, 0
	for n < len(all) && sum < typicalShare*float64(len(tasks)) {
		sum += all[n].p
		n++
	}
	all = all[:n]
	for i := range all {
		all[i].p /= sum
	}
	return all
}

// rate is the score of a machine and where the task would go on it.
func (f *fgd) rate(n *requests, t *sim.TaskView) (float64, []int) {
	before := f.fragmentation(n, n.cpu, n.sum)
	part := share(t)
	if t.HostOnly {
		return f.score(before - f.fragmentation(n, n.cpu-t.CPU, n.sum)), nil
	}
	if t.GPUs > 1 || part >= 1 {
		gpus := n.tightest(t)
		for _, g := range gpus {
			n.free[g] -= part
		}
		after := f.fragmentation(n, n.cpu-t.CPU, n.sum-float64(part*float64(t.GPUs)))
		for _, g := range gpus {
			n.free[g] += part
		}
		return f.score(before - after), gpus
	}
	best, top := -1, 0.0
	for i, x := range n.free {
		if x < part-slack {
			continue
		}
		n.free[i] = x - part
		score := f.score(before - f.fragmentation(n, n.cpu-t.CPU, n.sum-part))
		n.free[i] = x
		if best < 0 || score > top {
			best, top = i, score
		}
	}
	return top, []int{best}
}

// score is the artefact's.
func (f *fgd) score(descent float64) float64 {
	if f.Exact {
		return descent
	}
	return math.Floor(round9(100 / (1 + math.Exp(-descent))))
}

// round9 drops the last bits, which differ between processors.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }

// fragmentation is F of a machine with so much CPU and GPU left.
func (f *fgd) fragmentation(n *requests, cpu, sum float64) float64 {
	total := 0.0
	for i := range f.typical {
		m := &f.typical[i]
		lost := sum
		if m.gpus > 0 && m.cpu <= cpu+slack && n.enough(m.share, m.gpus) {
			lost = 0
			for _, x := range n.free {
				if x < m.share-slack {
					lost += x
				}
			}
		}
		total += float64(m.p * lost)
	}
	return total
}
