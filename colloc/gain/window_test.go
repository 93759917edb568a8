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
