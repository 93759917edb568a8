package gain

import (
	"testing"
	"time"

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// TestDraw: a window begins with what ran then, for as long as it still had to, and with what
// waited then; neither counts.
func TestDraw(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	p := &pool{cluster: &sim.Cluster{Nodes: []sim.Node{{GPUs: make([]sim.GPU, 2)}}}, model: profile.GPUModel{Name: "x"}}
	add := func(submitted, started, ended int) {
		j := &records.Job{Submitted: at(submitted), Started: at(started), Ended: at(ended), Ran: at(ended).Sub(at(started)), GPUs: 1}
		p.jobs = append(p.jobs, job{Job: j})
	}
	add(0, 0, 2)  // over by then
	add(0, 1, 10) // runs
	add(0, 5, 8)  // waits
	add(4, 8, 9)  // counts
	w := &window{}
	for seed := uint64(0); w.first != 3; seed++ { // one in four
		w = p.draw(1, seed)
	}
	type task struct {
		id            string
		arrival, work time.Duration
	}
	var got []task
	for _, x := range w.tasks {
		got = append(got, task{x.ID, x.Arrival, x.Work})
	}
	want := []task{{"1", 0, 6 * time.Hour}, {"2", 0, 3 * time.Hour}, {"3", 0, time.Hour}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || w.end != 4 {
		t.Errorf("%v up to %d, want %v up to 4", got, w.end, want)
	}
}

// TestTypical: a job that nobody watched is taken to keep its GPU as busy as the median of its
// kind and to take as much memory as the largest; what none of them was seen to do is not known.
func TestTypical(t *testing.T) {
	var u use
	for i, sm := range []float64{0.9, 0.1, 0.3, 0.2, 0.4} {
		s := profile.Solo{SMActive: profile.Some(sm), Memory: profile.Some(profile.Bytes(1+i) * profile.GiB)}
		if i < 4 {
			s.DRAMActive = profile.Some(sm)
		}
		u.add(&s)
	}
	want := profile.Solo{SMActive: profile.Some(0.3), DRAMActive: profile.Some(0.3), Memory: profile.Some(5 * profile.GiB)}
	if got := u.typical(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLimit: of a great history a replication plays 2000 jobs at least, and 8 for each GPU.
func TestLimit(t *testing.T) {
	for _, tt := range []struct{ jobs, gpus, want int }{{500, 2, 500}, {9000, 2, 2000}, {9000, 250, 2000}, {9000, 1000, 8000}, {9000, 2000, 9000}} {
		p := &pool{jobs: make([]job, tt.jobs), cluster: &sim.Cluster{Nodes: []sim.Node{{GPUs: make([]sim.GPU, tt.gpus)}}}}
		if got := p.limit(&Options{}, 1e9, 1000); got != tt.want {
			t.Errorf("%d jobs on %d GPUs: %d, want %d", tt.jobs, tt.gpus, got, tt.want)
		}
	}
}

// TestTask: a job that ran on one node stays on one.
func TestTask(t *testing.T) {
	for want, nodes := range map[bool][][]string{true: {{"n1"}}, false: {nil, {"n1", "n2"}}} {
		for _, on := range nodes {
			p := &pool{jobs: []job{{Job: &records.Job{GPUs: 2, Nodes: on}}}}
			if got := p.task(0).OneNode; got != want {
				t.Errorf("on nodes %q: one node %v, want %v", on, got, want)
			}
		}
	}
}

// TestCount: a job counts that ran to its end without sharing and with it.
func TestCount(t *testing.T) {
	ran, died := &life{ran: true, work: time.Hour}, &life{died: 9}
	for _, tt := range []struct {
		without, with *life
		want          float64
	}{{ran, ran, 1}, {ran, died, 0}, {died, ran, 0}, {died, died, 0}} {
		var s sums
		if s.count(tt.without, tt.with); s.jobs != tt.want {
			t.Errorf("%+v and %+v: %v jobs, want %v", tt.without, tt.with, s.jobs, tt.want)
		}
	}
}

// TestEstimate: an interval leaves a fortieth of the draws out on either side, and holds the value.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		draws         int
		value, lo, hi float64
	}{{0, 7, 7, 7}, {1, 0, 0, 0}, {40, 20, 0, 39}, {41, 20, 1, 39}, {81, 40, 2, 78}, {81, 0, 0, 78}, {81, 80, 2, 80}} {
		drawn := make([]float64, tt.draws)
		for i := range drawn {
			drawn[i] = float64(tt.draws - 1 - i)
		}
		if e := estimate(tt.value, drawn); e.Value != tt.value || e.Lo != tt.lo || e.Hi != tt.hi {
			t.Errorf("%v among %d draws: %v to %v, want %v to %v", e.Value, tt.draws, e.Lo, e.Hi, tt.lo, tt.hi)
		}
	}
}

// TestTell: those that share may be few, as where they do in one replication of several.
func TestTell(t *testing.T) {
	for shared, want := range map[float64]float64{0: 1, 0.5: 1.5, 1: 1.5} {
		var g Gain
		s := &summary{sums: sums{jobs: 1, shared: shared, slow: 1.5 * shared}}
		if s.tell(&g); g.Slowdown != want || g.Shared != shared {
			t.Errorf("%v of a job share: %v, %v times as long, want %v times", shared, g.Shared, g.Slowdown, want)
		}
	}
}

// TestWords: numbers have the decimals that three digits take, and times no seconds from a minute on.
func TestWords(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.00", 9.97: "9.97", 9.995: "10.0", 10: "10.0", 99.7: "99.7", 99.95: "100", 100: "100", 1234.5: "1234",
		-9.97: "-9.97", -9.995: "-10.0", -99.7: "-99.7", -99.95: "-100",
	} {
		if got := number(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 59 * time.Second: "59s", 59700 * time.Millisecond: "1m", time.Minute: "1m", 89 * time.Second: "1m", 72 * time.Minute: "1h12m",
		-59 * time.Second: "-59s", -time.Minute: "-1m", -72 * time.Minute: "-1h12m", 2 * time.Hour: "2h0m",
	} {
		if got := hours(d.Hours()); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
