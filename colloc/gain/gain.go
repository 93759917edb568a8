package gain

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/packer"
	"example.com/colloc/predict/pretrained"
)

// replication is what one world showed of one pool.
type replication struct {
	total sums
	drawn []saved
	meter *meter // of the first alone
}

// study is a pool and its replications.
type study struct {
	player
	report Pool
	limit  int
	worlds []replication
}

// Replay says what sharing would have gained. The jobs may be in any order; those that
// never ran or had no GPU are left out, and an empty history gains nothing. It returns an
// error for options that make no sense, and ctx's. The same history and options give
// the same report. A job costs some 0.1 ms and 1.5 us for each GPU of its pool in
// each replication.
func Replay(ctx context.Context, jobs []records.Job, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Interference == nil {
		var err error
		if o.Interference, err = pretrained.Interference(); err != nil {
			return nil, fmt.Errorf("gain: %w", err)
		}
	}
	o.Replications = cmp.Or(o.Replications, defaultReplications)
	r := &Report{Format: format, Version: version, Pools: []Pool{}}
	var within []records.Job
	within, r.From, r.Until, r.Known.Outside = o.cut(jobs)
	studies, err := o.prepare(within, r)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range studies {
		for i := range s.worlds {
			group.Go(func() error { return s.world(ctx, i) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.sum(studies, &o)
	return r, nil
}

// prepare divides the jobs into pools and says what is known of them.
func (o *Options) prepare(jobs []records.Job, r *Report) ([]*study, error) {
	var studies []*study
	all := 0
	for _, p := range o.pools(jobs) {
		r.Known.Outside += p.equip(o)
		if len(p.jobs) == 0 {
			continue
		}
		k, err := p.understand(o, &r.Known)
		if err != nil {
			return nil, fmt.Errorf("gain: %w", err)
		}
		s := &study{player: player{pool: p, kinds: k, predictor: o.Interference, o: o}, worlds: make([]replication, o.Replications)}
		s.report = Pool{Name: p.name, Partitions: p.partitions, Alone: p.whyAlone(), Gain: recorded(p)}
		all += len(p.jobs)
		studies = append(studies, s)
	}
	for _, s := range studies {
		s.limit = s.pool.limit(o, all, o.Replications)
	}
	return studies, nil
}

// whyAlone says why no two jobs of the pool share.
func (p *pool) whyAlone() string {
	switch {
	case !p.known:
		return "the product is not known: name it, as in Models or -gpu " + p.word + "=A100-80GB"
	case !slices.ContainsFunc(p.jobs, func(j job) bool { return !j.alone }):
		return "of no job is known what it does"
	}
	return ""
}

// recorded is what the site had.
func recorded(p *pool) Gain {
	g := Gain{GPUs: p.cluster.GPUs(), Jobs: len(p.jobs)}
	for i := range p.jobs {
		j := &p.jobs[i]
		g.Recorded.GPUHours += j.Ran.Hours() * float64(j.GPUs)
		g.Recorded.Waited += j.Started.Sub(j.Submitted).Hours() / float64(len(p.jobs))
		g.Recorded.Turnaround += j.Ended.Sub(j.Submitted).Hours() / float64(len(p.jobs))
	}
	return g
}

// world plays one replication with and without sharing. The first is the history as it
// was, in the expected world.
func (s *study) world(ctx context.Context, i int) error {
	seed := uint64(0)
	if i > 0 {
		seed = s.o.Seed + uint64(i)
	}
	w := s.draw(s.limit, s.o.Seed+uint64(i))
	without, _, err := s.play(ctx, w, seed, 1)
	if err != nil {
		return err
	}
	with := without
	world := &s.worlds[i]
	if s.report.Alone == "" {
		var m *meter
		if with, m, err = s.play(ctx, w, seed, cmp.Or(s.o.MaxSet, packer.DefaultMaxSet)); err != nil {
			return err
		}
		if i == 0 {
			world.meter = m
		}
	}
	list := s.cutUp(w, without, with)
	for k := range list {
		world.total.add(&list[k])
	}
	world.drawn = bootstrap(list, &s.report.Gain, rand.New(rand.NewPCG(s.o.Seed+uint64(i), 0x626c6f636b73)))
	return nil
}
