//go:build linux

package station

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// train is a training that holds 2 GiB of a fake GPU until there is a file.
func train(until string) int {
	tick := time.NewTicker(5 * time.Millisecond)
	for _, err := os.Stat(until + ".begin"); err != nil; _, err = os.Stat(until + ".begin") { // what uses no GPU tells nothing
		<-tick.C
	}
	if _, err := fakegpu.Allocate(2 * profile.GiB); err != nil {
		fmt.Println(err)
		return 1
	}
	for step := 1; ; step++ {
		fmt.Printf("step %d/1000000\n", step)
		if _, err := os.Stat(until); err == nil {
			return 0
		}
		<-tick.C
	}
}

// lightly is a host whose GPUs have little to do, whoever runs there.
type lightly struct{ *fakegpu.Source }

func (l lightly) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s, err := l.Source.Read(ctx, id, what)
	s.GPUBusy, s.SMActive = profile.Some(0.2), profile.Some(0.1)
	s.Missing = nvmlx.Missing{}
	return s, err
}

// The first job of a program that nobody knows has its GPU alone for a moment, and from
// then on what it was seen to use; so have all others of its kind, after a restart too.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	end := filepath.Join(dir, "end")
	task := api.Task{Command: []string{self, "train", end}, Dir: dir, Kind: "train", Env: []string{"COLLOC_TESTBED=" + os.Getenv("COLLOC_TESTBED")}}
	task.Progress.Pattern = `step (?P<step>\d+)/(?P<total>\d+)`
	adjust := func(c *Config) {
		source, _ := c.Source.(*fakegpu.Source)
		c.Source, c.Profiling, c.saveEvery = lightly{source}, time.Second, 100*time.Millisecond
	}
	g := newRig(t, dir, 1, adjust)
	ids := g.add(t, task)
	if first := g.running(t, ids[0]); first.Reserved != 18*profile.GiB {
		t.Errorf("the first job reserved %v, want half of the GPU", first.Reserved)
	}
	if err := os.WriteFile(end+".begin", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; {
		changed := g.change()
		j, err := g.Job(t.Context(), ids[0])
		if err != nil || time.Now().After(end) {
			t.Fatalf("the job reserves %v, %v; want what it was seen to use", j.Reserved, err)
		}
		if j.Reserved >= 2*profile.GiB && j.Reserved < 4*profile.GiB {
			break
		}
		<-changed
	}
	ids = append(ids, g.add(t, task)...) // now it shares the GPU with the first
	if j := g.running(t, ids[1]); !slices.Equal(j.Beside, ids[:1]) || j.Reserved > 4*profile.GiB || j.Predicted.IsZero() {
		t.Errorf("the second job is %+v, want it beside the first", j)
	}
	if j := g.running(t, ids[0]); !slices.Equal(j.Beside, ids[1:]) || !j.Predicted.IsZero() {
		t.Errorf("the first job is %+v, want it beside the second, and nothing foretold of that", j)
	}
	tick := time.NewTicker(5 * time.Millisecond) // a daemon that is killed has written it
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); ; <-tick.C {
		text, _ := os.ReadFile(filepath.Join(dir, "state", kindsFile))
		_, err := os.Stat(filepath.Join(dir, "state", modelsFile))
		if strings.Contains(string(text), ":train") && err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("what was learned is not written while the station runs: %s, %v", text, err)
		}
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, j := range g.over(t, ids...) {
		if j.State != runner.Succeeded {
			t.Errorf("job %s is %v: %s", j.ID, j.State, j.Err)
		}
	}
	g.stop()
	again := newRig(t, dir, 1, adjust)
	if j := again.over(t, again.add(t, task)...)[0]; j.State != runner.Succeeded || j.Reserved > 4*profile.GiB {
		t.Errorf("after a restart a job is %v and reserved %v", j.State, j.Reserved)
	}
}

// What is known of one user's program is nothing to others, unless users share what they know.
func TestKindsOfUsers(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c, p := Config{ShareKinds: shared}, new(profile.Profile)
		run := func(uid uint32) *runner.Record {
			return &runner.Record{Task: runner.Task{Kind: "train", Owner: &runner.Owner{UID: uid}}}
		}
		l := solo.NewLearner(c.learns(), map[string]solo.Kind{c.learns().Name(run(1)): {Profile: p}})
		defer l.Close()
		if l.Profile(c.kind(1, "train")) != p || (l.Profile(c.kind(2, "train")) == p) != shared || (c.learns().Name(run(2)) == c.learns().Name(run(1))) != shared {
			t.Errorf("shared %v: the other user knows %v", shared, l.Profile(c.kind(2, "train")))
		}
	}
}

// unlikely is a host whose GPUs tell a share of time that there is not.
type unlikely struct{ *fakegpu.Source }

func (u unlikely) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s, err := u.Source.Read(ctx, id, what)
	if s.Missing = (nvmlx.Missing{}); what != nvmlx.FieldMemUsed|nvmlx.FieldGPUBusy { // not the runner
		s.GPUBusy = profile.Some(7.0)
	}
	return s, err
}

// TestNotLearned: that nothing can be learned of a run that was watched is told.
func TestNotLearned(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, func(c *Config) {
		source, _ := c.Source.(*fakegpu.Source)
		c.Source, c.Beside, c.Profiling = unlikely{source}, 1, time.Second
	})
	at := time.Unix(1000, 0)
	r := runner.Record{Task: runner.Task{ID: "9", Kind: "odd"}, GPU: "GPU-fake-0", State: runner.Running, Peak: profile.Some(profile.GiB)}
	g.follow(&runner.Event{At: at, Kind: runner.EventStarted, Record: r})
	r.State = runner.Succeeded
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); ; <-tick.C { // until the GPU was looked at
		g.follow(&runner.Event{At: time.Now(), Kind: runner.EventFinished, Record: r})
		s, err := g.State(t.Context())
		if err == nil && len(s.Warnings) == 1 && strings.Contains(s.Warnings[0].Text, "what was seen of job 9 is not learned: ") {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("warned of %+v, %v", s.Warnings, err)
		}
		g.follow(&runner.Event{At: at, Kind: runner.EventStarted, Record: r})
	}
}
