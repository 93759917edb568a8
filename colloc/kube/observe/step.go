package observe

import (
	"context"
	"time"

	"example.com/colloc/colloc/kube/books"
)

// Step looks at all cards once. What cannot be asked or written is logged and tried again
// at the next Step; the error is that of ctx.
func (o *Observer) Step(ctx context.Context) error {
	now := o.config.Now()
	used, err := o.config.Prometheus.Ask(ctx, "DCGM_FI_DEV_FB_USED")
	if err != nil {
		o.config.Log.Warn("memory in use is not known", "err", err)
	}
	sets := o.config.Books.Sets()
	var run []*books.Set
	for i := range sets {
		if w := o.watch(&sets[i], now); !running(&sets[i]) {
			w.since, w.over = now, 0
			continue
		}
		run = append(run, &sets[i])
		o.overrun(ctx, &sets[i], o.sets[sets[i].ID], used)
	}
	o.question(ctx, run, now)
	o.forget(sets, now)
	o.loosen(ctx)
	o.refit(ctx)
	return ctx.Err()
}

// question asks what pods say of themselves and measures, for QueryTime: a query that
// takes long makes nobody else's old.
func (o *Observer) question(ctx context.Context, run []*books.Set, now time.Time) {
	asking, cancel := context.WithTimeout(ctx, o.config.QueryTime)
	defer cancel()
	first := o.turn
	for i := range run {
		k := (first + i) % len(run)
		s, w := run[k], o.sets[run[k].ID]
		o.slow(ctx, asking, s, w)
		if asking.Err() == nil && now.Sub(w.since) >= o.config.Window {
			o.learn(asking, s, w, now)
		}
		if asking.Err() != nil {
			o.turn = k + 1
			return
		}
	}
}
