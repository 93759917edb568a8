package station

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/station/notify"
)

// TestGoverns: root governs, and who the daemon is where it is that user's alone.
func TestGoverns(t *testing.T) {
	for everybody, want := range map[bool]bool{true: self() == 0, false: true} {
		s := &Station{config: Config{Everybody: everybody}}
		if got := s.governs(peer.User{UID: self()}); got != want {
			t.Errorf("for everybody: %v: the daemon's own user governs: %v", everybody, got)
		}
		if s.governs(peer.User{UID: self() + 1}) || !s.governs(peer.User{}) {
			t.Errorf("for everybody: %v: another user governs, or root does not", everybody)
		}
	}
}

// TestTellGPUs: whoever asked is told of GPUs that are lost and that answer again, and of
// nothing that goes on every day.
func TestTellGPUs(t *testing.T) {
	var told []notify.Message
	s := &Station{config: Config{Notify: func(m notify.Message) { told = append(told, m) }}}
	for _, kind := range []runner.EventKind{runner.EventLost, runner.EventProgress, runner.EventFound} {
		s.tell(&runner.Event{Kind: kind, GPU: "GPU-7", At: time.Unix(5, 0)})
	}
	want := []notify.Message{
		{Kind: "gpu-lost", Text: "GPU GPU-7 does not answer any more", At: time.Unix(5, 0)},
		{Kind: "gpu-found", Text: "GPU GPU-7 answers again", At: time.Unix(5, 0)},
	}
	if len(told) != 2 || told[0] != want[0] || told[1] != want[1] {
		t.Errorf("told %+v, want %+v", told, want)
	}
}

// TestUsersHave: who has a job that waits or runs shares in what is due, by weight; who had GPUs
// of late had that part of it, with a job or without.
func TestUsersHave(t *testing.T) {
	kept := keptTurns{Accounts: map[uint32]*account{1: {Recent: 0.25}, 4: {Recent: 0.75, GPU: 200, Started: 5}}}
	s := &Station{config: Config{Weights: map[uint32]float64{2: 3}}}
	s.turns = newTurns(&s.config, kept)
	users := map[uint32]*api.User{1: {UID: 1, Count: api.Count{Queued: 1}}, 2: {UID: 2, Count: api.Count{Running: 1}}, 3: {UID: 3, Count: api.Count{Failed: 9}}}
	all := s.users(users)
	for _, u := range all {
		want := map[uint32]api.User{1: {Weight: 1, Share: 0.25, Had: 0.25}, 2: {Weight: 3, Share: 0.75}, 3: {Weight: 1}, 4: {Weight: 1, Had: 0.75, GPUSeconds: 200, Started: 5}}[u.UID]
		if u.Weight != want.Weight || u.Share != want.Share || u.Had != want.Had || u.GPUSeconds != want.GPUSeconds || u.Started != want.Started {
			t.Errorf("user %d: %+v, want %+v", u.UID, u, want)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d users are told of, want 4", len(all))
	}
}

// TestLearnedLost: a file of what was learned that cannot be read is told of, and one that is
// not there is not; the planner begins anew.
func TestLearnedLost(t *testing.T) {
	for text, wrong := range map[string]bool{"": false, "no models": true} {
		c := Config{Config: runner.Config{Dir: t.TempDir()}}
		if text != "" {
			if err := os.WriteFile(filepath.Join(c.Dir, modelsFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, fault, err := c.loadPlanner()
		if p == nil || err != nil || (fault != nil) != wrong {
			t.Errorf("%q: planner %p, fault %v, %v; want a fault: %v", text, p, fault, err, wrong)
		}
	}
}
