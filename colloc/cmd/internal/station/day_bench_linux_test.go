package station

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/measured"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/colloc/station"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

var dayScale = flag.Float64("station.scale", 150, "how many times faster BenchmarkDay plays its day")

// dayGPUs is how many GPUs the machine of CARMA's trace has.
const dayGPUs = 4

// BenchmarkDay plays CARMA's day of 60 trainings, faster, with processes that take memory
// and time of fake GPUs: through a station that shares, through one that does not, and
// through Debian's task-spooler with a slot for each GPU and a wrapper that picks a free
// one, with which jobs of one GPU overtake those of two for as long as there are any. The same for a day that AEGIS was measured
// on. Beside them stands what policy colloc of the simulator comes to that knows as much, where tasks share as burners do
// and are as long as they took on the station that does not share, if that was played: burners lose time to whatever else runs.
// COLLOC_DATA names the folder with the days. Times are those of the day:
//
//	go test ./colloc/cmd/internal/station -run '^$' -bench Day -benchtime 1x -timeout 40m
func BenchmarkDay(b *testing.B) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		b.Skip("COLLOC_DATA names no folder with measured data")
	}
	file, err := os.Open(filepath.Join(data, "traces", "carma_trace_t1.csv"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	day, err := trace.Read(file)
	if err != nil {
		b.Fatal(err)
	}
	days := map[string][]sim.Task{"carma": day.Tasks}
	others, err := measured.Open(os.DirFS(filepath.Join(data, "aegis")))
	if err != nil {
		b.Fatal(err)
	}
	for i := range others {
		days[others[i].Name] = others[i].Tasks
	}
	for _, name := range []string{"carma", "saturn"} {
		b.Run(name, func(b *testing.B) {
			tasks, played := days[name], slices.Clone(days[name])
			b.Run("station sharing, memory told", func(b *testing.B) { dayOfStation(b, tasks, true) })
			b.Run("station sharing", func(b *testing.B) { dayOfStation(b, tasks, false) })
			b.Run("station exclusive", func(b *testing.B) {
				for i, took := range dayOfStation(b, tasks, false, "-share", "exclusive") {
					played[i].Work = took
				}
			})
			b.Run("task-spooler", func(b *testing.B) { dayOfSpooler(b, tasks) })
			b.Run("simulator's colloc, memory told", func(b *testing.B) { dayOfSimulator(b, played, true) })
			b.Run("simulator's colloc", func(b *testing.B) { dayOfSimulator(b, played, false) })
		})
	}
}

// locked is how fast burners are that share a GPU: in each step, of one length for all, each waits, then has the GPU alone, in
// the order in which they came.
type locked struct{}

// Speeds implements sim.Model: a queue of few, by mean values.
func (locked) Speeds(_ *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	for i := range set {
		dst[i] = 1
	}
	for range 200 {
		for i := range set {
			wait := 0.0
			for j, o := range set {
				if j != i {
					queued := max(0, 1/dst[j]-1) * dst[j] // the part of its time that it waits
					wait += o.Busy * (o.Busy*dst[j]/2 + queued)
				}
			}
			dst[i] += (1/(1+wait) - dst[i]) / 4
		}
	}
	return nil
}

// dayOfSimulator plays the day with the simulator's colloc, which is not told how long tasks take, nor how they share, and stops none.
func dayOfSimulator(b *testing.B, tasks []sim.Task, memory bool) {
	b.Helper()
	fitted, err := pretrained.Interference()
	if err != nil {
		b.Fatal(err)
	}
	cluster, err := sim.ParseCluster(strconv.Itoa(dayGPUs) + "xA100-40GB")
	if err != nil {
		b.Fatal(err)
	}
	const mean = time.Hour
	o := sim.Options{Truth: locked{}, Predicted: speed.Fitted{Interference: fitted}, Guessed: true, Length: func(*sim.Task) time.Duration { return mean }}
	if !memory {
		o.Reserve = func(*sim.Task) profile.Bytes { return 18 * profile.GiB }
	}
	for b.Loop() {
		own := slices.Clone(tasks)
		for i := range own {
			own[i].Startup = 0
		}
		r, err := sim.Run(b.Context(), cluster, own, policy.Colloc{NoStop: true, Headroom: profile.Some(0.1)}, o)
		if err != nil {
			b.Fatal(err)
		}
		var arrived, began, ended []time.Time
		for i := range r.Ends {
			e := &r.Ends[i]
			at := func(d time.Duration) time.Time { return time.Unix(0, int64(float64(d) / *dayScale)) }
			arrived, began, ended = append(arrived, at(e.Arrival)), append(began, at(e.Arrival+e.Wait)), append(ended, at(e.End))
		}
		told(b, arrived, began, ended)
	}
}

// training is the command that plays a task: in each step it waits, then it has the GPU, of
// several the first.
func training(b *testing.B, t *sim.Task) []string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	const step = 40 * time.Millisecond
	gpu := time.Duration(t.Busy * float64(step))
	steps := max(1, int(t.Work.Seconds() / *dayScale / step.Seconds()))
	burn := []string{
		self, "burn", "-steps", strconv.Itoa(steps), "-cpu", "0s", "-wait", (step - gpu).String(), "-gpu", gpu.String(),
		"-mem", strconv.FormatInt(int64(t.Memory), 10), "-sm", fmt.Sprint(t.Busy),
	}
	if t.GPUs < 2 {
		return burn
	}
	return append([]string{"sh", "-c", `CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES%%,*} exec "$@"`, "sh"}, burn...)
}

