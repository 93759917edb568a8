package policy

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/interleave"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/profile"
)

// Muri groups tasks of the same number of GPUs whose stages interleave, and runs
// each group on the same GPUs (Zhao et al., SIGCOMM 2022,
// doi:10.1145/3544216.3544224). At every event it plans anew:
//
//   - Tasks are ranked by remaining time × GPUs (Muri-S), or by attained service
//     where lengths are unknown (Muri-L). Ties go to the order of the last plan,
//     in which larger tasks come first.
//
//   - Going down the ranks, for each task that would fit exclusively the next
//     four of its size are admitted.
//
//   - While the admitted tasks need more GPUs than there are, groups of the same
//     size are matched: a maximum-weight matching on the used share of the
//     resources over a cycle,
//
//     Σ stages / (4 · cycle),
//
//     at most four rounds, groups of at most four. Merging stops as soon as the
//     groups fit the cluster.
//
//   - A group whose cycle is longer than its members one after the other is
//     taken apart. Groups are placed in the order of their best member, then all
//     that found room by size.
//
// Groups also keep the memory of the smallest GPU; tasks that ran out of it run
// alone, and so do those that ask for a share of a GPU or accept only some
// products. The authors' traces say nothing of these.
//
// Details that the paper leaves open are those of the authors' simulator
// (github.com/Rivendile/Muri 7264b1a, simulator/run_sim.py and matching.py).
type Muri struct {
	// Unaware ranks by attained service: Muri-L.
	Unaware bool
	// MaxGroup is the largest group; 0 means 4, the most that [speed.Stages] knows.
	MaxGroup int
}

var _ sim.Policy = Muri{}

// Name implements [sim.Policy].
func (p Muri) Name() string {
	if p.Unaware {
		return "muri-l"
	}
	return "muri-s"
}

// Begin implements [sim.Policy].
func (p Muri) Begin(s *sim.State) (sim.Scheduler, error) {
	if p.MaxGroup <= 0 || p.MaxGroup > 4 {
		p.MaxGroup = 4
	}
	m := &muri{Muri: p, cycles: interleave.NewCycles(), memory: math.MaxInt64 / 8}
	for _, g := range s.GPUs() {
		m.memory = min(m.memory, g.Total)
	}
	return m, nil
}

type muri struct {
	Muri
	order  []*muriTask // kept from plan to plan
	cycles *interleave.Cycles
	match  interleave.Matcher
	room   place.Room
	sizes  []int         // of tasks, in the order of their best-ranked
	need   int           // GPUs that the groups need
	memory profile.Bytes // of the smallest GPU
	groups map[int][]*group
}

// muriTask is a task in the queue.
type muriTask struct {
	*sim.TaskView
	key      float64
	admitted bool
	kind     int32 // of its stages
}

// group is tasks that run on the same GPUs.
type group struct {
	tasks []*muriTask
	gpus  []int
}

// kinds are those of its tasks.
func (g *group) kinds() []int32 {
	kinds := make([]int32, len(g.tasks))
	for i, t := range g.tasks {
		kinds[i] = t.kind
	}
	return kinds
}

// Decide implements [sim.Scheduler].
func (m *muri) Decide(s *sim.State) error {
	place.Hosts(s)
	m.rank(s)
	if len(m.order) == 0 {
		return nil
	}
	m.admit(s)
	if err := m.group(len(s.GPUs())); err != nil {
		return err
	}
	m.place(s, m.settle(s))
	slices.SortStableFunc(m.order, func(a, b *muriTask) int { return cmp.Compare(b.GPUs, a.GPUs) })
	return nil
}

// rank sorts the tasks in the system.
func (m *muri) rank(s *sim.State) {
	m.order = slices.DeleteFunc(m.order, func(t *muriTask) bool { return t.Ended() })
	for _, t := range s.Arrived() {
		if !t.HostOnly && !slices.ContainsFunc(m.order, func(o *muriTask) bool { return o.TaskView == t }) {
			m.order = append(m.order, &muriTask{TaskView: t, kind: m.cycles.Kind(t.Stages)})
		}
	}
	for _, t := range m.order {
		t.admitted = false
		if m.Unaware {
			t.key = float64(s.Attained(t.TaskView))
		} else {
			t.key = float64(s.Remaining(t.TaskView)) * float64(t.GPUs)
		}
	}
	slices.SortStableFunc(m.order, first)
}

