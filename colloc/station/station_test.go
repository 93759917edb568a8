//go:build linux

package station

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/profile"
)

// Jobs run in the folder and with the environment of who submits, share GPUs, wait for
// each other, and their output can be followed.
func TestJobs(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	gate := filepath.Join(dir, "gate")
	waits := shell(dir, `echo $COLOUR $0 "$@" in $(pwd); while [ ! -e `+gate+` ]; do sleep 0.01; done; echo end`)
	waits.Env, waits.Command, waits.Name = append(waits.Env, "COLOUR=red"), append(waits.Command, "one", "two words"), "first"
	after := shell(dir, "cat "+gate)
	after.After = []queue.Dependency{{Task: "#1"}}
	ids := g.add(t, waits, shell(dir, "exit 3"), after)
	if want := []string{"1", "2", "3"}; !slices.Equal(ids, want) {
		t.Fatalf("jobs %q, want %q", ids, want)
	}
	if j := g.over(t, "2")[0]; j.State != runner.Failed || j.Exit != profile.Some(3) {
		t.Errorf("job 2 is %v with %v, want failed with 3", j.State, j.Exit)
	}
	first := g.running(t, "1")
	if !slices.Equal(first.GPUs, []int{0}) || first.Reserved != 4*profile.GiB || first.Name != "first" || first.Dir != dir || !strings.Contains(first.Product, "A100") {
		t.Errorf("job 1 is %+v", first)
	}
	if j, err := g.Job(t.Context(), "3"); err != nil || j.State != runner.Queued || j.Why == "" {
		t.Errorf("job 3 is %v, because %q, %v; want it to wait for the first", j.State, j.Why, err)
	}
	soon, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(g.Log(soon, to, "1", true)) }()
	followed := bufio.NewReader(from)
	if got, err := followed.ReadString('\n'); err != nil || got != "red sh one two words in "+dir+"\n" { // while it runs
		t.Errorf("followed %q, %v", got, err)
	}
	if err := os.WriteFile(gate, []byte("open"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(followed); err != nil || string(got) != "end\n" {
		t.Errorf("then followed %q, %v", got, err)
	}
	if j := g.over(t, ids...)[2]; j.State != runner.Succeeded {
		t.Errorf("job 3 is %v: %s", j.State, j.Err)
	}
	if got := g.output(t, "3", false); got != "open" {
		t.Errorf("job 3 printed %q", got)
	}
	s, err := g.State(t.Context())
	if err != nil || s.Count != (api.Count{Succeeded: 2, Failed: 1}) || len(s.GPUs) != 1 || len(s.Users) != 1 {
		t.Errorf("state %+v, %v", s, err)
	}
}

// Two jobs that fit share a GPU and know of each other; one that must be alone waits.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	forever := shell(dir, "exec sleep 1000")
	alone := forever
	alone.Alone = true
	ids := g.add(t, forever, forever, alone)
	g.running(t, ids[0])
	g.running(t, ids[1])
	s, err := g.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.GPUs[0]; !slices.Equal(got.Jobs, ids[:2]) || got.Reserved != 8*profile.GiB || got.Mechanism != profile.TimeSlice {
		t.Errorf("GPU 0 is %+v, want jobs %q", got, ids[:2])
	}
	if on := g.tenants()["GPU-fake-0"]; len(on) != 2 || on[0].uid != self() || on[0].since.IsZero() {
		t.Errorf("GPU 0 is had by %+v, want both jobs of who runs the station", on)
	}
	if len(s.Active) != 2 || len(s.Queue) != 1 || !slices.Equal(s.Active[0].Beside, ids[1:2]) || !slices.Equal(s.Active[1].Beside, ids[:1]) {
		t.Errorf("active %+v, queue %+v", s.Active, s.Queue)
	}
	if err := g.Do(t.Context(), "cancel", ids...); err != nil {
		t.Fatal(err)
	}
	for _, j := range g.over(t, ids...) {
		if j.State != runner.Cancelled {
			t.Errorf("job %s is %v", j.ID, j.State)
		}
	}
}