// dayLab is a lab with the machine's GPUs.
func dayLab(b *testing.B) *lab {
	b.Helper()
	dir, err := os.MkdirTemp("", "day")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) }) // the spooler may still write there
	l := &lab{t: b, dir: dir}
	text := `{"gpus": [` + strings.Repeat(`{"name": "A100-40GB"}, `, dayGPUs-1) + `{"name": "A100-40GB"}]}`
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return l
}

// arrive calls each at the time when the task arrives and returns when it did.
func arrive(b *testing.B, tasks []sim.Task, each func(t *sim.Task)) []time.Time {
	b.Helper()
	at, start := make([]time.Time, len(tasks)), time.Now()
	for i := range tasks {
		timer := time.NewTimer(time.Until(start.Add(time.Duration(float64(tasks[i].Arrival) / *dayScale))))
		<-timer.C
		at[i] = time.Now()
		each(&tasks[i])
	}
	return at
}

// told reports makespan and waits in seconds of the day.
func told(b *testing.B, arrived, began, ended []time.Time) {
	b.Helper()
	var wait, turnaround time.Duration
	for i := range began {
		wait += began[i].Sub(arrived[i])
		turnaround += ended[i].Sub(arrived[i])
	}
	last := slices.MaxFunc(ended, func(x, y time.Time) int { return x.Compare(y) })
	minutes := func(d time.Duration) float64 { return d.Minutes() * *dayScale }
	first := slices.MinFunc(arrived, func(x, y time.Time) int { return x.Compare(y) })
	b.ReportMetric(minutes(last.Sub(first)), "makespan-min")
	b.ReportMetric(minutes(wait)/float64(len(began)), "wait-min")
	b.ReportMetric(minutes(turnaround)/float64(len(began)), "turnaround-min")
	b.ReportMetric(0, "ns/op")
}

