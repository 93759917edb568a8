package advice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/prom"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Config says what is asked. Fields without a default are required.
type Config struct {
	// Client reads nodes and pods.
	Client kubernetes.Interface
	// Prometheus is the server that scrapes dcgm-exporter.
	Prometheus *prom.Server
	// Planner predicts; its MaxSet is how many pods share a GPU at most.
	Planner *colloc.Planner
	// Tenancy says which namespaces would share GPUs.
	Tenancy pods.Tenancy
	// Window is the time until now of which pods are judged; 0 means a day.
	Window time.Duration
}

// DefaultWindow is long enough for the most memory to have been seen.
const DefaultWindow = 24 * time.Hour

// New looks at a cluster and says who could share. It calls nothing of the API server but list.
func New(ctx context.Context, c Config) (*Report, error) {
	if c.Client == nil || c.Prometheus == nil || c.Planner == nil || c.Window < 0 {
		return nil, errors.New("advice: config: want a Client, a Prometheus, a Planner, and a Window of 0 for the default or more")
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	r := &Report{Window: c.Window, Left: map[string]int{}}
	list, err := holders(ctx, c.Client, r)
	if err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	saw, err := c.Prometheus.Holders(ctx, c.Window)
	if err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	if list, err = tasks(list, saw, &c, r); err != nil {
		return nil, err
	}
	r.Judged = len(list)
	mean, now, err := c.Prometheus.Held(ctx, week)
	if err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	r.Share = share(mean, now)
	byProduct := map[string][]holder{}
	var products []string
	for _, h := range list {
		of := h.gpu.Model.Name + " " + h.gpu.Total().String()
		if byProduct[of] == nil {
			products = append(products, of)
		}
		byProduct[of] = append(byProduct[of], h)
	}
	slices.Sort(products)
	for _, of := range products {
		if err := plan(ctx, &c, byProduct[of], r); err != nil {
			return nil, err
		}
	}
	r.sum()
	return r, nil
}

// share is how much of what is held now was held on average.
func share(mean, now profile.Opt[float64]) profile.Opt[float64] {
	m, known := mean.Get()
	n := now.Or(0)
	if !known || n <= 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some(min(1, m/n))
}

// tasks makes tasks of the pods of which enough was seen, and drops the others.
func tasks(list []holder, saw map[prom.Name]*profile.Sample, c *Config, r *Report) ([]holder, error) {
	var kept []holder
	for _, h := range list {
		of := saw[name(h.pod)]
		switch {
		case of == nil:
			r.leave(unseen)
			continue
		case of.MemUsed.Or(0) <= 0 || of.GPUBusy.IsZero() && of.SMActive.IsZero():
			r.leave(unmeasured)
			continue
		}
		p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{Samples: []profile.Sample{*of}}, h.gpu.Model)
		if err != nil {
			return nil, fmt.Errorf("advice: pod %s: what was seen of it: %w", name(h.pod), err)
		}
		bare := h.pod.DeepCopy()
		bare.Spec.Priority = nil
		h.task, _ = pods.Task(bare, &api.Demand{}, pods.Known{Profile: &p}, c.Tenancy)
		h.task.ID, h.task.Kind = name(h.pod), ""
		kept = append(kept, h)
	}
	return kept, nil
}

// plan puts the pods on as few GPUs of their product as take all of them.
func plan(ctx context.Context, c *Config, list []holder, r *Report) error {
	on := func(n int) (*colloc.Plan, error) {
		tasks, gpus := make([]colloc.Task, len(list)), make([]colloc.GPU, n)
		for i := range list {
			tasks[i] = list[i].task
		}
		for i := range gpus {
			gpus[i] = list[0].gpu
			gpus[i].ID = fmt.Sprintf("gpu-%d", i)
		}
		return c.Planner.Plan(ctx, tasks, gpus)
	}
	best, err := on(len(list))
	if err != nil {
		return fmt.Errorf("advice: %w", err)
	}
	if wait := waiting(best); len(wait) > 0 {
		fits := slices.DeleteFunc(slices.Clone(list), func(h holder) bool { return wait[h.task.ID] })
		for range len(list) - len(fits) {
			r.leave(tooLarge)
		}
		if r.Judged -= len(list) - len(fits); len(fits) == 0 {
			return nil
		}
		return plan(ctx, c, fits, r)
	}
	lo, hi := (len(list)-1)/c.Planner.Config().MaxSet, len(list) // hi takes all
	for lo+1 < hi {
		n := (lo + hi) / 2
		p, err := on(n)
		if err != nil {
			return fmt.Errorf("advice: %w", err)
		}
		if len(waiting(p)) > 0 {
			lo = n
		} else {
			best, hi = p, n
		}
	}
	r.take(best, list, c.Planner.Config().MaxSlowdown)
	return nil
}

// waiting are the tasks that a plan does not place.
func waiting(p *colloc.Plan) map[string]bool {
	all := map[string]bool{}
	for _, n := range p.Waiting() {
		all[n.ID] = true
	}
	for _, f := range p.LeftOut {
		all[f.Task] = true
	}
	return all
}

// leastWorth is what a set must be worth to be told: below that nobody would change a thing.
const leastWorth = 0.1

// take takes the sets out of a plan.
func (r *Report) take(p *colloc.Plan, list []holder, limit float64) {
	for i := range p.Placements {
		at := &p.Placements[i]
		s := Set{GPU: list[0].gpu.Model.Name, Memory: at.Reserved, Usable: at.Usable, Worth: -1, Lo: -1, Hi: -1}
		for _, m := range at.Members {
			s.Members = append(s.Members, Member{m.Task, m.Speed})
			s.Worth, s.Lo, s.Hi = s.Worth+m.Speed.Value, s.Lo+m.Speed.Lo, s.Hi+m.Speed.Hi
			s.Slow = s.Slow || m.Speed.Lo*limit < 1
			s.Guessed = s.Guessed || m.Speed.Source.Kind == predict.Prior
		}
		if len(s.Members) > 1 && s.Worth >= leastWorth {
			r.Sets = append(r.Sets, s)
		}
	}
}
