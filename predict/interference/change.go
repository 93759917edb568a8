package interference

import "math"

const (
	// newestRuns is how many co-runs a world has at least. A change has moved all speeds by
	// leastShift half widths of their intervals, and is likelier than none by leastLikely,
	// as the logarithm of the ratio.
	newestRuns  = 12
	leastShift  = 0.2
	leastLikely = 6.5
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
// likelihood is that of normal errors with one mean a type, with a shift against without.
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
				all = append(all, speed{k, set[i].typ, max(-mostOff, min(mostOff, off/half))})
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
// likelier that is than that they did not. The speeds of a pair err together and
// count as one.
func shiftOf(types []compared) (shift, likely float64) {
	var n, weight, moved, squares float64
	for i := range types {
		c := &types[i]
		if c.n[0] == 0 || c.n[1] == 0 {
			continue
		}
		both, sum := c.n[0]+c.n[1], c.sum[0]+c.sum[1]
		by := c.n[0] * c.n[1] / both
		n += both
		weight += by
		moved += float64(by * (c.sum[1]/c.n[1] - c.sum[0]/c.n[0]))
		squares += c.squares - float64(sum*sum/both)
	}
	if weight == 0 || squares <= 0 {
		return 0, 0
	}
	shift = moved / weight
	left := squares - float64(shift*moved)
	return shift, n / 4 * math.Log(squares/max(left, squares*1e-12))
}
