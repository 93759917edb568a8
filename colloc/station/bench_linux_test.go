//go:build linux

package station

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
)

// full is a station with many jobs of 50 kinds that wait.
func full(b *testing.B, jobs int) *rig {
	b.Helper()
	dir := b.TempDir()
	g := newRig(b, dir, 8, nil)
	g.turns.Drain(true)
	tasks := make([]api.Task, jobs)
	for i := range tasks {
		tasks[i] = api.Task{
			Name: "job-" + strconv.Itoa(i), Kind: "kind-" + strconv.Itoa(i%50), Command: []string{"sleep", "1000"}, Dir: dir, Env: os.Environ(), Memory: 4 << 30,
		}
	}
	g.add(b, tasks...)
	return g
}

const manyJobs = 10_000

// BenchmarkSubmit adds one job to a queue of 10,000, over the socket.
func BenchmarkSubmit(b *testing.B) {
	g := full(b, manyJobs)
	task := shell(g.dir, "exec sleep 1000")
	for b.Loop() {
		g.add(b, task)
	}
}

// BenchmarkList lists a queue of 10,000, over the socket.
func BenchmarkList(b *testing.B) {
	g := full(b, manyJobs)
	for b.Loop() {
		jobs, err := g.Jobs(b.Context(), api.Query{})
		if err != nil || len(jobs) != manyJobs {
			b.Fatalf("%d jobs, %v", len(jobs), err)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MiB")
}

// BenchmarkListAnswer is the part of the daemon in that.
func BenchmarkListAnswer(b *testing.B) {
	g := full(b, manyJobs)
	records := g.runner.Records()
	for b.Loop() {
		v := g.viewer(peer.User{})
		jobs := make([]api.Job, len(records))
		for i := range records {
			jobs[i] = v.job(&records[i])
		}
		if _, err := json.Marshal(jobs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is the time from a submission to the start of its process, on a GPU that
// is idle.
func BenchmarkStart(b *testing.B) {
	g := newRig(b, b.TempDir(), 1, func(c *Config) { c.Watch = time.Second })
	task := shell(g.dir, "true")
	task.Memory = 1 << 30
	var total time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		id := g.add(b, task)[0]
		j := g.over(b, id)[0]
		total += j.Started.Sub(began)
		n++
	}
	b.ReportMetric(total.Seconds()*1e3/float64(n), "start-ms")
}
