//go:build linux

package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// BenchmarkRunner runs tasks that do nothing on 8 fake GPUs, two on each, and reports
// what a task costs beyond a process that is started and waited for by the same number
// of goroutines without a runner, the most memory that the process of the runner had
// in the kernel's eyes, and the most files that it had open.
//
//	go test ./colloc/runner -run '^$' -bench 'Runner/10000' -benchtime 1x
func BenchmarkRunner(b *testing.B) {
	for _, tasks := range []int{1000, 10000} {
		b.Run(strconv.Itoa(tasks), func(b *testing.B) {
			for b.Loop() {
				runNothing(b, tasks)
			}
		})
	}
}

func runNothing(b *testing.B, tasks int) {
	b.Helper()
	const gpus, perGPU = 8, 2
	b.StopTimer()
	bare, bareCPU := bareProcesses(b, tasks, gpus*perGPU)
	files := 0
	g := newRig(b, b.TempDir(), gpuFile(gpus), func(c *Config) {
		c.Watch = time.Second
		c.OnEvent = func(e Event) {
			if e.Kind != EventFinished || e.Record.Number%250 != 0 { // to look takes time too
				return
			}
			if open, err := os.ReadDir("/proc/self/fd"); err == nil {
				files = max(files, len(open))
			}
		}
	})
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
	per := func(d time.Duration, unit string) { b.ReportMetric(d.Seconds()*1e3/float64(tasks), unit) }
	per(spent-bare, "ms-overhead/task")
	per(bare, "ms-bare/task")
	per(cpuTime(b)-cpu-bareCPU, "ms-cpu-overhead/task") // the same on a busy machine
	b.ReportMetric(mostMemory(b), "MiB-most")
	b.ReportMetric(float64(files), "files-most")
}

// mostMemory is the most memory that this process had, in MiB.
func mostMemory(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// BenchmarkDescribe tells what was learned of 50,000 tasks that wait, as a sweep does
// after its first one: one transaction, until which nothing starts.
//
//	go test ./colloc/runner -run '^$' -bench Describe -benchtime 3x
func BenchmarkDescribe(b *testing.B) {
	const tasks = 50000
	g := newRig(b, b.TempDir(), gpuFile(8), nil)
	all := make([]Task, tasks)
	for i := range all {
		all[i] = Task{Command: []string{"/bin/true"}, Memory: 1 << 30}
	}
	ids := g.submit(b, all...)
	p := newProfile(b)
	before := g.store.Written()
	for b.Loop() {
		if err := g.Describe(p, 2*profile.GiB, ids...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(g.store.Written()-before)/float64(b.N), "writes/op")
	info, err := os.Stat(filepath.Join(g.dir, backlog.File))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/(1<<20), "MiB-queue-file")
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

// BenchmarkPass looks once at 10,000 tasks of 50 kinds that wait for 8 GPUs on which none
// of them fits, with a real Planner.
//
//	go test ./colloc/runner -run '^$' -bench Pass
func BenchmarkPass(b *testing.B) {
	const tasks, kinds, gpus = 10_000, 50, 8
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		b.Fatal(err)
	}
	file := strings.ReplaceAll(gpuFile(gpus), `"A100-40GB"`, `"A100-40GB", "foreign": "30GiB"`)
	g := newRig(b, b.TempDir(), file, func(c *Config) { c.Planner, c.OnEvent = planner, nil })
	profiles := make([]*profile.Profile, kinds)
	for i := range profiles {
		profiles[i] = newProfile(b)
	}
	all := make([]Task, tasks)
	for i := range all {
		all[i] = Task{Command: []string{"/bin/true"}, Profile: profiles[i%kinds], Memory: 20*profile.GiB + profile.Bytes(i%kinds)*profile.MiB}
	}
	g.submit(b, all...)
	for b.Loop() {
		g.mu.Lock()
		starts := g.place()
		g.mu.Unlock()
		if len(starts) > 0 {
			b.Fatalf("%d tasks start", len(starts))
		}
	}
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

// BenchmarkYear opens a queue of 200,000 tasks that are over, submits one more and looks the
// first up: with all of them in memory, and with most in the history.
func BenchmarkYear(b *testing.B) {
	const n, batch = 200_000, 5_000
	for _, keep := range []int{n, 1000} {
		b.Run(fmt.Sprintf("memory=%d", keep), func(b *testing.B) {
			dir := b.TempDir()
			state := filepath.Join(dir, "state")
			if err := os.MkdirAll(state, 0o700); err != nil {
				b.Fatal(err)
			}
			store, _, err := backlog.Open(state, false)
			for from := 1; from <= n && err == nil; from += batch {
				entries := make([]*backlog.Entry, batch)
				for i := range entries {
					e := &backlog.Entry{Saved: backlog.Saved{Record: Record{Number: from + i, State: Succeeded, Runs: 1}}}
					e.Task = Task{ID: strconv.Itoa(e.Number), Command: []string{"python", "train.py", "--lr", "0.1"}, Dir: "/srv/ann/project"}
					e.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/srv/ann"}
					entries[i] = e
				}
				if err = store.Put(entries); err == nil && from+batch <= n-keep+1 {
					err = store.Archive(entries, from+batch-1)
				}
			}
			if err = errors.Join(err, store.Close()); err != nil {
				b.Fatal(err)
			}
			var opened, submitted, found, listed time.Duration
			for b.Loop() {
				began := time.Now()
				g := newRig(b, dir, gpuFile(1), func(c *Config) { c.Keep = keep })
				opened += time.Since(began)
				began = time.Now()
				g.submit(b, shell("true"))
				submitted += time.Since(began)
				began = time.Now()
				g.record(b, "1")
				found += time.Since(began)
				began = time.Now()
				_ = g.Records()
				listed += time.Since(began)
				if err := g.Close(); err != nil {
					b.Fatal(err)
				}
			}
			info, err := os.Stat(filepath.Join(state, backlog.File))
			if err != nil {
				b.Fatal(err)
			}
			for name, d := range map[string]time.Duration{"ms/open": opened, "ms/submit": submitted, "ms/record": found, "ms/list": listed} {
				b.ReportMetric(d.Seconds()*1000/float64(b.N), name)
			}
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB/file")
		})
	}
}