// A job that may be stopped makes room for one of a higher class, says at the end of its output for which, and
// goes on after it.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	low, high := shell(dir, `[ "$COLLOC_RESTARTS" = 0 ] || exit 0; trap "exit 0" TERM; sleep 1000 & wait`), shell(dir, "true")
	low.Memory, high.Memory = 30*profile.GiB, 30*profile.GiB
	low.Restart, high.Class = profile.Some(api.Duration(time.Second)), "high"
	first := g.add(t, low)[0]
	g.running(t, first)
	ids := append(g.add(t, high), first)
	jobs := g.over(t, ids...)
	for _, j := range jobs {
		if j.State != runner.Succeeded {
			t.Errorf("job %s is %v: %s", j.ID, j.State, j.Err)
		}
	}
	if j := jobs[1]; j.Stops != 1 || j.Runs != 2 || !strings.HasPrefix(j.Stopped, "stopped for job "+ids[0]) {
		t.Errorf("the job that makes room ran %d times and was stopped %d times: %q", j.Runs, j.Stops, j.Stopped)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*", "runs-*", "*.1.log"))
	told := false
	for _, name := range logs {
		text, err := os.ReadFile(name)
		told = told || err == nil && strings.Contains(string(text), "this job is stopped for job "+ids[0])
	}
	if err != nil || !told {
		t.Errorf("its output does not say so: %q, %v", logs, err)
	}
}

// What is held waits, a drained GPU takes no job, a drained station none at all, one that
// is reserved only those of its user; who comes later passes.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 2, nil)
	held := shell(dir, "true")
	held.Held = true
	closeGPUs := func(verb string, r api.GPURequest) {
		t.Helper()
		if err := g.GPUs(t.Context(), verb, r); err != nil {
			t.Fatal(err)
		}
	}
	closeGPUs("drain", api.GPURequest{GPUs: []string{"0"}})
	ids := g.add(t, held, shell(dir, "true"))
	if j := g.over(t, ids[1])[0]; !slices.Equal(j.GPUs, []int{1}) {
		t.Errorf("job 2 ran on %v, want the GPU that is not drained", j.GPUs)
	}
	if err := g.Do(t.Context(), "hold", ids[1]); !errors.Is(err, &api.Error{Code: api.Conflict}) {
		t.Errorf("hold of a job that is over: %v", err)
	}
	closeGPUs("reserve", api.GPURequest{GPUs: []string{"GPU-fake-1"}, User: "65534", Until: time.Now().Add(time.Hour)})
	if err := g.Do(t.Context(), "release", ids[0]); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond) // what a job waits for is no event
	defer tick.Stop()
	for ; ; <-tick.C {
		j, err := g.Job(t.Context(), ids[0])
		if err != nil || j.State != runner.Queued {
			t.Fatalf("job 1 is %v, %v; want it to wait: there is no GPU for it", j.State, err)
		}
		if strings.HasPrefix(j.Why, "GPU 0 is drained; GPU 1 is reserved for ") && strings.Contains(j.Why, " until ") {
			break
		}
	}
	s, err := g.State(t.Context())
	if err != nil || !s.GPUs[0].Drained || s.GPUs[1].For == "" || s.GPUs[1].Until.IsZero() {
		t.Errorf("GPUs %+v, %v", s.GPUs, err)
	}
	closeGPUs("undrain", api.GPURequest{GPUs: []string{"0", "1"}})
	closeGPUs("drain", api.GPURequest{})
	late := g.add(t, shell(dir, "true"))
	if j, err := g.Job(t.Context(), late[0]); err != nil || j.State != runner.Queued {
		t.Errorf("a drained station starts a job: %v, %v", j.State, err)
	}
	g.stop() // and remembers it
	again := newRig(t, dir, 2, nil)
	if s, err := again.State(t.Context()); err != nil || !s.Draining || s.GPUs[0].Drained || s.Count.Queued == 0 {
		t.Errorf("after a restart: %+v, %v", s, err)
	}
	if err := again.GPUs(t.Context(), "undrain", api.GPURequest{}); err != nil {
		t.Fatal(err)
	}
	if j := again.over(t, late[0])[0]; j.State != runner.Succeeded {
		t.Errorf("job is %v", j.State)
	}
	if next := again.add(t, shell(dir, "true")); next[0] != "4" {
		t.Errorf("the next job is %q, want 4", next[0])
	}
}

