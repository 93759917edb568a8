package metrics

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/profile"
)

// patience is how long a station may take to say how it is.
const patience = 10 * time.Second

// Handler answers scrapes with the station as look finds it; the State method of an
// api.Client is one. If look fails, colloc_station_up is 0 and there is nothing else.
func Handler(look func(context.Context) (api.State, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), patience)
		defer stop()
		c := collector{}
		if s, err := look(ctx); err == nil {
			c.state = &s
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(c)
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// collector shows one State; nil is one that could not be had.
type collector struct{ state *api.State }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all() {
		ch <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	show := func(m metric, x float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		ch <- prometheus.MustNewConstMetric(m.desc(), m.kind, x, labels...)
	}
	if c.state == nil {
		show(up, 0)
		return
	}
	show(up, 1)
	show(info, 1, c.state.Version)
	show(draining, number(c.state.Draining))
	show(warnings, float64(len(c.state.Warnings)))
	show(oldest, longestWait(c.state).Seconds())
	for i := range c.state.GPUs {
		showGPU(show, &c.state.GPUs[i])
	}
	for i := range c.state.Users {
		showUser(show, &c.state.Users[i])
	}
	for i := range c.state.Active {
		j := &c.state.Active[i]
		known(show, speedPredicted, j.Predicted, j.ID, j.User)
		known(show, speedSeen, j.Speed, j.ID, j.User)
	}
}

type shower func(m metric, x float64, labels ...string)

// showGPU shows one card.
func showGPU(show shower, g *api.GPU) {
	labels := []string{strconv.Itoa(g.Index), string(g.ID)}
	show(gpuJobs, float64(len(g.Jobs)), labels...)
	show(gpuMemory, float64(g.Memory), labels...)
	show(gpuUsable, float64(g.Usable), labels...)
	show(gpuReserved, float64(g.Reserved), labels...)
	known(show, gpuUsed, g.Used, labels...)
	known(show, gpuBusy, g.Busy, labels...)
	show(gpuLost, number(g.Lost), labels...)
	show(gpuDrained, number(g.Drained), labels...)
}

// showUser shows what one user has, had and waits for.
func showUser(show shower, u *api.User) {
	labels := []string{u.Name, strconv.FormatUint(uint64(u.UID), 10)}
	for _, s := range []struct {
		state string
		n     int
	}{
		{"queued", u.Queued - u.Held},
		{"held", u.Held},
		{"running", u.Running},
		{"succeeded", u.Succeeded},
		{"failed", u.Failed},
		{"cancelled", u.Cancelled},
	} {
		show(jobs, float64(s.n), append(labels, s.state)...)
	}
	for _, v := range []struct {
		of metric
		x  float64
	}{
		{userShare, u.Share},
		{userHad, u.Had},
		{gpuTime, u.GPUSeconds},
		{saved, u.SavedSeconds},
		{wait, u.WaitSeconds},
		{started, float64(u.Started)},
		{outOfMemory, float64(u.OutOfMemory)},
		{overruns, float64(u.Overruns)},
	} {
		show(v.of, v.x, labels...)
	}
}

// known shows what is known.
func known[T float64 | profile.Bytes](show shower, m metric, o profile.Opt[T], labels ...string) {
	if x, ok := o.Get(); ok {
		show(m, float64(x), labels...)
	}
}

// longestWait is how long the job has waited that was submitted first of those listed
// that are not held.
func longestWait(s *api.State) (longest time.Duration) {
	for i := range s.Queue {
		if !s.Queue[i].Held {
			longest = max(longest, s.At.Sub(s.Queue[i].Submitted))
		}
	}
	return longest
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
