package prom

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"example.com/colloc/profile"
)

// Name is the namespace and the name of a pod, with a slash between.
type Name = string

// Holders are the pods that dcgm-exporter names beside a GPU that they have, with what it saw of each in
// the time until now: the means, and of memory the most, on any of its GPUs. With the device plugin it names them by
// default. It asks one question for each counter.
func (p *Server) Holders(ctx context.Context, within time.Duration) (map[Name]*profile.Sample, error) {
	all := map[Name]*profile.Sample{}
	for _, c := range counters() {
		query := fmt.Sprintf("%[1]s(%[2]s[%[4]ds]) or %[1]s(%[3]s[%[4]ds])", cmp.Or(c.over, "avg_over_time"), c.name, c.later, int(within.Seconds()))
		points, err := p.Ask(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range points {
			name := points[i].holder()
			if name == "" || points[i].Value < 0 {
				continue
			}
			if all[name] == nil {
				all[name] = &profile.Sample{Window: within}
			}
			c.note(all[name], points[i].Value)
		}
	}
	return all, nil
}

// Held is how many GPUs pods have held on average in a time, and how many they hold now. Missing is that
// the server cannot tell.
func (p *Server) Held(ctx context.Context, within time.Duration) (mean, now profile.Opt[float64], err error) {
	held := fmt.Sprintf("(count(%[1]s{exported_pod!=\"\"}) or count(%[1]s{pod!=\"\"}))", busy)
	if now, err = p.One(ctx, held); err == nil {
		mean, err = p.One(ctx, fmt.Sprintf("avg_over_time(%s[%ds:10m])", held, int(within.Seconds())))
	}
	return mean, now, err
}

// holder names the pod of a point. A server that keeps its own labels calls the exporter itself pod, and
// whoever holds the GPU exported_pod.
func (p *Point) holder() Name {
	namespace, pod := p.Labels["exported_namespace"], p.Labels["exported_pod"]
	if pod == "" {
		namespace, pod = p.Labels["namespace"], p.Labels["pod"]
	}
	if pod == "" {
		return ""
	}
	return namespace + "/" + pod
}

// counter is one of DCGM's, by its old and its new name, and how it counts over time.
type counter struct {
	name, later, over string
	note              func(s *profile.Sample, x float64)
}

const busy = "DCGM_FI_DEV_GPU_UTIL"

// counters are those that the predictions go by.
func counters() []counter {
	ratio := func(of func(s *profile.Sample) *profile.Opt[float64], whole float64) func(*profile.Sample, float64) {
		return func(s *profile.Sample, x float64) {
			at := of(s)
			*at = profile.Some(max(at.Or(0), min(1, x/whole)))
		}
	}
	return []counter{
		{busy, busy + "_RATIO", "", ratio(func(s *profile.Sample) *profile.Opt[float64] { return &s.GPUBusy }, 100)},
		{"DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL_RATIO", "", ratio(func(s *profile.Sample) *profile.Opt[float64] { return &s.MemBusy }, 100)},
		{"DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO", "", ratio(func(s *profile.Sample) *profile.Opt[float64] { return &s.SMActive }, 1)},
		{"DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO", "", ratio(func(s *profile.Sample) *profile.Opt[float64] { return &s.DRAMActive }, 1)},
		{"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_USED", "max_over_time", func(s *profile.Sample, x float64) {
			s.MemUsed = profile.Some(max(s.MemUsed.Or(0), profile.BytesOf(x*float64(profile.MiB))))
		}},
	}
}
