//go:build linux

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Users have what their limits say, GPUs that are kept for others are not theirs, and what they had before counts:
// whoever had less goes first. With Serve the queue goes on when all is over; what is held waits, and while the
// runner pauses all does.
func TestUsers(t *testing.T) {
	ends := make(chan string, 16)
	g := newRig(t, t.TempDir(), gpuFile(2), func(c *Config) {
		c.PerGPU, c.Serve, c.Mechanisms = 1, true, []profile.Mechanism{profile.Exclusive}
		c.Users = &Users{HalfLife: time.Hour, Window: 24 * time.Hour, Limits: map[string]dispatch.Limits{"2": {Quota: profile.Some(time.Hour)}}}
		c.OnEvent = func(e Event) {
			if e.Kind == EventFinished {
				ends <- e.Record.Task.ID
			}
		}
	})
	if os.Geteuid() != 0 {
		t.Skip("only root runs tasks of others")
	}
	hour := time.Now().Unix() / 3600
	if err := g.Account(map[string]dispatch.Used{"1": {Recent: time.Hour}, "2": {Hours: map[int64]time.Duration{hour: 2 * time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	g.Reserve("GPU-fake-0", Reservation{})
	gate := filepath.Join(t.TempDir(), "gate")
	task := func(id string, uid uint32) Task {
		task := shell(`[ -z "$1" ] || while [ ! -e "$1" ]; do sleep 0.01; done`)
		task.ID, task.Dir, task.Owner = id, "/", &Owner{UID: uid, GID: uid}
		return task
	}
	slow := task("slow", 3)
	slow.Command, slow.Owner = append(slow.Command, gate), nil
	held := task("held", 1)
	held.Held = true
	g.submit(t, slow)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { done <- g.Run(ctx) }()
	g.inState(t, "slow", Running)
	if r := g.record(t, "slow"); r.GPU != "GPU-fake-1" {
		t.Errorf("it runs on %s, which nobody may", r.GPU)
	}
	g.submit(t, task("spent", 2), task("had much", 1), task("had little", 4), held)
	waitFor(t, func() bool {
		return strings.Contains(g.Why("spent"), "2h0m0s of GPU time") && strings.Contains(g.Why("spent"), "until ")
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := []string{<-ends, <-ends, <-ends}
	g.Pause(true)
	if err := g.Release("held"); err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "held"); r.State != Queued {
		t.Errorf("the task that was held is %v", r.State)
	}
	g.Reserve("GPU-fake-0", Reservation{User: "1", Until: time.Now().Add(time.Hour)})
	g.Reserve(nvmlx.DeviceID("GPU-fake-1"), Reservation{})
	g.Pause(false)
	got = append(got, <-ends)
	if want := []string{"slow", "had little", "had much", "held"}; !slices.Equal(got, want) {
		t.Errorf("tasks ended in the order %q, want %q", got, want)
	}
	if r := g.record(t, "held"); r.GPU != "GPU-fake-0" {
		t.Errorf("it ran on %s, and the other one was its user's", r.GPU)
	}
	if err := g.Hold("spent"); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v, want it to go on until it is told to stop", err)
	}
	if a := g.Accounts(); a["1"].Started != 2 || a["2"].Started != 0 || a["1"].Recent < 50*time.Minute {
		t.Errorf("accounts %+v", a)
	}
	if err := g.Hold("nobody"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Hold of a task that there is not: %v", err)
	}
}
