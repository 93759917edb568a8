package screen

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// noon is when the tests below play.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, state runner.State, change func(r *runner.Record)) runner.Record {
	r := runner.Record{Task: runner.Task{ID: id}, State: state, GPU: "gpu0", Started: noon, Reserved: 4 * profile.GiB}
	if change != nil {
		change(&r)
	}
	return r
}

func TestTable(t *testing.T) {
	v := &View{
		Now: noon.Add(90 * time.Second), Elapsed: 2 * time.Minute, Left: profile.Some(time.Hour), Throughput: 1.75,
		Count: counts{OK: 1, Failed: 1, Running: 2, Waiting: 6},
		GPUs: []runner.GPUState{
			{
				Device: nvmlx.DeviceInfo{ID: "gpu0"}, Usable: 36 * profile.GiB, Reserved: 8 * profile.GiB,
				Used: profile.Some(7 * profile.GiB), Busy: profile.Some(0.815), Tasks: []string{"a", "b"},
			},
			{Device: nvmlx.DeviceInfo{ID: "gpu1"}, Lost: true},
		},
		Records: []runner.Record{
			record("a", runner.Running, func(r *runner.Record) {
				r.Step, r.Total = profile.Some(int64(30)), profile.Some(int64(120))
				r.Speed, r.Peak = profile.Some(0.91), profile.Some(3*profile.GiB)
				r.Predicted = predict.Estimate{Value: 0.875, Confidence: 0.9}
			}),
			record("b", runner.Starting, nil),
			record("c", runner.Queued, nil),
		},
	}
	want := `2 of 10 done, 2 running, 6 waiting, 1 failed; 2m0s so far, about 1h0m0s left; 1.75 tasks' worth at a time
[###########...............................................]
GPU   MEMORY  RESERVED         BUSY  TASKS
gpu0  7 GiB   8 GiB of 36 GiB  82 %  2
gpu1          0 B of 0 B       lost  0
TASK  GPU   STEP    SPEED        MEMORY          TIME
a     gpu0  30/120  0.91 (0.88)  3 GiB of 4 GiB  1m30s
b     gpu0  -       -            4 GiB reserved  1m30s
`
	if diff := cmp.Diff(want, string(v.table(200, 100, nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(string(v.table(20, 4, nil))) {
		if len(line) > 21 {
			t.Errorf("%q is longer than the terminal is wide", line)
		}
	}
	if text := string(v.table(80, 4, nil)); strings.Count(text, "\n") != 4 || !strings.HasSuffix(text, "and 5 more lines\n") {
		t.Errorf("more lines than the terminal has:\n%s", text)
	}
}

// Whatever scrolls by, the terminal holds one table, below it.
func TestTableRedraws(t *testing.T) {
	var out bytes.Buffer
	table := &table{out: &out, size: func() (int, int) { return 80, 24 }}
	table.Tick(&View{})
	lines := strings.Count(out.String(), "\n")
	out.Reset()
	table.Note("hello")
	text, ok := strings.CutPrefix(out.String(), "\x1b["+string(rune('0'+lines))+"A\x1b[J"+"hello\n")
	if !ok || strings.Count(text, "\n") != lines {
		t.Errorf("a note over a table of %d lines: %q", lines, out.String())
	}
	out.Reset()
	table.End(&Report{})
	if !strings.HasPrefix(out.String(), "\x1b["+string(rune('0'+lines))+"A\x1b[J0 of 0 tasks") {
		t.Errorf("the report does not replace the table: %q", out.String())
	}
}

// lineDisplay keeps the lines that tasks printed.
type lineDisplay struct {
	plain
	lines []string
}

func (d *lineDisplay) Line(task, text string) { d.lines = append(d.lines, task+"|"+text) }

// TestFollower passes lines on, whole ones, without what a terminal would obey.
func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var d lineDisplay
	f := NewFollower(&d)
	r := record("a", runner.Running, func(r *runner.Record) { r.Log = path })
	written := ""
	for _, step := range []struct {
		add   string
		state runner.State
		want  []string // since the last step
	}{
		{"", runner.Running, nil},
		{"one\ntw", runner.Running, []string{"a|one"}},
		{"o\n10 %\r20 %\r", runner.Running, []string{"a|two", "a|10 %", "a|20 %"}},
		{strings.Repeat("x", 3*maxRest), runner.Running, []string{"a|" + strings.Repeat("x", maxRest), "a|" + strings.Repeat("x", maxRest), "a|" + strings.Repeat("x", maxRest)}},
		{"\x1b[2J\x1b[31mred\x1b]0;a title\x07 \u009bline\n", runner.Running, []string{"a|red line"}},
		{"\x1b[2Jend\x07", runner.Succeeded, []string{"a|end"}},
		{"late\n", runner.Succeeded, nil},
	} {
		written += step.add
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		d.lines, r.State = nil, step.state
		f.Look([]runner.Record{r})
		if diff := cmp.Diff(step.want, d.lines); diff != "" {
			t.Errorf("after %.20q (-want +got):\n%s", step.add, diff)
		}
	}
}