// Jobs outlive the daemon and are taken over.
func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	gate := filepath.Join(dir, "gate")
	id := g.add(t, shell(dir, `while [ ! -e `+gate+` ]; do sleep 0.01; done; echo end`))[0]
	before := g.running(t, id)
	g.stop()
	again := newRig(t, dir, 1, nil)
	if j := again.running(t, id); j.Runs != 1 || !j.Started.Equal(before.Started) {
		t.Errorf("job is %+v, was %+v", j, before)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j := again.over(t, id)[0]; j.State != runner.Succeeded || j.Runs != 1 {
		t.Errorf("job is %v after %d runs", j.State, j.Runs)
	}
	if got := again.output(t, id, true); got != "end\n" {
		t.Errorf("it printed %q", got)
	}
}

// A list says when a job that runs is expected to end, by the steps that it prints, and
// that the next ones then start, one after the other, and how sure that is.
func TestStarts(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, func(c *Config) { c.PerGPU = 1 })
	gate := filepath.Join(dir, "gate")
	steps := shell(dir, `i=0; while [ ! -e `+gate+` ]; do i=$((i+1)); echo "step $i/100000"; sleep 0.02; done`)
	steps.Progress.Pattern = `step (?P<step>\d+)/(?P<total>\d+)`
	ids := g.add(t, steps, shell(dir, "true"), shell(dir, "true"))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); ; <-tick.C {
		jobs, err := g.Jobs(t.Context(), api.Query{Brief: true})
		if err != nil || len(jobs) != 3 || time.Now().After(end) {
			t.Fatalf("%+v, %v: want to know when the second starts", jobs, err)
		}
		if at, known := jobs[1].Starts.Get(); known {
			in, _ := jobs[1].StartsIn.Get()
			end := jobs[0].Ends.Or(time.Time{})
			if off := end.Sub(at).Abs(); off > 5*time.Minute || in.Lo.After(at) || in.Hi.Before(at) || jobs[0].EndsIn.IsZero() {
				continue // the steps have not been seen, or count anew
			}
			if jobs[2].Starts.Or(at).Before(at) || jobs[0].Dir != "" {
				t.Errorf("%+v", jobs)
			}
			break
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.over(t, ids...)
}

// Jobs are listed in the order of submission, each once, whether they are in the history or
// not; no more of the history is read than has what is asked for.
func TestListHistory(t *testing.T) {
	const n = 40
	dir := t.TempDir()
	g := newRig(t, dir, 1, func(c *Config) { c.Keep = 1 })
	held := shell(dir, "true")
	held.Held = true
	ids := g.add(t, slices.Repeat([]api.Task{held}, n+1)...)
	if err := g.Do(t.Context(), "cancel", ids[1:]...); err != nil {
		t.Fatal(err)
	}
	g.over(t, ids[1:]...)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); len(g.runner.Records()) > n/4; <-tick.C { // what is left then stays
		if time.Now().After(end) {
			t.Fatal("nothing moves to the history")
		}
	}
	if jobs, err := g.Jobs(t.Context(), api.Query{Ended: n - 3}); err != nil || len(jobs) != n-2 {
		t.Errorf("of %d jobs that are over, and another, %d are listed, %v, want %d", n, len(jobs), err, n-2)
	}
	for _, tt := range []struct {
		query api.Query
		want  []string
	}{
		{api.Query{Ended: -1}, ids},
		{api.Query{Ended: -1, User: g.names.Of(self())}, ids},
		{api.Query{Ended: -1, User: "nobody else"}, nil},
		{api.Query{Ended: -1, States: []queue.State{queue.Queued}}, ids[:1]},
	} {
		jobs, err := g.Jobs(t.Context(), tt.query)
		var got []string
		for i := range jobs {
			got = append(got, jobs[i].ID)
		}
		if err != nil || jobs == nil || !slices.Equal(got, tt.want) {
			t.Errorf("%+v lists %q, %v, want %q", tt.query, got, err, tt.want)
		}
		got = nil
		for before := ""; ; { // and by pages
			q := tt.query
			q.Before, q.Limit = before, 7
			page, err := g.Jobs(t.Context(), q)
			if err != nil || len(page) > 7 {
				t.Fatalf("a page has %d jobs, %v", len(page), err)
			}
			if len(page) == 0 {
				break
			}
			before = page[0].ID
			for _, j := range slices.Backward(page) {
				got = append(got, j.ID)
			}
		}
		if slices.Reverse(got); !slices.Equal(got, tt.want) {
			t.Errorf("by pages %+v lists %q, want %q", tt.query, got, tt.want)
		}
		p := page{viewer: g.viewer(peer.User{UID: self()}), Query: tt.query}
		in := 0
		if err := g.runner.History(0, func(r runner.Record) bool {
			if p.asked(&r) {
				in++
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		_, past := g.runner.All()
		if n := p.among(past); n != in {
			t.Errorf("%+v: %d are counted in the history, want %d", tt.query, n, in)
		}
	}
}

// TestBrief: a table gets no more than it shows: of a job that has a name no command; and of
// all that wait the state lists the next ones, and counts the others.
func TestBrief(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	held := shell(dir, "true")
	held.Held, held.Kind = true, "kind"
	named := held
	named.Name = "name"
	g.add(t, append(slices.Repeat([]api.Task{held}, api.MaxQueue), named)...)
	for _, brief := range []bool{false, true} {
		jobs, err := g.Jobs(t.Context(), api.Query{Brief: brief})
		if err != nil || len(jobs) != api.MaxQueue+1 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		for _, j := range []api.Job{jobs[0], jobs[api.MaxQueue]} {
			if shown := j.Kind != "" && j.Dir != "" && j.Class != "" && j.Why != ""; shown == brief || (len(j.Command) > 0) != (!brief || j.Name == "") {
				t.Errorf("brief %v: %+v", brief, j)
			}
		}
	}
	if s, err := g.State(t.Context()); err != nil || len(s.Queue) != api.MaxQueue || s.Queue[0].ID != "1" || s.Count.Queued != api.MaxQueue+1 {
		t.Errorf("%d of %d that wait are listed, %v", len(s.Queue), s.Count.Queued, err)
	}
}

// TestFaultsAreTold: what was learned before and cannot be read is warned of, and so is an
// output that cannot be written.
func TestFaultsAreTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state", modelsFile), []byte("no models"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, dir, 1, nil)
	g.event(runner.Event{Kind: runner.EventOverrun, Text: "too much", Record: runner.Record{Task: runner.Task{ID: "9"}, Log: filepath.Join(dir, "gone")}})
	all := g.warningsFor(peer.User{})
	for i, want := range []string{"cannot be read, and begins anew", "too much", "the output of job 9 cannot be written: "} {
		if len(all) != 3 || !strings.Contains(all[i].Text, want) {
			t.Errorf("warned of %+v, want %q at %d of 3", all, want, i)
		}
	}
}

// TestWarningsAreKept: what the runner says stands as it was said, the word task in somebody's
// own names too, and the runner is told to say job.
func TestWarningsAreKept(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, nil)
	const text = "the output of job 1 became too long: its log is in /data/task of a friend"
	g.event(runner.Event{Kind: runner.EventWarning, Text: text})
	if all := g.warningsFor(peer.User{}); len(all) != 1 || all[0].Text != text {
		t.Errorf("got %+v", all)
	}
	if noun := g.runnerConfig().Noun; noun != "job" {
		t.Errorf("the runner says %q", noun)
	}
}
