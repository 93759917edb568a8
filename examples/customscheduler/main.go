// Customscheduler is a scheduler of your own in sixty lines: scheduler.go does what package dispatch says,
// on any cluster. Here that is two nodes of two GPUs that pretend, so that it needs none.
//
//	go run ./examples/customscheduler
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/profile"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customscheduler:", err)
		os.Exit(1)
	}
}

// day is a cluster of eleven jobs of two users.
type day struct {
	*harness.Fleet
	io.Writer
	begun   time.Time
	planner *colloc.Planner
	runs    map[string]uint64
	jobs    map[string]colloc.Task
	events  []dispatch.Event
	saved   []byte
}

func run(w io.Writer) error {
	cards, err := harness.Cards("2x2xRTX3090")
	if err != nil {
		return err
	}
	fleet, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		return err
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		return err
	}
	d := &day{Fleet: fleet, Writer: w, begun: fleet.Now(), planner: planner, runs: map[string]uint64{}, jobs: map[string]colloc.Task{}}
	for i, c := range cards {
		d.events = append(d.events, dispatch.GPUAdded{GPU: c, Machine: i / 2})
	}
	for i := range 11 {
		j, err := request(fmt.Sprintf("job%02d", i), []string{"ann", "bob"}[i%2], i%3, 1+i/10)
		if err != nil {
			return err
		}
		d.jobs[j.ID] = j.Task
		d.events = append(d.events, dispatch.Submitted{Job: j})
	}
	ctx, ended := context.Background(), 0
	for restarts := range 3 { // what Turn saved is all that a restart needs
		s, err := open(d, planner, nil)
		if err != nil {
			return err
		}
		for ok := true; ok && ended < 4*(restarts+1); ended++ {
			if _, err := s.Turn(ctx); err != nil {
				return err
			}
			ok = d.step()
		}
	}
	return fleet.Err()
}

// request is a job of a user, as a solo run showed it.
func request(id, user string, kind, gpus int) (dispatch.Job, error) {
	p, err := profile.Solo{
		Name: fmt.Sprint("net", kind), GPU: "RTX3090", Batch: 32,
		SMActive: profile.Some(0.15 + 0.3*float64(kind)), Memory: profile.Some(profile.GiB * profile.Bytes(3+4*kind)),
	}.Profile()
	return dispatch.Job{Task: colloc.Task{ID: id, Profile: &p, GPUs: gpus}, User: user}, err
}

// step lets time pass until a job ends, and tells of it and of what was measured.
func (d *day) step() bool {
	e, ok := d.Step(time.Time{})
	if !ok {
		return false
	}
	how := dispatch.Done
	if e.Died {
		how = dispatch.OutOfMemory
	}
	d.say("%s: %v", e.Task, how)
	d.events = append(d.events, dispatch.Ended{Job: e.Task, Run: d.runs[e.Task], How: how})
	if len(e.Seen.Members) > 0 && d.planner.Observe(e.Seen) == nil {
		d.events = append(d.events, dispatch.Learned{})
	}
	return true
}

func (d *day) say(format string, args ...any) {
	fmt.Fprintf(d, d.Fleet.Now().Format("15:04 ")+format+"\n", args...)
}

// Now implements cluster.
func (d *day) Now() time.Duration { return d.Fleet.Now().Sub(d.begun) }

// Events implements cluster.
func (d *day) Events() []dispatch.Event {
	events := d.events
	d.events = nil
	return events
}

// Everything implements cluster: nothing is there before Events say so.
func (d *day) Everything() []dispatch.Event { return nil }

// Save implements cluster.
func (d *day) Save(state []byte) { d.saved = state }

// Saved implements cluster.
func (d *day) Saved() []byte { return d.saved }

// Do implements cluster. No job of this day says what a restart costs, so that none is stopped.
func (d *day) Do(a dispatch.Action) error {
	if a.Verb != dispatch.Start {
		d.say("%v %s: %s", a.Verb, a.Job, a.Why)
		return nil
	}
	d.say("%s starts on %s, at %.0f %% of its speed alone", a.Job, strings.Join(a.GPUs, " and "), 100*a.Speed)
	t := d.jobs[a.Job]
	peak, _ := t.Profile.Vector.Get(profile.PeakMemory)
	t.Reserved, d.runs[a.Job] = a.Reserve, a.Run
	d.events = append(d.events, dispatch.Started{Job: a.Job, Run: a.Run})
	return d.Start(t, sim.Task{Work: time.Hour, Memory: profile.Bytes(peak)}, a.GPUs...)
}
