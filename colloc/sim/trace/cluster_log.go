package trace

import (
	"time"

	"example.com/colloc/colloc/sim"
)

// heliosRow reads a job of Helios' cluster_log.csv (Hu et al., SC 2021,
// doi:10.1145/3458817.3476223): duration is in seconds. Jobs without GPUs and
// those that never ran are left out.
func heliosRow(r *row, tr *Trace) {
	at, ok := r.clock("submit_time")
	if !ok {
		r.fail("submit_time", "is empty, want a time")
	}
	t := sim.Task{
		ID: r.name("job_id"), Arrival: at, Work: r.duration("duration", time.Second),
		GPUs: r.count("gpu_num", 1<<16), CPU: r.number("cpu_num", 1e6), Type: r.text("vc"), User: r.text("user"),
	}
	if t.GPUs > 0 && t.Work > 0 {
		tr.Tasks = append(tr.Tasks, t)
	}
}

// phillyRow reads a job of Microsoft's Philly trace (Jeon et al., ATC 2019), one
// row a job with the JSON fields of cluster_job_log as columns: the start of its
// first attempt, the end of its last, and the number of GPUs of one attempt. Jobs
// without GPUs and those that never ran or never ended are left out.
func phillyRow(r *row, tr *Trace) {
	at, ok := r.clock("submitted_time")
	if !ok {
		r.fail("submitted_time", "is empty, want a time")
	}
	start, started := r.clock("start_time")
	end, ended := r.clock("end_time")
	if started && ended && end < start {
		r.fail("end_time", "is before start_time")
	}
	t := sim.Task{ID: r.name("jobid"), Arrival: at, Work: end - start, GPUs: r.count("gpus", 1<<16), Type: r.text("vc"), User: r.text("user")}
	if t.GPUs > 0 && started && ended && t.Work > 0 {
		tr.Tasks = append(tr.Tasks, t)
	}
}
