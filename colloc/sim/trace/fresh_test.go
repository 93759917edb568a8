package trace_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
)

// invented are a hundred tasks, one a minute, of one to two hours.
func invented() []sim.Task {
	var tasks []sim.Task
	for i := range 100 {
		tasks = append(tasks, sim.Task{
			ID: string(rune('a' + i%26)), Type: string(rune('a' + i%26)), Arrival: time.Duration(i) * time.Minute,
			Work: time.Hour + time.Duration(i)*36*time.Second, GPUs: 1 + i%2,
		})
	}
	return tasks
}

func TestJitter(t *testing.T) {
	tasks := invented()
	if diff := cmp.Diff(tasks, trace.Jitter(tasks, time.Minute, 0.02, 0)); diff != "" {
		t.Errorf("seed 0 is not the trace itself (-want +got):\n%s", diff)
	}
	moved := trace.Jitter(tasks, time.Minute, 0.02, 7)
	if diff := cmp.Diff(moved, trace.Jitter(tasks, time.Minute, 0.02, 7)); diff != "" {
		t.Errorf("the same seed gives another copy:\n%s", diff)
	}
	var arrival, length float64
	for i := range tasks {
		d := (moved[i].Arrival - tasks[i].Arrival).Seconds()
		l := math.Log(float64(moved[i].Work) / float64(tasks[i].Work))
		arrival, length = arrival+d*d/100, length+l*l/100
	}
	// of 100 draws: a standard deviation lies within 25 % of the truth with probability 0.9996
	if sd := math.Sqrt(arrival); math.Abs(sd/60-1) > 0.25 {
		t.Errorf("arrivals move by %.1f s, want 60 s", sd)
	}
	if sd := math.Sqrt(length); math.Abs(sd/0.02-1) > 0.25 {
		t.Errorf("lengths change by %.4f, want 0.02", sd)
	}
}

func TestFresh(t *testing.T) {
	tasks := invented()
	const n = 4000
	day, err := trace.Day{Tasks: n, Load: 0.8, GPUs: 10, Seed: 3}.Fresh(tasks)
	if err != nil {
		t.Fatal(err)
	}
	work := 0.0
	for i := range day {
		work += day[i].Work.Hours() * float64(day[i].GPUs)
		source := slices.IndexFunc(tasks, func(o sim.Task) bool { return o.Work == day[i].Work })
		if source < 0 || tasks[source].GPUs != day[i].GPUs || !strings.HasSuffix(day[i].ID, "-"+tasks[source].ID) {
			t.Fatalf("task %+v is none of the trace", day[i])
		}
	}
	// the mean of 4000 times between arrivals is within 5 % with probability 0.998
	if load := work / 10 / day[n-1].Arrival.Hours(); math.Abs(load/0.8-1) > 0.07 {
		t.Errorf("the load is %.3f, want 0.8", load)
	}
	same, err := trace.Day{Seed: 1}.Fresh(tasks)
	if err != nil || len(same) != len(tasks) {
		t.Fatalf("%d tasks, %v, want as many as the trace has", len(same), err)
	}
	if between := same[99].Arrival.Minutes() / 99; between < 0.6 || between > 1.5 {
		t.Errorf("%.2f minutes between arrivals, want about 1", between)
	}
	for _, d := range []trace.Day{{Tasks: -1}, {Load: 1}, {Load: math.NaN(), GPUs: 1}, {Load: -1, GPUs: 1}, {Load: 1000.1, GPUs: 1}, {Diurnal: 2}} {
		if _, err := d.Fresh(tasks); err == nil {
			t.Errorf("%+v is accepted", d)
		}
	}
	for _, d := range []trace.Day{{Load: 1000, GPUs: 1}, {Diurnal: 1}} {
		if _, err := d.Fresh(tasks); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	pair := []sim.Task{{ID: "a", Work: 1}, {ID: "b", Work: 1, Arrival: time.Hour}} // an hour apart
	if day, err = (trace.Day{Tasks: n, Seed: 3}).Fresh(pair); err != nil || math.Abs(day[n-1].Arrival.Hours()/n-1) > 0.07 {
		t.Errorf("%d tasks take %v, %v, want an hour each", n, day[n-1].Arrival, err)
	}
	if _, err := (trace.Day{}).Fresh(nil); err == nil {
		t.Error("a day is drawn from no tasks")
	}
}

func TestLosses(t *testing.T) {
	l := trace.Losses{GPUs: 20, Every: 100 * time.Hour, For: time.Hour, Seed: 1}
	const end = 10000 * time.Hour
	losses := l.Until(end)
	last := map[int]time.Duration{}
	for _, x := range losses {
		if x.At < last[x.GPU] || x.At >= end || x.For != time.Hour || x.GPU < 0 || x.GPU >= 20 {
			t.Fatalf("loss %+v after one that ends at %v", x, last[x.GPU])
		}
		last[x.GPU] = x.At + x.For
	}
	// 20 GPUs × 10000 h / 101 h = 1980 on average, a Poisson number but for the repairs
	if n := len(losses); n < 1800 || n > 2160 {
		t.Errorf("%d losses, want about 1980", n)
	}
	if none := (trace.Losses{GPUs: 4}).Until(end); none != nil {
		t.Errorf("GPUs that never fail fail: %v", none)
	}
}

// TestOpenbWithoutTimes: a list of pods without times is read for Inflate.
func TestOpenbWithoutTimes(t *testing.T) {
	tr, err := trace.Read(strings.NewReader("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\np,1000,1024,1,500,,LS\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Tasks) != 1 || !tr.Untimed || tr.Tasks[0].Share != 0.5 {
		t.Errorf("tasks %+v, want one of half a GPU and no times", tr.Tasks)
	}
	for _, task := range trace.Inflate(tr.Tasks, 2, 1) {
		if err := task.Validate(); err != nil {
			t.Error(err)
		}
	}
}
