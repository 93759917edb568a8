//go:build linux

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// BenchmarkRunner1000 runs 1,000 tasks that do nothing on 8 fake GPUs, two on
// each, and reports what a task costs beyond a process that is started and
// waited for by the same number of goroutines without a runner.
func BenchmarkRunner1000(b *testing.B) {
	const tasks, gpus, perGPU = 1000, 8, 2
	for b.Loop() {
		b.StopTimer()
		bare, bareCPU := bareProcesses(b, tasks, gpus*perGPU)
		g := newRig(b, b.TempDir(), gpuFile(gpus), func(c *Config) { c.Watch = time.Second })
		all := make([]Task, tasks)
		for i := range all {
			all[i] = Task{Command: []string{"/bin/true"}, Memory: 1 << 30}
		}
		b.StartTimer()
		began, cpu := time.Now(), cpuTime(b)
		g.submit(b, all...)
		for _, r := range g.finish(b) {
			if r.State != Succeeded {
				b.Fatal(r.Err)
			}
		}
		spent := time.Since(began)
		per := func(d time.Duration, unit string) { b.ReportMetric(d.Seconds()*1e3/tasks, unit) }
		per(spent-bare, "ms-overhead/task")
		per(bare, "ms-bare/task")
		per(cpuTime(b)-cpu-bareCPU, "ms-cpu-overhead/task") // the same on a busy machine
	}
}

// bareProcesses is the time and the CPU time to run as many processes without a runner.
func bareProcesses(b *testing.B, tasks, atOnce int) (wall, cpu time.Duration) {
	b.Helper()
	cpu = -cpuTime(b)
	var work sync.WaitGroup
	next := make(chan int)
	began := time.Now()
	for range atOnce {
		work.Go(func() {
			for range next {
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	work.Wait()
	return time.Since(began), cpu + cpuTime(b)
}

// cpuTime is what this process and those that it waited for have used.
func cpuTime(b *testing.B) (used time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return used
}

// BenchmarkSupervisor is one run by itself: a supervisor, its claim, a process
// and the exit record, without queue and GPUs.
func BenchmarkSupervisor(b *testing.B) {
	dir := b.TempDir()
	for n := 0; b.Loop(); n++ {
		l := supervise.Launch{Stem: filepath.Join(dir, strconv.Itoa(n)), Dir: dir, Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ()}
		s, err := l.Start()
		if err != nil {
			b.Fatal(err)
		}
		s.Task()
		if o, _ := s.Wait(); !o.OK() {
			b.Fatal(o.String())
		}
	}
}

// BenchmarkProcess is the same process without a supervisor.
func BenchmarkProcess(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
