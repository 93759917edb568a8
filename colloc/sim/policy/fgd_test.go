package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/request"
)

// TestTypical: typical are the most frequent requests that make up 95 %, and no more.
func TestTypical(t *testing.T) {
	var tasks []sim.Task
	for range 19 {
		tasks = append(tasks, sim.Task{CPU: 2, Share: 0.5})
	}
	tasks = append(tasks, sim.Task{HostOnly: true, CPU: 2, Share: 0.5, GPUs: 1})
	if got := typicalOf(tasks); len(got) != 1 || got[0] != (typical{ask{2, 0.5, 1}, 1}) {
		t.Errorf("of 20 requests, 19 of them alike, typical are %+v", got)
	}
	tasks = append(tasks, sim.Task{HostOnly: true, CPU: 2})
	if got := typicalOf([]sim.Task{{CPU: 3}}); len(got) != 1 || got[0] != (typical{ask{3, 1, 1}, 1}) {
		t.Errorf("of one task on a whole GPU typical is %+v", got)
	}
	got := typicalOf(tasks)
	if len(got) != 2 || got[1].ask != (ask{cpu: 2}) || math.Abs(got[0].p-19./21) > 1e-12 || math.Abs(got[1].p-2./21) > 1e-12 {
		t.Errorf("of 21 requests, 19 and 2 alike, typical are %+v", got)
	}
}

// idle is F of a machine by its definition.
func idle(list []typical, cpu float64, free []float64) float64 {
	total := 0.0
	for _, m := range list {
		room, all, small := 0, 0.0, 0.0
		for _, x := range free {
			all += x
			if x < m.share {
				small += x
			} else {
				room++
			}
		}
		if m.gpus == 0 || m.cpu > cpu || room < m.gpus {
			small = all // m does not fit: nothing is of use
		}
		total += m.p * small
	}
	return total
}

// TestRate: whatever a machine has left and a task asks for, the score is how far F falls,
// and a task on a part of a GPU goes where it falls most.
func TestRate(t *testing.T) {
	draw := rand.New(rand.NewPCG(29, 2))
	quarters := func(most int) float64 { return float64(draw.IntN(4*most+1)) / 4 } // whose sums are exact
	gangs, parts, hosts := 0, 0, 0
	for range 3000 {
		n := &request.Machine{CPU: quarters(8)}
		for range 1 + draw.IntN(4) {
			n.Free = append(n.Free, quarters(1))
			n.Sum += n.Free[len(n.Free)-1]
		}
		f := &fgd{FGD: FGD{Exact: true}}
		for range 3 {
			f.typical = append(f.typical, typical{ask{quarters(4), []float64{0.25, 0.5, 1}[draw.IntN(3)], draw.IntN(3)}, quarters(1)})
		}
		v := &sim.TaskView{CPU: quarters(2), GPUs: 1 + draw.IntN(2), HostOnly: draw.IntN(5) == 0}
		if v.GPUs == 1 {
			v.Share = []float64{0, 0.25, 0.5}[draw.IntN(3)]
		}
		if v.CPU > n.CPU || !v.HostOnly && !n.Enough(request.Share(v), v.GPUs) {
			continue
		}
		score, gpus := f.rate(n, v)
		before := idle(f.typical, n.CPU, n.Free)
		fall := func(gpus ...int) float64 {
			free := append([]float64(nil), n.Free...)
			for _, g := range gpus {
				free[g] -= request.Share(v)
			}
			return before - idle(f.typical, n.CPU-v.CPU, free)
		}
		want := fall(gpus...)
		switch {
		case v.HostOnly:
			hosts++
		case v.Share > 0:
			parts++
			for g, x := range n.Free {
				if x >= v.Share {
					want = max(want, fall(g))
				}
			}
		default:
			gangs++
		}
		if math.Abs(score-want) > 1e-9 || !v.HostOnly && len(gpus) != v.GPUs {
			t.Fatalf("machine %+v, typical %+v: a task of %d x %v, %v cores on GPUs %v scores %v, want %v", n, f.typical, v.GPUs, v.Share, v.CPU, gpus, score, want)
		}
	}
	if min(gangs, parts, hosts) < 100 {
		t.Errorf("%d tasks of whole GPUs, %d of parts, %d without: too few", gangs, parts, hosts)
	}
}
