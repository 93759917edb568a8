package gain

import (
	"math"
	"slices"

	"example.com/colloc/profile"
)

// use is what is known of jobs of a kind.
type use struct {
	sm, dram, busy, mem []float64
	peaks               []profile.Bytes
}

func (u *use) add(s *profile.Solo) {
	for _, x := range []struct {
		to   *[]float64
		from profile.Opt[float64]
	}{{&u.sm, s.SMActive}, {&u.dram, s.DRAMActive}, {&u.busy, s.GPUBusy}, {&u.mem, s.MemBusy}} {
		if v, ok := x.from.Get(); ok {
			*x.to = append(*x.to, v)
		}
	}
	u.peaks = append(u.peaks, s.Memory.Or(0))
}

// typical is what a job of the kind does that nobody watched: the median use, and the
// memory of the largest.
func (u *use) typical() profile.Solo {
	return profile.Solo{
		SMActive: median(u.sm), DRAMActive: median(u.dram), GPUBusy: median(u.busy), MemBusy: median(u.mem),
		Memory: profile.Some(slices.Max(u.peaks)),
	}
}

func median(x []float64) profile.Opt[float64] {
	if len(x) == 0 {
		return profile.Opt[float64]{}
	}
	slices.Sort(x)
	return profile.Some(x[len(x)/2])
}

// reservation is what a scheduler that knows the kind sets aside: what 95 % of its jobs do
// with, and 5 % for growth.
func (u *use) reservation() profile.Bytes {
	slices.Sort(u.peaks)
	at := min(len(u.peaks)-1, int(math.Ceil(0.95*float64(len(u.peaks))))-1)
	return u.peaks[at] + u.peaks[at]/20
}

// kinds are the kinds of jobs of a pool.
type kinds struct {
	uses     map[string]*use
	typical  map[string]profile.Solo
	profiles map[profile.Solo]*profile.Profile
	reserve  map[string]profile.Bytes
	product  *profile.GPUModel
}

// understand says of each job of the pool what it does beside others, or that it runs alone.
func (p *pool) understand(o *Options, known *Known) (*kinds, error) {
	k := &kinds{uses: map[string]*use{}, typical: map[string]profile.Solo{}, profiles: map[profile.Solo]*profile.Profile{}, reserve: map[string]profile.Bytes{}, product: &p.model}
	for i := range p.jobs {
		j := &p.jobs[i]
		j.kind = j.Kind()
		if j.Observed() {
			u := k.uses[j.kind]
			if u == nil {
				u = &use{}
				k.uses[j.kind] = u
			}
			u.add(&j.Seen)
		}
	}
	for name, u := range k.uses {
		k.typical[name], k.reserve[name] = u.typical(), u.reservation()
	}
	come := map[string]bool{}
	for i := range p.jobs {
		j := &p.jobs[i]
		seen, assumed := k.of(j, o, known)
		j.alone = !assumed || o.NoGangs && j.GPUs > 1
		j.first = !come[j.kind]
		come[j.kind] = true
		if j.first && assumed {
			known.First++
		}
		if j.need = min(seen.Memory.Or(0), p.memory()); j.alone || j.first || !p.known {
			j.need = p.memory()
		}
		var err error
		if j.seen, err = k.profile(seen); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// of is what is taken to be true of a job; false for nothing.
func (k *kinds) of(j *job, o *Options, known *Known) (profile.Solo, bool) {
	typical, ok := k.typical[j.kind]
	switch {
	case j.Observed():
		known.Watched++
		return j.Seen, true
	case ok:
		known.Alike++
		return typical, true
	case o.Prior != nil:
		known.Prior++
		return *o.Prior, true
	}
	known.Unknown++
	return profile.Solo{}, false
}

// step is how finely use is told apart: a profile for every job would make every pair new.
const step = 0.05

// profile makes a profile, one for all that use about the same.
func (k *kinds) profile(s profile.Solo) (*profile.Profile, error) {
	coarse := func(x profile.Opt[float64]) profile.Opt[float64] {
		if v, ok := x.Get(); ok {
			return profile.Some(math.Round(v/step) * step)
		}
		return x
	}
	s = profile.Solo{
		Name: "observed", GPUModel: k.product, SMActive: coarse(s.SMActive), DRAMActive: coarse(s.DRAMActive),
		GPUBusy: coarse(s.GPUBusy), MemBusy: coarse(s.MemBusy), Memory: profile.Some(whole(s.Memory.Or(0))),
	}
	if p := k.profiles[s]; p != nil {
		return p, nil
	}
	p, err := s.Profile()
	if err != nil {
		return nil, err
	}
	k.profiles[s] = &p
	return &p, nil
}

// whole rounds memory up to a power of two of GiB.
func whole(b profile.Bytes) profile.Bytes {
	n := profile.GiB
	for n < b && n < 1<<50 {
		n *= 2
	}
	return n
}
