package interference

import "math"

const (
	// newestRuns is how many co-runs a world has at least. A change has moved all speeds by
	// leastShift half widths of their intervals, and is likelier than none by leastLikely,
	// as the logarithm of the ratio. Of Lucid's and Gavel's families that are learned as
	// measured the largest was 3.8, after a drift of x.5, x.7 or x1.3 the smallest 6.1.
	newestRuns  = 12
	leastShift  = 0.2
	leastLikely = 5
	// huber is what an error counts for at most, in half widths of 90 %: 1.345 standard deviations.
	huber = 1.345 / 1.645
	// mostChanges is at how many places a change is looked for.
	mostChanges = 256
)

// compared are the errors of one type of tasks, in half widths, before a place and from it on.
type compared struct {
	n, sum  [2]float64
	squares float64
}

// changed is the first kept co-run of the newest world: where the errors that the fit leaves
// are all shifted to one side of what they were before, as after a driver that was mended; 0
// is nowhere. Each type is compared with itself, so that other tasks are no other world. The
// likelihood is that of normal errors with one mean a type, with a shift against without;
// wild ones count for no more than [huber].
// O(mostChanges · speeds).
func (r *regime) changed() int {
	type speed struct {
		run int
		typ int32
		off float64
	}
	var all []speed
	w := &scratch{}
	for k, o := range r.runs {
		set := r.members(o.Set)
		for i, s := range o.Speeds {
			y, ok := s.Get()
			if !ok || len(set) < 2 || set[i].typ == noEffect {
				continue
			}
			off := r.curve().off(y, r.loss(set, i, true))
			if half := r.expected(set, i, &w.row); half > 0 {
				all = append(all, speed{k, set[i].typ, max(-huber, min(huber, off/half))})
			}
		}
	}
	likeliest, at := float64(leastLikely), 0
	types := make([]compared, len(r.roster.effects))
	for from := newestRuns; from <= len(r.runs)-newestRuns; from += 1 + len(r.runs)/mostChanges {
		clear(types)
		for _, s := range all {
			side := 0
			if s.run >= from {
				side = 1
			}
			c := &types[s.typ]
			c.n[side]++
			c.sum[side] += s.off
			c.squares += float64(s.off * s.off)
		}
		if shift, likely := shiftOf(types); math.Abs(shift) > leastShift && likely > likeliest {
			likeliest, at = likely, from
		}
	}
	return at
}

// shiftOf is by how much the types of both sides moved, and the logarithm of how much
// likelier that is than that they did not, by the degrees of freedom that are left. The
// speeds of a pair err together and count as one.
func shiftOf(types []compared) (shift, likely float64) {
	var free, weight, moved, squares float64
	for i := range types {
		c := &types[i]
		if c.n[0] == 0 || c.n[1] == 0 {
			continue
		}
		both, sum := c.n[0]+c.n[1], c.sum[0]+c.sum[1]
		by := c.n[0] * c.n[1] / both
		free += both - 1
		weight += by
		moved += float64(by * (c.sum[1]/c.n[1] - c.sum[0]/c.n[0]))
		squares += c.squares - float64(sum*sum/both)
	}
	if weight == 0 || squares <= 0 {
		return 0, 0
	}
	shift = moved / weight
	left := squares - float64(shift*moved)
	return shift, max(0, free-1) / 4 * math.Log(squares/max(left, squares*1e-12))
}
