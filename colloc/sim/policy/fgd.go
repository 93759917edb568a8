package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/request"
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
	f.Frame = request.Frame{Kept: true, Score: f.rate}
	f.Frame.Begin(s)
	return f, nil
}

type fgd struct {
	FGD
	request.Frame
	typical []typical
}

// ask is what a task asks for.
type ask struct {
	cpu, share float64
	gpus       int
}

// typical is a request with its frequency.
type typical struct {
	ask
	p float64
}

// typicalShare is the part of the tasks that counts as typical.
const typicalShare = 0.95

// asksFor is what a task asks for.
func asksFor(hostOnly bool, cpu, share float64, gpus int) ask {
	switch {
	case hostOnly:
		return ask{cpu: cpu}
	case share == 0:
		share = 1
	}
	return ask{cpu: cpu, share: share, gpus: gpus}
}

// typicalOf counts the requests of tasks.
func typicalOf(tasks []sim.Task) []typical {
	count := map[ask]int{}
	for i := range tasks {
		t := &tasks[i]
		count[asksFor(t.HostOnly, t.CPU, t.Share, max(1, t.GPUs))]++
	}
	return mostly(count, len(tasks))
}

// mostly are the most frequent of so many requests in total.
func mostly(count map[ask]int, total int) []typical {
	var all []typical
	for r, n := range count {
		all = append(all, typical{r, float64(n)})
	}
	slices.SortFunc(all, func(a, b typical) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.share, b.share), cmp.Compare(a.cpu, b.cpu))
	})
	sum, n := 0.0, 0
	for sum < typicalShare*float64(total) { // all of them are total
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
func (f *fgd) rate(n *request.Machine, t *sim.TaskView) (float64, []int) {
	before := f.fragmentation(n, n.CPU, n.Sum)
	part := request.Share(t)
	if t.HostOnly {
		return f.score(before - f.fragmentation(n, n.CPU-t.CPU, n.Sum)), nil
	}
	if t.GPUs > 1 || part >= 1 {
		gpus := n.Tightest(t)
		for _, g := range gpus {
			n.Free[g] -= part
		}
		after := f.fragmentation(n, n.CPU-t.CPU, n.Sum-float64(part*float64(t.GPUs)))
		for _, g := range gpus {
			n.Free[g] += part
		}
		return f.score(before - after), gpus
	}
	best, top := -1, 0.0
	for i, x := range n.Free {
		if x < part-request.Slack {
			continue
		}
		n.Free[i] = x - part
		score := f.score(before - f.fragmentation(n, n.CPU-t.CPU, n.Sum-part))
		n.Free[i] = x
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
func (f *fgd) fragmentation(n *request.Machine, cpu, sum float64) float64 {
	total := 0.0
	for i := range f.typical {
		m := &f.typical[i]
		lost := sum
		if m.gpus > 0 && m.cpu <= cpu+request.Slack && n.Enough(m.share, m.gpus) {
			lost = 0
			for _, x := range n.Free {
				if x < m.share-request.Slack {
					lost += x
				}
			}
		}
		total += float64(m.p * lost)
	}
	return total
}

// BestFit puts each task on the machine where least is left over,
//
//	(CPU left / most CPU + GPUs left / most GPUs) / 2,
//
// compared in steps of a hundredth, and on the GPUs of it that have least left:
// the baseline of FGD's evaluation (Weng et al., ATC 2023), by requests of CPU
// and shares of GPUs. As there, a task runs in one machine: larger ones wait for
// ever.
type BestFit struct{}

var _ sim.Policy = BestFit{}

// Name implements [sim.Policy].
func (BestFit) Name() string { return "best-fit" }

// Begin implements [sim.Policy].
func (BestFit) Begin(s *sim.State) (sim.Scheduler, error) {
	mostCPU, mostGPU := 1.0, 1.0
	for i := range s.Nodes() {
		n := s.Nodes()[i]
		mostGPU = max(mostGPU, float64(n.Count))
		if n.CPU < 1e9 {
			mostCPU = max(mostCPU, n.CPU)
		}
	}
	f := &request.Frame{Kept: true, Score: func(n *request.Machine, t *sim.TaskView) (float64, []int) {
		cpu := min(n.CPU, mostCPU) - t.CPU
		gpu := n.Sum - float64(request.Share(t)*float64(t.GPUs))
		over := float64(0.5*cpu)/mostCPU + float64(0.5*gpu)/mostGPU
		score := float64(int(float64(100 * (1 - over))))
		if t.HostOnly {
			return score, nil
		}
		return score, n.Tightest(t)
	}}
	f.Begin(s)
	return f, nil
}

// RandomNode puts each task on a random machine where its requests fit: the
// other baseline of FGD's evaluation.
type RandomNode struct{}

var _ sim.Policy = RandomNode{}

// Name implements [sim.Policy].
func (RandomNode) Name() string { return "random-node" }

// Begin implements [sim.Policy].
func (RandomNode) Begin(s *sim.State) (sim.Scheduler, error) {
	draw := rand.New(rand.NewPCG(s.Seed(), 0x6e6f6465))
	f := &request.Frame{Score: func(n *request.Machine, t *sim.TaskView) (float64, []int) {
		if t.HostOnly {
			return draw.Float64(), nil
		}
		return draw.Float64(), n.Tightest(t)
	}}
	f.Begin(s)
	return f, nil
}
