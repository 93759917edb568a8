package trace

import (
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
)

// muriRow reads a job of Muri's traces (github.com/Rivendile/Muri 4e69a78,
// simulator/trace-data): times are milliseconds, those of the stages per
// iteration. Work is iterations × iteration time without the overhead that
// [speed.Stages] adds.
func muriRow(r *row, tr *Trace) {
	id := r.text("job_id")
	if id == "" {
		id = strconv.Itoa(len(tr.Tasks))
	}
	t := sim.Task{
		ID:      id,
		Arrival: r.duration("submit_time", time.Millisecond),
		GPUs:    r.count("num_gpu", 1<<16),
		Type:    r.name("model_name"),
		Stages: sim.StageTimes{
			Load:      r.duration("resource_time_0", time.Millisecond),
			Compute:   r.duration("resource_time_1", time.Millisecond),
			Exchange:  r.duration("resource_time_2", time.Millisecond),
			Iteration: r.duration("iteration_time", time.Millisecond),
		},
	}
	iterations := r.number("iterations", 1e12)
	if work := iterations * t.Stages.Iteration.Seconds(); work > 0 && work < maxSeconds {
		t.Work = time.Duration(float64(iterations * float64(t.Stages.Iteration)))
	} else {
		r.fail("iterations", "× iteration_time is %v s, want more than 0 and less than a century", work)
	}
	t.Busy = min(1, float64(t.Stages.Compute)/float64(t.Stages.Iteration))
	t.Startup = muriStartup(t.Type, t.GPUs)
	tr.Tasks = append(tr.Tasks, t)
}

// muriStartup is how long a model takes from its start to its first iteration on
// 1, 2, 4, 8, 16 and 32 GPUs, in seconds, as the authors measured it
// (simulator/run_sim.py, overhead_dict); 10 s for others.
func muriStartup(model string, gpus int) time.Duration {
	var seconds [6]int
	switch model {
	case "vgg16":
		seconds = [6]int{7, 7, 8, 9, 9, 10}
	case "vgg19":
		seconds = [6]int{7, 7, 8, 9, 10, 10}
	case "resnet18":
		seconds = [6]int{4, 5, 5, 7, 7, 7}
	case "shufflenet_v2_x1_0":
		seconds = [6]int{4, 4, 5, 5, 7, 8}
	case "a2c":
		seconds = [6]int{38, 39, 39, 46, 46, 46}
	case "dqn":
		seconds = [6]int{5, 5, 6, 6, 8, 8}
	default: // bert and gpt2 among them
		seconds = [6]int{10, 10, 10, 10, 10, 10}
	}
	size := 0
	for size < len(seconds)-1 && 1<<size < gpus {
		size++
	}
	return time.Duration(seconds[size]) * time.Second
}
