package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/guest"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/station"
	"example.com/colloc/colloc/station/api"
)

// lab runs a station with two GPUs, and lets sweeps find it.
func lab(t *testing.T) *api.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	gpus := filepath.Join(dir, "gpus.json")
	if err := os.WriteFile(gpus, []byte(`{"gpus": [{"name": "A100-40GB"}, {"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := fakegpu.Open(gpus, filepath.Join(dir, "uses"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := station.New(t.Context(), station.Config{Config: runner.Config{
		Dir: filepath.Join(dir, "state"), Source: source, Env: source.Env(), Watch: 20 * time.Millisecond, Grace: time.Minute,
	}})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := station.Listen(socket, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- s.Serve(ctx, l) }()
	go func() { done <- s.Run(ctx) }()
	client := api.NewClient(socket)
	t.Cleanup(func() {
		client.Close()
		stop()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) && err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(api.SocketVariable, socket)
	return client
}

// guestSweep starts a sweep that may find a station.
func guestSweep(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launchWith(t, dir, append([]string{"sweep", "-logs", "logs"}, args...))
}

// checkGuest is check for such a sweep.
func checkGuest(t *testing.T, dir string, status int, args ...string) string {
	t.Helper()
	p := guestSweep(t, dir, args...)
	got, stdout := p.end()
	if got != status {
		t.Fatalf("%q: status %d, want %d; %s\n%s", args, got, status, &p.stderr, stdout)
	}
	return stdout + p.stderr.String()
}

// Where a station runs it has the tasks of a sweep, which looks as always: in order, with
// what failed, job log and outputs.
func TestStation(t *testing.T) {
	client := lab(t)
	dir := t.TempDir()
	out := checkGuest(t, dir, 1, "-p", "n=1,2,3", "-p", "stage=a,b", "-after", "stage", "-mem", "4GiB", "-group", "mine", "-shell", "--", `echo "step {n}/3 of $WANDB_RUN_GROUP"; test {n}{stage} != 3b`)
	for _, want := range []string{"the station at", "n=1,stage=a started on", "5 of 6 tasks succeeded, 1 failed", "exit code 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints no %q:\n%s", want, out)
		}
	}
	log, failed := jobLogOf(t, dir), 0
	for name, row := range log {
		if row["status"] == "failed" {
			failed++
		}
		if text, err := os.ReadFile(filepath.Join(dir, "logs", name+".log")); err != nil || !strings.Contains(string(text), "/3 of mine") {
			t.Errorf("output of %s: %q, %v", name, text, err)
		}
	}
	jobs, err := client.Jobs(t.Context(), api.Query{Ended: -1})
	if err != nil || len(jobs) != 6 || len(log) != 6 || failed != 1 {
		t.Errorf("%d jobs at the station, %d in the job log, %d failed, %v", len(jobs), len(log), failed, err)
	}
	out = checkGuest(t, dir, 1, "-resume-failed")
	if jobs, err := client.Jobs(t.Context(), api.Query{Ended: -1}); err != nil || len(jobs) != 6 || jobs[5].Runs != 2 {
		t.Errorf("run again: %+v, %v\n%s", jobs, err, out)
	}
}

// Ctrl-C holds what waits and lets what runs end; -resume goes on with all of it. A sweep
// that is killed leaves its tasks to the station.
func TestStationInterrupt(t *testing.T) {
	client := lab(t)
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	wait := "until [ -e " + gate + " ]; do sleep 0.05; done"
	p := guestSweep(t, dir, "-n", "4", "-gpus-per-task", "2", "-mem", "30GiB", "-shell", "--", wait+"; echo {}")
	p.until("started on")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.until("interrupted: 1 task still running")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out := p.end()
	if status != 130 || !strings.Contains(out, "1 of 4 tasks succeeded, 3 left for -resume") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if jobs, err := client.Jobs(t.Context(), api.Query{}); err != nil || len(jobs) != 3 || !jobs[0].Held {
		t.Errorf("what waits is %+v, %v; want it held", jobs, err)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	p = guestSweep(t, dir, "-resume")
	p.until("started on")
	if err := p.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.end()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := checkGuest(t, dir, 0, "-resume"); !strings.Contains(out, "4 of 4 tasks succeeded") {
		t.Errorf("resumed, it prints\n%s", out)
	}
	if jobs, err := client.Jobs(t.Context(), api.Query{Ended: -1}); err != nil || len(jobs) != 4 || jobs[3].Runs != 1 {
		t.Errorf("%+v, %v; want each once", jobs, err)
	}
}

// The second Ctrl-C ends what runs, and -resume waits for the new run of it.
func TestStationInterruptTwice(t *testing.T) {
	lab(t)
	dir := t.TempDir()
	p := guestSweep(t, dir, "-n", "2", "-gpus-per-task", "2", "-mem", "30GiB", "-shell", "--", "until [ -e go ]; do sleep 0.05; done; echo {}")
	p.until("started on")
	for _, text := range []string{"interrupt again", "ending 1 task"} {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.until(text)
	}
	if status, out := p.end(); status != 130 || !strings.Contains(out, "0 of 2 tasks succeeded, 1 cancelled, 1 left for -resume") {
		t.Errorf("status %d:\n%s", status, out)
	}
	letGo(t, dir)
	if out := checkGuest(t, dir, 0, "-resume"); !strings.Contains(out, "2 of 2 tasks succeeded") || strings.Contains(out, "retr") {
		t.Errorf("resumed, it prints\n%s", out)
	}
}

// A sweep that asks for what a station cannot heed says so, and -station decides.
func TestStationFlag(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(api.SocketVariable, filepath.Join(dir, "none"))
	if out := checkGuest(t, dir, 2, "-station", "yes", "--", "true"); !strings.Contains(out, "no station runs at") {
		t.Errorf("without one it prints %s", out)
	}
	if out := checkGuest(t, dir, 2, "-station", "maybe", "--", "true"); !strings.Contains(out, "want auto, yes or no") {
		t.Errorf("-station maybe prints %s", out)
	}
	client := lab(t)
	if out := checkGuest(t, dir, 2, "-station", "yes", "-per-gpu", "1", "--", "true"); !strings.Contains(out, "-per-gpu") {
		t.Errorf("what it cannot heed prints %s", out)
	}
	if out := checkGuest(t, dir, 2, "-gpus", "99", "--", "true"); !strings.Contains(out, "cannot heed -gpus") {
		t.Errorf("without a GPU of its own it prints %s", out)
	}
	o := &options{}
	if err := o.parse([]string{"-per-gpu", "1", "--", "true"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if c, _, note, err := o.findStation(t.Context()); c != nil || err != nil || !strings.Contains(note, "cannot heed -per-gpu") {
		t.Errorf("-per-gpu 1: %v, %q, %v", c, note, err)
	}
	for _, args := range [][]string{{"-station", "no", "--", "true"}, {"-fake-gpus", gpusFile, "--", "true"}} {
		o := &options{}
		if err := o.parse(args, io.Discard); err != nil {
			t.Fatal(err)
		}
		if c, _, _, err := o.findStation(t.Context()); c != nil || err != nil {
			t.Errorf("%q: %v, %v", args, c, err)
		}
	}
	if out := checkGuest(t, dir, 2, "--", "no-such-program"); !strings.Contains(out, "does not exist") {
		t.Errorf("no program prints %s", out)
	}
	if jobs, err := client.Jobs(t.Context(), api.Query{Ended: -1}); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs at the station, %v, want none", len(jobs), err)
	}
}

// A sweep that is killed before it knows the station's numbers finds its jobs again; one
// that the station refuses leaves nothing behind.
func TestStationKilledEarly(t *testing.T) {
	client := lab(t)
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	p := guestSweep(t, dir, "-n", "3", "-gpus-per-task", "2", "-mem", "1GiB", "-shell", "--", "until [ -e "+gate+" ]; do sleep 0.05; done; echo {}")
	p.until("started on")
	if err := p.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.end()
	jobs, err := client.Jobs(t.Context(), api.Query{})
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	h := handed{Socket: client.Socket(), Tasks: guest.Tasks{Pending: &guest.Pending{Dir: jobs[0].Dir}}}
	for i := range jobs {
		h.Pending.Names = append(h.Pending.Names, jobs[i].Name)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "logs", stationName), text, 0o600), os.WriteFile(gate, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out := checkGuest(t, dir, 0, "-resume"); !strings.Contains(out, "3 of 3 tasks succeeded") {
		t.Errorf("resumed, it prints\n%s", out)
	}
	if jobs, err := client.Jobs(t.Context(), api.Query{Ended: -1}); err != nil || len(jobs) != 3 {
		t.Errorf("%d jobs, %v; want each task once", len(jobs), err)
	}
	other := t.TempDir()
	if out := checkGuest(t, other, 2, "-gpus-per-task", "3", "--", "true"); !strings.Contains(out, "GPUs is 3") {
		t.Errorf("more GPUs than there are prints %s", out)
	}
	if exists(filepath.Join(other, "logs")) {
		t.Error("a refused sweep leaves its folder")
	}
}
