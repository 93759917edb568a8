package dispatch

import (
	"cmp"
	"math"
	"slices"
)

// line is the jobs of one user and class that may start, the first first.
type line struct {
	weight float64
	had    float64 // what the user had, has, and got in this order, in GPU seconds
	jobs   []*entry
}

// due says who of two users is next: the smaller.
func (l *line) due() float64 { return l.had / l.weight }

// turns gives the jobs that wait their tiers: within a class whoever had least of late, for what is
// due, goes first, counting each job that runs or comes before as a run of mean length; of one user in
// the order of arrival. Where nobody looks ahead that is the order. Else jobs are of one tier whose
// users differ by no more than a run for each GPU.
func (d *Dispatcher) turns() {
	if d.o.HalfLife == 0 {
		return
	}
	classes := map[int]map[string]*line{}
	for _, j := range d.order {
		if j.gone || j.run != nil || !d.ready(j) {
			continue
		}
		lines := classes[j.Priority]
		if lines == nil {
			lines = map[string]*line{}
			classes[j.Priority] = lines
		}
		if lines[j.User] == nil {
			lines[j.User] = &line{weight: d.limits(j.User).Weight}
		}
		lines[j.User].jobs = append(lines[j.User].jobs, j)
	}
	each := 1.0
	if d.ended > 0 {
		each = max(d.mean, 1e-3)
	}
	span := 0.0
	if d.o.Scheduler.Budget.Or(1) > 0 {
		span = each * float64(max(1, len(d.cards)))
	}
	had := map[string]float64{}
	for _, class := range sortedKeys(classes, func(a, b int) int { return cmp.Compare(b, a) }) {
		lines := classes[class]
		for name, l := range lines {
			if _, known := had[name]; !known {
				u := d.users[name]
				s := u.until(d.now, &d.o)
				had[name] = s.recent + float64(each*float64(u.gpus))
			}
			l.had = had[name]
		}
		d.merge(lines, each, span)
		for name, l := range lines {
			had[name] = l.had
		}
	}
}

// merge gives the jobs of all lines of a class their tiers, always to the one that is due most.
func (d *Dispatcher) merge(lines map[string]*line, each, span float64) {
	left := make([]*line, 0, len(lines))
	for _, l := range lines {
		left = append(left, l)
	}
	before := func(a, b *line) int {
		return cmp.Or(cmp.Compare(a.due(), b.due()), cmp.Compare(a.jobs[0].seq, b.jobs[0].seq))
	}
	slices.SortFunc(left, before)
	least := left[0].due()
	for n := 0; len(left) > 0; n++ {
		l := left[0]
		tier := n
		switch {
		case len(lines) == 1: // there is nobody to be fair to
			tier = 0
		case span > 0:
			tier = int(min((l.due()-least)/span, 1e9))
		}
		if j := l.jobs[0]; j.tier != tier {
			j.tier = tier
			d.later(func() error { return d.online.Tier(j.ID, tier) })
		}
		l.had = min(l.had+float64(each*float64(l.jobs[0].Width())), math.MaxFloat64)
		left = left[1:]
		if l.jobs = l.jobs[1:]; len(l.jobs) > 0 {
			at, _ := slices.BinarySearchFunc(left, l, before)
			left = slices.Insert(left, at, l)
		}
	}
}

// sortedKeys are the keys of a map in an order.
func sortedKeys[K comparable, V any](m map[K]V, by func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, by)
	return keys
}
