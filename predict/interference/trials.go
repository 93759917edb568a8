package interference

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"example.com/colloc/profile"
)

// Trials is what was measured of sets of tasks that ran together on one GPU product by
// one mechanism, as a model had it when it was asked: no prediction, the measurements
// themselves. It knows the co-runs that are kept, see [Predictor.Refit], and not what a
// file of [Predictor.Save] was fitted to. Tasks count as the same where model, data set,
// batch and precision are; one without a name is like no other. Of a set the newest five
// co-runs count, by their median. Safe for concurrent use.
type Trials struct {
	pairs  map[taskType]map[taskType]pairTrial
	larger []trial
}

// pairTrial holds both speeds of a pair; NaN is not measured.
type pairTrial [2]float64

// trial is what was measured of a set of three and more.
type trial struct {
	types  []taskType // sorted
	speeds []float64
}

// trials are the Trials of a regime, made when they are first asked for.
type trials struct {
	once sync.Once
	Trials
}

// None reports that no set is known.
func (t Trials) None() bool { return len(t.pairs)+len(t.larger) == 0 }

// Partners are the tasks that one was measured beside.
type Partners map[taskType]pairTrial

// With returns those that a task was measured beside in pairs.
func (t Trials) With(p *profile.Profile) Partners {
	k, _ := typeOf(p) // nobody is kept by no name
	return t.pairs[k]
}

// Beside returns the median speed of the task and that of a partner beside it; missing
// is what was not measured.
func (of Partners) Beside(partner *profile.Profile) (own, other profile.Opt[float64]) {
	k, _ := typeOf(partner)
	if t, ok := of[k]; ok {
		own, other = measured(t[0]), measured(t[1])
	}
	return own, other
}

func measured(v float64) profile.Opt[float64] {
	if math.IsNaN(v) {
		return profile.Opt[float64]{}
	}
	return profile.Some(v)
}

// Larger calls found for every part of set, of three tasks and more, that was measured:
// with the places of its tasks in the set, and their speeds.
func (t Trials) Larger(set []*profile.Profile, found func(places []int, speeds []profile.Opt[float64])) {
	for i := range t.larger {
		places := t.larger[i].in(set)
		if places == nil {
			continue
		}
		speeds := make([]profile.Opt[float64], len(places))
		for k, v := range t.larger[i].speeds {
			speeds[k] = measured(v)
		}
		found(places, speeds)
	}
}

// in returns the places of the first tasks of set that make up the trial, or nil.
func (t *trial) in(set []*profile.Profile) []int {
	if len(set) < len(t.types) {
		return nil
	}
	var places []int
	for _, want := range t.types {
		at := slices.IndexFunc(set, func(p *profile.Profile) bool { k, named := typeOf(p); return named && k == want })
		for at >= 0 && slices.Contains(places, at) {
			next := slices.IndexFunc(set[at+1:], func(p *profile.Profile) bool { k, named := typeOf(p); return named && k == want })
			if at += 1 + next; next < 0 {
				at = -1
			}
		}
		if at < 0 {
			return nil
		}
		places = append(places, at)
	}
	return places
}

// newestTrials is how many co-runs of a set tell what is expected of it: one that was
// disturbed does not outvote the others.
const newestTrials = 5

// history is what was measured of a set.
type history struct {
	types  []taskType
	speeds [][]float64 // of each task, the newest first
}

// add adds an older co-run.
func (h *history) add(speeds []float64) {
	for i, v := range speeds {
		if len(h.speeds[i]) < newestTrials && !math.IsNaN(v) {
			h.speeds[i] = append(h.speeds[i], v)
		}
	}
}

// trialsOf collects what was measured of each set of named tasks.
func trialsOf(lists ...[]*Observation) Trials {
	seen := make(map[any]*history) // by the types of a pair, by setKey of more
	var order []*history
	for _, list := range slices.Backward(lists) {
		for _, o := range slices.Backward(list) {
			types, speeds := named(o)
			if types == nil {
				continue
			}
			var key any
			if len(types) == 2 {
				key = [2]taskType(types)
			} else {
				key = setKey(o)
			}
			h := seen[key]
			if h == nil {
				h = &history{types, make([][]float64, len(types))}
				seen[key], order = h, append(order, h)
			}
			h.add(speeds)
		}
	}
	t := Trials{pairs: make(map[taskType]map[taskType]pairTrial)}
	put := func(a, b taskType, own, other float64) {
		if t.pairs[a] == nil {
			t.pairs[a] = make(map[taskType]pairTrial)
		}
		t.pairs[a][b] = pairTrial{own, other}
	}
	for _, h := range order {
		middle := make([]float64, len(h.types))
		for i := range middle {
			middle[i] = median(h.speeds[i])
		}
		if len(middle) > 2 {
			t.larger = append(t.larger, trial{h.types, middle})
			continue
		}
		put(h.types[0], h.types[1], middle[0], middle[1])
		put(h.types[1], h.types[0], middle[1], middle[0])
	}
	return t
}

// named returns the types of a co-run in order and the speed of each, NaN where it is
// missing; tasks of one type share the mean of theirs. It is nil where a task has no name
// or nothing was measured.
func named(o *Observation) ([]taskType, []float64) {
	type one struct {
		taskType
		speed float64
	}
	var all []one
	told := false
	for i, p := range o.Set {
		t, ok := typeOf(p)
		if !ok {
			return nil, nil
		}
		v, some := o.Speeds[i].Get()
		if told = told || some; !some {
			v = math.NaN()
		}
		all = append(all, one{t, v})
	}
	if !told || len(all) < 2 {
		return nil, nil
	}
	slices.SortStableFunc(all, func(a, b one) int { return a.compare(b.taskType) })
	types, speeds := make([]taskType, len(all)), make([]float64, len(all))
	for from := 0; from < len(all); {
		to, sum, n := from, 0.0, 0.0
		for ; to < len(all) && all[to].taskType == all[from].taskType; to++ {
			if v := all[to].speed; !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		for ; from < to; from++ {
			types[from], speeds[from] = all[from].taskType, sum/n // 0/0 is NaN
		}
	}
	return types, speeds
}

func (t taskType) compare(o taskType) int {
	return cmp.Or(cmp.Compare(t.model, o.model), cmp.Compare(t.dataset, o.dataset), cmp.Compare(t.batch, o.batch), cmp.Compare(t.precision, o.precision))
}

// median is the middle of some speeds, NaN of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// setKey names the types of a co-run.
func setKey(o *Observation) string {
	names := make([]string, len(o.Set))
	for i, p := range o.Set {
		t, _ := typeOf(p)
		names[i] = t.String()
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
