package trace

import (
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// openbPodRow reads a pod of Alibaba's GPU cluster trace of 2023
// (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023; Weng et al., ATC
// 2023): thousandths of cores and of a GPU, MiB of host memory. A pod on several
// GPUs stays in one machine. It runs from creation, not from when it was
// scheduled, until its deletion.
func openbPodRow(r *row, tr *Trace) {
	created, deleted := time.Duration(0), century
	tr.Untimed = true
	if slices.Contains(r.table.header, "creation_time") && slices.Contains(r.table.header, "deletion_time") {
		created, deleted = r.duration("creation_time", time.Second), r.duration("deletion_time", time.Second)
		if deleted < created {
			r.fail("deletion_time", "is before creation_time")
		}
		deleted = max(deleted, created+time.Second)
		tr.Untimed = false
	}
	gpus, milli := r.count("num_gpu", 1<<16), r.count("gpu_milli", 1000)
	if gpus > 0 && milli == 0 {
		r.fail("gpu_milli", "is 0 for %d GPUs", gpus)
	}
	t := sim.Task{
		ID:         r.name("name"),
		Arrival:    created,
		Work:       deleted - created,
		GPUs:       gpus,
		HostOnly:   gpus == 0,
		OneNode:    true,
		CPU:        r.number("cpu_milli", 1e9) / 1000,
		HostMemory: r.mib("memory_mib"),
		Type:       r.text("qos"),
	}
	if gpus > 0 {
		t.Share = float64(milli) / 1000
	}
	for model := range strings.SplitSeq(r.text("gpu_spec"), "|") {
		if model != "" {
			t.Only = append(t.Only, model)
		}
	}
	tr.Tasks = append(tr.Tasks, t)
}

// openbNodeRow reads a machine of the same trace. Model names are the trace's:
// two of them, G2 and G3, are anonymous.
func openbNodeRow(r *row, tr *Trace) {
	node := sim.Node{
		Name:   r.name("sn"),
		CPU:    r.number("cpu_milli", 1e9) / 1000,
		Memory: r.mib("memory_mib"),
		GPUs:   make([]sim.GPU, r.count("gpu", 64)),
	}
	model := r.text("model")
	for i := range node.GPUs {
		node.GPUs[i].Model = profile.GPUModel{Name: model}
	}
	tr.Nodes = append(tr.Nodes, node)
}
