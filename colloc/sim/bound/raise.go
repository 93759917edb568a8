package bound

import (
	"math"
	"slices"
)

// raise finds the α of each task that proves most, prices of work and time being what they
// are: the proof is concave in it.
func raise(p *Prices, worth func(i int) float64) {
	const golden = 0.6180339887498949
	for i, alpha := range p.Task {
		value := func(x float64) float64 {
			p.Task[i] = x
			return worth(i)
		}
		best, at := value(alpha), alpha
		if v := value(0); v > best {
			best, at = v, 0
		}
		lo, hi := 0.0, 2*alpha
		for range 40 {
			a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
			va, vb := value(a), value(b)
			if va > best {
				best, at = va, a
			}
			if vb > best {
				best, at = vb, b
			}
			if va > vb {
				hi = b
			} else {
				lo = a
			}
		}
		p.Task[i] = at
	}
}

// raiseMeans does so for a mean.
func (d *day) raiseMeans(p *Prices) {
	raise(p, func(i int) float64 {
		v, err := d.meanOf(p, i)
		if err != nil {
			return math.Inf(-1)
		}
		return v
	})
}

// raiseEnds does so for an end that lies tail beyond the last moment.
func (d *day) raiseEnds(p *Prices, tail float64) {
	raise(p, func(i int) float64 {
		t := &d.tasks[i]
		sum, stays, _ := p.gains(t, p.Task[i], 0)
		return p.Task[i]*t.work - sum - tail*stays
	})
}

// fit makes the prices of time and place of means together no more than 1.
func (d *day) fit(p *Prices) {
	const blur = 1e-9 // for rounding
	for i := range d.tasks {
		t := &d.tasks[i]
		p.Place[t.kind] = min(p.Place[t.kind], (1-2*blur)/t.width)
	}
	for i := range d.tasks {
		t := &d.tasks[i]
		p.Time[i] = max(0, min(p.Time[i], 1-blur-t.width*p.Place[t.kind]))
	}
}

// times are prices times a part.
func (p *Prices) times(part float64) Prices {
	of := func(list []float64) []float64 {
		out := slices.Clone(list)
		for i := range out {
			out[i] *= part
		}
		return out
	}
	out := Prices{Moments: p.Moments, Task: of(p.Task), Time: of(p.Time), Place: of(p.Place)}
	for _, w := range p.Work {
		out.Work = append(out.Work, of(w))
	}
	return out
}

// calm are prices of which those of work change more slowly.
func (p *Prices) calm() Prices {
	out := p.times(1)
	for i, w := range p.Work {
		for k := 1; k+1 < len(w); k++ {
			out.Work[i][k] = (w[k-1] + 2*w[k] + w[k+1]) / 4
		}
	}
	return out
}

// even are n+1 moments at equal distances.
func even(from, to float64, n int) []float64 {
	out := make([]float64, n+1)
	for k := range out {
		out[k] = from + (to-from)*float64(k)/float64(n)
	}
	out[n] = to
	return out
}
