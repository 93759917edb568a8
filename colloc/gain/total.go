package gain

import (
	"cmp"
	"fmt"

	"example.com/colloc/packer"
)

// sum puts the pools together.
func (r *Report) sum(studies []*study, o *Options) {
	var whole summary
	kinds := map[[2]string]Together{}
	for _, s := range studies {
		one := s.summary()
		one.tell(&s.report.Gain)
		whole.add(one)
		r.Total.count(&s.report.Gain)
		r.Pools = append(r.Pools, s.report)
		if m := s.worlds[0].meter; m != nil {
			s.together(m, kinds)
			r.Pairs = append(r.Pairs, s.named(m)...)
		}
	}
	if n := float64(r.Total.Jobs); n > 0 {
		r.Total.Recorded.Waited /= n
		r.Total.Recorded.Turnaround /= n
	}
	whole.tell(&r.Total)
	r.Together = longest(kinds)
	r.Assumed = assumed(r, studies, o)
}

// count adds what was recorded of a part; means are sums until all parts are there.
func (g *Gain) count(part *Gain) {
	n := float64(part.Jobs)
	g.GPUs += part.GPUs
	g.Jobs += part.Jobs
	g.Recorded.GPUHours += part.Recorded.GPUHours
	g.Recorded.Waited += part.Recorded.Waited * n
	g.Recorded.Turnaround += part.Recorded.Turnaround * n
}

// summary is what all worlds showed of a pool, scaled to all of its jobs, or of several pools.
type summary struct {
	sums
	value saved
	drawn []saved
}

// summary is that of the pool.
func (s *study) summary() *summary {
	out := &summary{}
	for i := range s.worlds {
		w := &s.worlds[i]
		out.sums.add(&w.total)
		out.drawn = append(out.drawn, w.drawn...)
		v := w.total.of(&s.report.Gain)
		out.value.gpu += v.gpu / float64(len(s.worlds))
		out.value.waiting += v.waiting / float64(len(s.worlds))
		out.value.earlier += v.earlier / float64(len(s.worlds))
	}
	out.scale(&s.report.Gain)
	return out
}

// scale makes sums those of the whole: what was replayed is a part of it, or several times it.
func (s *summary) scale(g *Gain) {
	if s.jobs == 0 {
		return
	}
	f, h := float64(g.Jobs)/s.jobs, g.Recorded.GPUHours/max(1e-12, s.hoursWithout)
	s.jobs *= f
	s.hoursWithout *= h
	s.hoursWith *= h
	for _, x := range []*float64{&s.waitedWithout, &s.waitedWith, &s.turnWithout, &s.turnWith, &s.shared, &s.slow, &s.later, &s.died} {
		*x *= f
	}
}

// add adds another pool: the draws of one world with those of the same.
func (s *summary) add(t *summary) {
	s.sums.add(&t.sums)
	s.value.add(t.value)
	if s.drawn == nil {
		s.drawn = make([]saved, len(t.drawn))
	}
	for i := range t.drawn {
		s.drawn[i].add(t.drawn[i])
	}
}

func (s *saved) add(t saved) {
	s.gpu += t.gpu
	s.waiting += t.waiting
	s.earlier += t.earlier
}

// tell fills in what the replays showed.
func (s *summary) tell(g *Gain) {
	if s.jobs > 0 {
		g.Without = Times{s.hoursWithout, s.waitedWithout / s.jobs, s.turnWithout / s.jobs}
		g.With = Times{s.hoursWith, s.waitedWith / s.jobs, s.turnWith / s.jobs}
		g.Shared, g.Later, g.Died = s.shared/s.jobs, s.later/s.jobs, s.died/s.jobs
	}
	g.Slowdown = 1
	if s.shared > 0 {
		g.Slowdown = s.slow / s.shared
	}
	of := func(field func(*saved) float64) []float64 {
		list := make([]float64, len(s.drawn))
		for i := range s.drawn {
			list[i] = field(&s.drawn[i])
		}
		return list
	}
	g.SavedHours = estimate(s.value.gpu, of(func(x *saved) float64 { return x.gpu }))
	g.SavedWaiting = estimate(s.value.waiting, of(func(x *saved) float64 { return x.waiting }))
	g.EndedEarlier = estimate(s.value.earlier, of(func(x *saved) float64 { return x.earlier }))
	g.SavedShare = g.SavedHours
	for _, x := range []*float64{&g.SavedShare.Value, &g.SavedShare.Lo, &g.SavedShare.Hi} {
		*x /= max(1e-12, g.Recorded.GPUHours)
	}
}

const leftOut = "are left out: outside the time, or larger than the GPUs there are"

// assumed says in words what the report rests on.
func assumed(r *Report, studies []*study, o *Options) []string {
	k := &r.Known
	list := []string{fmt.Sprintf(
		"short jobs start first, those that fit before those that do not, and run to their end; sets of at most %d, none slowed down by more than %.3g by prediction",
		cmp.Or(o.MaxSet, packer.DefaultMaxSet), cmp.Or(o.MaxSlowdown, defaultSlowdown))}
	list = append(list, map[bool]string{
		false: "jobs join who runs already, at any moment: by gres/shard or MPS",
		true:  "no shares of a GPU: a set starts as one job, and nobody joins it",
	}[o.Closed])
	add := func(n int, what string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d jobs %s", n, what))
		}
	}
	add(k.Watched, "do beside others what was observed of them")
	add(k.Alike, "were not observed, and are taken to be as others of the same user with the same name")
	add(k.Prior, "were not observed, and are taken to be as the prior says")
	add(k.Unknown, "were not observed, nor others like them: they run alone")
	add(k.First, "are the first of their kind, and run alone")
	add(k.Outside, leftOut)
	for _, s := range studies {
		if s.limit < len(s.jobs) {
			list = append(list, fmt.Sprintf("of %s each of %d replications plays %d of %d jobs", s.name, len(s.worlds), s.limit, len(s.jobs)))
		}
		if s.report.Alone != "" {
			list = append(list, fmt.Sprintf("on %s nothing shares: %s", s.name, s.report.Alone))
		}
	}
	if o.Cluster == nil {
		list = append(list, "the GPUs are as many as were ever in use at once on each node")
	}
	return list
}
