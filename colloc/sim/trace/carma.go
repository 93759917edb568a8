package trace

import (
	"strings"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// carmaRow reads a task of CARMA's evaluation (Yousefzadeh-Asl-Miandoab et al.,
// arXiv:2508.19073): its exclusive run time, measured peak memory, and what
// estimators say: est_NAME_mib and est_NAME_upper_mib become Task.Estimates[NAME].
// Where one has no answer the file says 40000, and the task asks for the whole
// GPU. The class, light, medium or heavy, is for [speed.Contention]; the
// utilisations that go with it are assumptions too.
func carmaRow(r *row, tr *Trace) {
	t := sim.Task{
		ID:      r.name("task"),
		Arrival: r.duration("arrival_s", time.Second),
		Work:    r.duration("exclusive_duration_s", time.Second),
		GPUs:    r.count("gpus", 1<<16),
		Memory:  r.mib("peak_mem_mib"),
		Type:    r.name("job"),
		Class:   r.text("class"),
		OneNode: true,
	}
	for _, column := range r.table.header {
		name, ok := strings.CutPrefix(column, "est_")
		if !ok || r.text(column) == "" {
			continue
		}
		if t.Estimates == nil {
			t.Estimates = map[string]profile.Bytes{}
		}
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_mib"), "_upper")
		t.Estimates[name] = r.mib(column)
	}
	switch t.Class {
	case "light":
		t.Busy, t.Bandwidth = 0.25, 0.10
	case "medium":
		t.Busy, t.Bandwidth = 0.65, 0.35
	case "heavy":
		t.Busy, t.Bandwidth = 0.90, 0.55
	}
	tr.Tasks = append(tr.Tasks, t)
}
