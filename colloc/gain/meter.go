package gain

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
)

// meter watches who is on which GPU.
type meter struct {
	lives []life
	on    [][]int         // jobs of each GPU
	since []time.Duration // the set of each GPU is that since then
	where map[int][]int   // GPUs of each job that runs
	pairs map[[2]int]time.Duration
	order [][2]int // pairs as they came together
}

func newMeter(gpus int, lives []life) *meter {
	return &meter{
		lives: lives, on: make([][]int, gpus), since: make([]time.Duration, gpus),
		where: map[int][]int{}, pairs: map[[2]int]time.Duration{},
	}
}

// event takes note of what happens.
func (m *meter) event(e *sim.Event) {
	switch e.Kind {
	case sim.Start, sim.Recovery:
		job := index(e.Task)
		m.where[job] = slices.Clone(e.GPUs)
		for _, g := range e.GPUs {
			m.settle(g, e.At)
			for _, mate := range m.on[g] {
				m.meet(job, mate)
			}
			m.on[g] = append(m.on[g], job)
		}
	case sim.Preemption, sim.OutOfMemory, sim.Finish, sim.Failure:
		job := index(e.Task)
		for _, g := range m.where[job] {
			m.settle(g, e.At)
			m.on[g] = slices.DeleteFunc(m.on[g], func(j int) bool { return j == job })
		}
		delete(m.where, job)
	default:
	}
}

func pairOf(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// meet notes that two jobs share from now on.
func (m *meter) meet(a, b int) {
	if _, ok := m.pairs[pairOf(a, b)]; !ok {
		m.pairs[pairOf(a, b)] = 0
		m.order = append(m.order, pairOf(a, b))
	}
	m.lives[a].mates, m.lives[b].mates = true, true
}

// settle brings the account of a GPU up to a moment.
func (m *meter) settle(g int, now time.Duration) {
	held := now - m.since[g]
	m.since[g] = now
	for i, job := range m.on[g] {
		m.lives[job].hours += held.Hours() / float64(len(m.on[g]))
		for _, mate := range m.on[g][i+1:] {
			m.pairs[pairOf(job, mate)] += held
		}
	}
}

// named returns the pairs by the names of their jobs.
func (p *player) named(m *meter) []Pair {
	var list []Pair
	for _, pair := range m.order {
		if held := m.pairs[pair]; held > 0 {
			list = append(list, Pair{A: p.jobs[pair[0]].ID, B: p.jobs[pair[1]].ID, Pool: p.name, Hours: held.Hours()})
		}
	}
	return list
}

// mostTogether is how many pairs of kinds a report names.
const mostTogether = 20

// together adds pairs up by kinds, into all.
func (p *player) together(m *meter, all map[[2]string]Together) {
	for _, pair := range m.order {
		a, b := p.jobs[pair[0]].kind, p.jobs[pair[1]].kind
		key := [2]string{min(a, b), max(a, b)}
		t := all[key]
		t.A, t.B, t.Times, t.Hours = key[0], key[1], t.Times+1, t.Hours+m.pairs[pair].Hours()
		all[key] = t
	}
}

// longest are the pairs of kinds that share most.
func longest(all map[[2]string]Together) []Together {
	list := []Together{}
	for _, t := range all {
		list = append(list, t)
	}
	slices.SortFunc(list, func(x, y Together) int {
		return cmp.Or(cmp.Compare(y.Hours, x.Hours), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return list[:min(len(list), mostTogether)]
}