// dayOfStation plays the day on a station; where memory is told with each job, none is
// watched alone before others join it. It returns how long each took, in time of the day.
func dayOfStation(b *testing.B, tasks []sim.Task, memory bool, flags ...string) (took []time.Duration) {
	b.Helper()
	for b.Loop() {
		l := dayLab(b)
		watched := time.Duration(float64(station.DefaultProfiling) / *dayScale) // as long of the day as by default
		l.serve(append([]string{"-profile", watched.String(), "-watch", "50ms", "-sync=false"}, flags...)...)
		client := api.NewClient(l.socket())
		var ids []string
		arrived := arrive(b, tasks, func(t *sim.Task) {
			task := api.Task{Name: t.ID, Kind: t.Type, Command: training(b, t), Dir: l.dir, Env: os.Environ(), GPUs: t.GPUs}
			if memory && t.Memory <= 36*profile.GiB { // more than a station offers of 40 GiB nobody asks for
				task.Memory = t.Memory
			}
			one, err := client.Submit(b.Context(), task)
			if err != nil {
				b.Fatal(err)
			}
			ids = append(ids, one...)
		})
		jobs, err := client.Wait(b.Context(), ids...)
		if err != nil {
			b.Fatal(err)
		}
		var began, ended []time.Time
		lacked := 0
		for i := range jobs {
			j := &jobs[i]
			if j.Err != "" {
				b.Errorf("job %s: %v: %s", j.ID, j.State, j.Err)
			}
			lacked += j.Runs - 1
			began, ended = append(began, j.Started), append(ended, j.Ended)
			took = append(took, time.Duration(float64(j.Ended.Sub(j.Started))**dayScale))
		}
		told(b, arrived, began, ended)
		b.ReportMetric(float64(lacked), "reruns")
		client.Close()
		if err := l.kill(syscall.SIGTERM); err != nil {
			b.Error(err)
		}
	}
	return took[max(0, len(took)-len(tasks)):]
}

// wrapper takes as many free GPUs as its first argument says; the others are the name of the
// job and its command. The spooler has given it as many slots, so that there are some.
const wrapper = `#!/bin/bash
wants=$1 job=$2; shift 2
got=()
for g in gpu-*; do
  [ ${#got[@]} -lt $wants ] || break
  exec {fd}<$g
  if flock -n $fd; then got+=(${g#gpu-}); else exec {fd}<&-; fi
done
date +%s%N >began-$job
CUDA_VISIBLE_DEVICES=$(IFS=,; echo "${got[*]}") "$@" >log-$job 2>&1
echo $? >status-$job
date +%s%N >ended-$job
`

func dayOfSpooler(b *testing.B, tasks []sim.Task) {
	b.Helper()
	spooler, err := exec.LookPath("tsp")
	if err != nil {
		b.Skip("tsp is not here: install the package task-spooler")
	}
	for b.Loop() {
		l := dayLab(b)
		found, err := gpus.Open(b.Context(), filepath.Join(l.dir, "gpus.json"), filepath.Join(l.dir, "fake"))
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range found.Devices {
			if err := os.WriteFile(filepath.Join(l.dir, "gpu-"+string(d.ID)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(l.dir, "wrapper"), []byte(wrapper), 0o700); err != nil { //nolint:gosec // it is a program
			b.Fatal(err)
		}
		say := func(args ...string) {
			c := exec.CommandContext(context.WithoutCancel(b.Context()), spooler, args...)
			c.Dir = l.dir
			c.Env = append(append(os.Environ(), found.Extra...), "TS_SOCKET="+l.socket(), "TMPDIR="+l.dir)
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("tsp %q: %v: %s", args, err, out)
			}
		}
		say("-S", strconv.Itoa(dayGPUs))
		arrived := arrive(b, tasks, func(t *sim.Task) {
			n := strconv.Itoa(max(1, t.GPUs))
			say(append([]string{"-n", "-N", n, "./wrapper", n, t.ID}, training(b, t)...)...)
		})
		var began, ended []time.Time
		for i := range tasks {
			ended = append(ended, stamp(b, filepath.Join(l.dir, "ended-"+tasks[i].ID)))
			began = append(began, stamp(b, filepath.Join(l.dir, "began-"+tasks[i].ID)))
			if text, err := os.ReadFile(filepath.Join(l.dir, "status-"+tasks[i].ID)); err != nil || string(text) != "0\n" {
				b.Errorf("task %s ended with %q, %v", tasks[i].ID, text, err)
			}
		}
		told(b, arrived, began, ended)
		say("-K")
		if err := found.Source.Close(); err != nil {
			b.Error(err)
		}
	}
}

// stamp waits for a time that the wrapper wrote.
func stamp(b *testing.B, path string) time.Time {
	b.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(15 * time.Minute); time.Now().Before(end); <-tick.C {
		text, _ := os.ReadFile(path)
		if ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return time.Unix(0, ns)
		}
	}
	b.Fatalf("%s is not written", path)
	return time.Time{}
}
