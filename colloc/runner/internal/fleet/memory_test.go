package fleet

import (
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

func TestLacked(t *testing.T) {
	const full = 40 * profile.GiB
	tests := []struct {
		name    string
		o       supervise.Outcome
		line    string
		vague   bool
		highest profile.Bytes
		stop    backlog.Stop
		want    string
	}{
		{"success", supervise.Outcome{}, "CUDA out of memory", false, full, 0, ""},
		{"output", supervise.Outcome{Exit: 1}, "CUDA out of memory", false, 0, 0, "its output says so: CUDA out of memory"},
		{"killed", supervise.Outcome{Exit: -1, Signal: 9}, "", false, full, 0, ""},
		{"killed child", supervise.Outcome{Exit: 137}, "", false, full, 0, ""},
		{"killed after it said so", supervise.Outcome{Exit: 137}, "CUDA out of memory", false, 0, 0, "its output says so: CUDA out of memory"},
		{"killed after any failure of CUDA", supervise.Outcome{Exit: -1, Signal: 9}, "CUDA error: x", true, full, 0, ""},
		{"killed on request", supervise.Outcome{Exit: -1, Signal: 9}, "", false, full, backlog.StopKilled, ""},
		{"any failure", supervise.Outcome{Exit: 1}, "", false, full, 0, ""},
		{"CUDA, full GPU", supervise.Outcome{Exit: 1}, "CUDA error: x", true, full, 0, "the GPU's memory was full, 40 GiB of 40 GiB: CUDA error: x"},
		{"CUDA, room", supervise.Outcome{Exit: 1}, "CUDA error: x", true, 30 * profile.GiB, 0, ""},
		{"crash, full GPU", supervise.Outcome{Exit: -1, Signal: 6}, "", false, full, 0, "the GPU's memory was full, 40 GiB of 40 GiB: ended by signal 6 (aborted)"},
		{"not started", supervise.Outcome{Exit: -1, Err: "no such file", Final: true}, "", false, full, 0, ""},
		{"lost", supervise.Outcome{Exit: -1, Lost: true}, "CUDA out of memory", false, full, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Card{Highest: profile.Some(test.highest)}
			c.Info.ID, c.Info.Memory = "a", profile.Some(full)
			e := &backlog.Entry{Saved: backlog.Saved{Record: queue.Record{GPU: "a"}, Stop: test.stop}}
			f := &Fleet{Cards: []*Card{c}}
			if got := f.Lacked(e, &test.o, test.line, test.vague); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
