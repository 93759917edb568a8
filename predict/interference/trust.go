package interference

import (
	"math"
	"slices"
)

// Two things keep what is learned honest. A measurement far off what is expected counts
// less until another says the same (TestOneLie). And a refit forgets the co-runs of before a
// [regime.changed] world. While all tasks are slower than predicted, or all faster, see [Drift], what
// is known is doubted and not the measurements: those count in full then.
const (
	// A measurement counts in full that is off by no more than these shares of the half width
	// of its interval. Beside others hardly a task runs much faster than is expected of it.
	trustedSlower = 0.75
	trustedFaster = 0.5
)

// farOff is a measured speed that is far from what is expected.
type farOff struct {
	*Observation
	i           int
	off, counts float64 // by how much, above 0 if slower, and how much of that counts in full
}

// weight is what a measured loss counts: speeds are measured equally well, and of a
// larger set they say less of its pairs, by the width of its interval.
func (r *regime) weight(loss float64, tasks int) float64 {
	c := r.curve()
	slope := c.slope(loss)
	return max(c.leastWeight(), slope*slope) / (wider(tasks) * wider(tasks))
}

// judge tells whether a measured speed of a co-run, of the members set, is far off: from what
// is expected, or would be if the model had not learned of it, by as much more as it moves
// what is expected.
func (r *regime) judge(o *Observation, set []member, i int, learned bool, w *scratch) (farOff, bool) {
	speed, measured := o.Speeds[i].Get()
	if !measured || len(set) < 2 {
		return farOff{}, false
	}
	loss, curve := r.curve().measured(speed), r.curve()
	counts := r.expected(set, i, &w.row)
	off := (loss - r.loss(set, i, true)) * curve.unit(loss)
	pull := r.weight(loss, 2) * r.post.Variance(&w.row)
	if !learned {
		pull /= 2 * (1 + pull)
	}
	off /= 1 - min(0.9, pull)
	if counts *= trustedSlower; off < 0 {
		counts *= trustedFaster / trustedSlower
	}
	return farOff{o, i, off, counts}, counts > 0 && math.Abs(off) > counts
}

// far are the speeds of the kept co-runs that are far off.
func (r *regime) far() (far []farOff) {
	w := &scratch{}
	for _, o := range r.runs {
		set := r.members(o.Set)
		for i := range set {
			if f, is := r.judge(o, set, i, true, w); is {
				far = append(far, f)
			}
		}
	}
	return far
}

// claim is what a speed that is far off says: that tasks of a type are slower or faster than
// is expected of them, or those beside them.
type claim struct {
	taskType
	beside, slower bool
}

func (f *farOff) claims() (all []claim) {
	for k, p := range f.Set {
		if t, named := typeOf(p); named {
			if c := (claim{t, k != f.i, f.off > 0}); !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// witnesses are, for each claim, the two co-runs that are off most.
type witnesses map[claim][2]struct {
	*Observation
	off float64
}

func witnessesOf(far []farOff) witnesses {
	w := make(witnesses)
	for i := range far {
		f := &far[i]
		off := math.Abs(f.off)
		for _, c := range f.claims() {
			most := w[c]
			switch {
			case most[0].Observation == f.Observation:
				most[0].off = max(most[0].off, off)
			case off > most[0].off:
				most[1] = most[0]
				most[0].Observation, most[0].off = f.Observation, off
			case off > most[1].off:
				most[1].Observation, most[1].off = f.Observation, off
			}
			w[c] = most
		}
	}
	return w
}

// trust is how much of f is within its interval, or said by another co-run as well.
func (w witnesses) trust(f *farOff) float64 {
	counts := f.counts
	for _, c := range f.claims() {
		for _, other := range w[c] {
			if other.Observation != f.Observation {
				counts = max(counts, other.off)
			}
		}
	}
	return min(1, counts/math.Abs(f.off))
}

// trust is what remains of the weight of a speed that is about to be learned.
func (r *regime) trust(o *Observation, set []member, i int, w *scratch) float64 {
	if f, is := r.judge(o, set, i, false, w); is {
		return witnessesOf(r.far()).trust(&f)
	}
	return 1
}

// credits are what the speeds of the kept co-runs count in a refit.
func (r *regime) credits(doubted bool) map[*Observation][]float64 {
	out := make(map[*Observation][]float64, len(r.runs))
	for k, o := range r.runs {
		out[o] = slices.Repeat([]float64{r.memory.weight(k)}, len(o.Set))
	}
	if doubted {
		return out
	}
	far := r.far()
	all := witnessesOf(far)
	for i := range far {
		out[far[i].Observation][far[i].i] *= all.trust(&far[i])
	}
	return out
}

// credit is what a speed counts in a fit.
func (r *regime) credit(o *Observation, i int) float64 {
	if c := r.credited[o]; c != nil {
		return c[i]
	}
	return 1
}