// first orders tasks by priority, then by their keys.
func first(a, b *muriTask) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.key, b.key))
}

// admit chooses who is grouped.
func (m *muri) admit(s *sim.State) {
	buckets := map[int][]*muriTask{}
	m.sizes = m.sizes[:0]
	for _, t := range m.order {
		if len(buckets[t.GPUs]) == 0 {
			m.sizes = append(m.sizes, t.GPUs)
		}
		buckets[t.GPUs] = append(buckets[t.GPUs], t)
	}
	chosen := map[int]int{}
	m.room.Empty(s)
	m.groups, m.need = map[int][]*group{}, 0
	for _, t := range m.order {
		if t.admitted || m.room.Left == 0 || len(m.room.Take(s, t.TaskView, nil)) == 0 {
			continue
		}
		bucket := buckets[t.GPUs]
		from := chosen[t.GPUs]
		to := min(from+m.MaxGroup, len(bucket))
		for _, b := range bucket[from:to] {
			b.admitted = true
			m.groups[t.GPUs] = append(m.groups[t.GPUs], &group{tasks: []*muriTask{b}})
			m.need += t.GPUs
		}
		chosen[t.GPUs] = to
	}
}

// group merges groups, round by round, until they fit.
func (m *muri) group(gpus int) error {
	for range m.MaxGroup {
		for _, size := range m.sizes {
			if err := m.round(size, gpus); err != nil {
				return err
			}
		}
	}
	return nil
}

// round matches the groups of one size once.
func (m *muri) round(size, gpus int) error {
	groups := m.groups[size]
	if len(groups) < 2 || m.need <= gpus {
		return nil
	}
	partner, err := m.match.Pairs(len(groups), func(i, j int) float64 {
		return m.worth(groups[i], groups[j])
	})
	if err != nil {
		return err
	}
	var merged []*group
	for u, g := range groups {
		v := partner[u]
		switch {
		case v < 0:
			merged = append(merged, g)
		case v < u && m.need > gpus:
			m.need -= size
			merged = append(merged, &group{tasks: slices.Concat(groups[v].tasks, g.tasks)})
		case v < u:
			merged = append(merged, groups[v], g)
		}
	}
	m.groups[size] = merged
	return nil
}

// worth is what matching two groups is worth; 0 if they may not share.
func (m *muri) worth(a, b *group) float64 {
	var need profile.Bytes
	for _, g := range [2]*group{a, b} {
		for _, t := range g.tasks {
			need += min(t.Reserve, m.memory+1)
			if t.Deaths > 0 || t.Share > 0 || len(t.Only) > 0 || t.OneNode != a.tasks[0].OneNode {
				return 0
			}
		}
	}
	if need > m.memory {
		return 0
	}
	return m.cycles.Used(m.MaxGroup, a.kinds(), b.kinds())
}

// settle takes apart what does not gain and returns the groups that find room,
// best member first.
func (m *muri) settle(s *sim.State) []*group {
	var all []*group
	for _, size := range m.sizes {
		for _, g := range m.groups[size] {
			if len(g.tasks) == 1 || m.cycles.Gains(g.kinds()) {
				all = append(all, g)
				continue
			}
			for _, t := range g.tasks {
				all = append(all, &group{tasks: []*muriTask{t}})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int {
		return first(slices.MinFunc(a.tasks, first), slices.MinFunc(b.tasks, first))
	})
	m.room.Empty(s)
	return slices.DeleteFunc(all, func(g *group) bool {
		return len(m.room.Take(s, g.tasks[0].TaskView, nil)) == 0
	})
}

// place runs the groups, large ones first, each on GPUs of its own.
func (m *muri) place(s *sim.State, groups []*group) {
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.tasks[0].GPUs, a.tasks[0].GPUs) })
	m.room.Empty(s)
	stay := map[*sim.TaskView]bool{}
	for _, g := range groups {
		g.gpus = m.room.Take(s, g.tasks[0].TaskView, nil)
		for _, t := range g.tasks {
			stay[t.TaskView] = len(g.gpus) > 0 && slices.Equal(g.gpus, t.On)
		}
	}
	for t := range s.Running() {
		if !t.HostOnly && !stay[t] {
			s.Stop(t)
		}
	}
	for _, g := range groups {
		for _, t := range g.tasks {
			if len(g.gpus) > 0 && !t.Running() && s.FitsHosts(t.TaskView, g.gpus) {
				s.Start(t.TaskView, g.gpus...)
			}
		}
	}
}
