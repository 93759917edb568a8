package metrics

import "github.com/prometheus/client_golang/prometheus"

// Names are the names of all metrics, in a fixed order.
func Names() []string {
	var names []string
	for _, m := range all() {
		names = append(names, m.name)
	}
	return names
}

// metric is one name with its help and labels.
type metric struct {
	name, help string
	labels     []string
	kind       prometheus.ValueType
}

func (m metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.name, m.help, m.labels, nil) }

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// The labels. GPUs have their number, as in CUDA_VISIBLE_DEVICES, and their UUID; two users
// with the same name differ by uid.
//
//nolint:gochecknoglobals // descriptions that never change
var (
	ofGPU  = []string{"gpu", "uuid"}
	ofUser = []string{"user", "uid"}
	ofJob  = []string{"job", "user"}
)

// The metrics. What is not known has no series.
//
//nolint:gochecknoglobals // descriptions that never change
var (
	up       = metric{"colloc_station_up", "1 if the station answers, else 0.", nil, gauge}
	info     = metric{"colloc_station_info", "1, with the version that the daemon was built from.", []string{"version"}, gauge}
	draining = metric{"colloc_station_draining", "1 if nothing starts any more.", nil, gauge}
	warnings = metric{"colloc_station_warnings", "Warnings that the station keeps; colloc station top shows them.", nil, gauge}
	oldest   = metric{"colloc_station_oldest_wait_seconds", "Longest time since submission among the next 100 jobs that are not held; 0 if none waits.", nil, gauge}

	gpuJobs     = metric{"colloc_station_gpu_jobs", "Jobs on a GPU; 2 or more share it.", ofGPU, gauge}
	gpuMemory   = metric{"colloc_station_gpu_memory_bytes", "Memory of a GPU.", ofGPU, gauge}
	gpuUsable   = metric{"colloc_station_gpu_usable_bytes", "Memory of a GPU that jobs may have.", ofGPU, gauge}
	gpuReserved = metric{"colloc_station_gpu_reserved_bytes", "Memory of a GPU that is set aside for jobs.", ofGPU, gauge}
	gpuUsed     = metric{"colloc_station_gpu_used_bytes", "Memory of a GPU that is in use by everybody.", ofGPU, gauge}
	gpuBusy     = metric{"colloc_station_gpu_busy_ratio", "Share of time in which a GPU has work, 0 to 1.", ofGPU, gauge}
	gpuLost     = metric{"colloc_station_gpu_lost", "1 if a GPU does not answer.", ofGPU, gauge}
	gpuDrained  = metric{"colloc_station_gpu_drained", "1 if no job starts on a GPU any more.", ofGPU, gauge}

	jobs        = metric{"colloc_station_jobs", "Jobs by state: queued, held, running, succeeded, failed, cancelled.", []string{"user", "uid", "state"}, gauge}
	userShare   = metric{"colloc_station_user_share_ratio", "What is due to a user of the whole, 0 to 1.", ofUser, gauge}
	userHad     = metric{"colloc_station_user_had_ratio", "What a user had of the whole of late, 0 to 1.", ofUser, gauge}
	gpuTime     = metric{"colloc_station_gpu_seconds_total", "GPU time used; a shared GPU counts by halves, thirds and so on.", ofUser, counter}
	saved       = metric{"colloc_station_gpu_saved_seconds", "GPU time that sharing saved until now; below 0 it cost some.", ofUser, gauge}
	wait        = metric{"colloc_station_wait_seconds_total", "Time that jobs waited before they started.", ofUser, counter}
	started     = metric{"colloc_station_started_total", "Jobs that have started.", ofUser, counter}
	outOfMemory = metric{"colloc_station_out_of_memory_total", "Runs that ran out of the GPU's memory.", ofUser, counter}
	overruns    = metric{"colloc_station_overruns_total", "Jobs that were stopped because they used more memory than was reserved.", ofUser, counter}

	speedPredicted = metric{"colloc_station_job_speed_predicted_ratio", "Predicted speed of a running job, as a fraction of its speed alone.", ofJob, gauge}
	speedSeen      = metric{"colloc_station_job_speed_ratio", "Measured speed of a running job, as a fraction of its speed alone.", ofJob, gauge}
)

// all lists them.
func all() []metric {
	return []metric{
		up, info, draining, warnings, oldest,
		gpuJobs, gpuMemory, gpuUsable, gpuReserved, gpuUsed, gpuBusy, gpuLost, gpuDrained,
		jobs, userShare, userHad, gpuTime, saved, wait, started, outOfMemory, overruns,
		speedPredicted, speedSeen,
	}
}
