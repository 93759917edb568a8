package turn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

// line is the jobs of one user and one priority that wait, the first first.
type line struct {
	uid    uint32
	weight float64
	had    float64 // what the user had, runs now, and got in this pass, in GPU seconds
	jobs   []int
}

// due says who of two users is next: the smaller.
func (l *line) due() float64 { return l.had / l.weight }

// Order implements runner.Turns: by priority, then whoever had least of late compared with
// what is due, counting each job that runs and each one before it in the order as a run of
// mean length; of one user in the order of submission. O(jobs · users).
func (t *Turns) Order(ready, active []*queue.Record) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	order, holding := t.order(ready, active)
	t.holding = holding
	return order
}

// Foresee is Order for who only wants to know.
func (t *Turns) Foresee(ready, active []*queue.Record) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	order, _ := t.order(ready, active)
	return order
}

// order is the order of what is ready, and how many GPUs each user holds.
func (t *Turns) order(ready, active []*queue.Record) (order []int, holding map[uint32]int) {
	each := 1.0
	if t.kept.Runs > 0 {
		each = max(t.kept.Mean, 1e-3)
	}
	holding = make(map[uint32]int)
	for _, r := range active {
		holding[uid(r)] += r.Task.Width()
	}
	had := make(map[uint32]float64)
	order = make([]int, 0, len(ready))
	for from := 0; from < len(ready); {
		upTo := from
		for upTo < len(ready) && ready[upTo].Task.Priority == ready[from].Task.Priority {
			upTo++
		}
		lines := t.lines(ready, from, upTo)
		for _, l := range lines {
			if _, known := had[l.uid]; !known {
				had[l.uid] = t.account(l.uid).Recent + each*float64(holding[l.uid])
			}
			l.had = had[l.uid]
		}
		order = merge(order, lines, ready, each)
		for _, l := range lines {
			had[l.uid] = l.had
		}
		from = upTo
	}
	return order, holding
}

// lines sorts jobs of one priority by their users, who come in the order of their first
// jobs.
func (t *Turns) lines(ready []*queue.Record, from, upTo int) []*line {
	var lines []*line
	of := make(map[uint32]*line)
	for i := from; i < upTo; i++ {
		u := uid(ready[i])
		l := of[u]
		if l == nil {
			l = &line{uid: u, weight: t.Weight(u)}
			of[u] = l
			lines = append(lines, l)
		}
		l.jobs = append(l.jobs, i)
	}
	return lines
}

// merge appends the jobs of all lines, always of the one that is due most.
func merge(order []int, lines []*line, ready []*queue.Record, each float64) []int {
	left := slices.Clone(lines)
	for len(left) > 0 {
		l := slices.MinFunc(left, func(a, b *line) int {
			return cmp.Or(cmp.Compare(a.due(), b.due()), cmp.Compare(a.jobs[0], b.jobs[0]))
		})
		i := l.jobs[0]
		order = append(order, i)
		l.had += each * float64(ready[i].Task.Width())
		if l.jobs = l.jobs[1:]; len(l.jobs) == 0 {
			left = slices.DeleteFunc(left, func(other *line) bool { return other == l })
		}
	}
	return order
}

// Allow implements runner.Turns.
func (t *Turns) Allow(r *queue.Record) (avoid []nvmlx.DeviceID, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Draining {
		return nil, "the station drains: nothing starts any more"
	}
	u := uid(r)
	if most := t.policy.limit(u).MaxGPUs; most > 0 && t.holding[u]+r.Task.Width() > most {
		return nil, fmt.Sprintf("its user has %d GPUs, shared ones counted, of the %d that one may have at once", t.holding[u], most)
	}
	if why := t.overQuota(u); why != "" {
		return nil, why
	}
	for id := range t.kept.Closed {
		if c := t.closed(id); c != nil && (!c.Reserved || c.UID != u) {
			avoid = append(avoid, id)
		}
	}
	slices.Sort(avoid)
	return avoid, ""
}

// Placed implements runner.Turns.
func (t *Turns) Placed(r *queue.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holding[uid(r)] += r.Task.Width()
}

// Share is the part of the station that is due to each of some users.
func (t *Turns) Share(users []uint32) map[uint32]float64 {
	sum, share := 0.0, make(map[uint32]float64, len(users))
	for _, u := range users {
		sum += t.Weight(u)
	}
	for _, u := range users {
		share[u] = t.Weight(u) / math.Max(sum, math.SmallestNonzeroFloat64)
	}
	return share
}
