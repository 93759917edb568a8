package sweep

import (
	"bytes"
	"errors"
	"math"
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
	v := &view{
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
TASK  STATE    GPU   STEP    SPEED        MEMORY          TIME
a     running  gpu0  30/120  0.91 (0.88)  3 GiB of 4 GiB  1m30s
b     running  gpu0  -       -            4 GiB reserved  1m30s
`
	if diff := cmp.Diff(want, string(v.table(200, 100))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(string(v.table(20, 4))) {
		if len(line) > 21 {
			t.Errorf("%q is longer than the terminal is wide", line)
		}
	}
	if text := string(v.table(80, 4)); strings.Count(text, "\n") != 4 || !strings.HasSuffix(text, "and 5 more lines\n") {
		t.Errorf("more lines than the terminal has:\n%s", text)
	}
}

// Whatever scrolls by, the terminal holds one table, below it.
func TestTableRedraws(t *testing.T) {
	var out bytes.Buffer
	table := &table{out: &out, size: func() (int, int) { return 80, 24 }}
	table.tick(&view{})
	lines := strings.Count(out.String(), "\n")
	out.Reset()
	table.note("hello")
	text, ok := strings.CutPrefix(out.String(), "\x1b["+string(rune('0'+lines))+"A\x1b[J"+"hello\n")
	if !ok || strings.Count(text, "\n") != lines {
		t.Errorf("a note over a table of %d lines: %q", lines, out.String())
	}
	out.Reset()
	table.end(&report{})
	if !strings.HasPrefix(out.String(), "\x1b["+string(rune('0'+lines))+"A\x1b[J0 of 0 tasks") {
		t.Errorf("the report does not replace the table: %q", out.String())
	}
}

func TestTimeAlone(t *testing.T) {
	s := &sweep{
		jobs:      []job{{ID: "a", Kind: "k"}, {ID: "b", Kind: "k"}, {ID: "c", Kind: "k"}, {ID: "d", Kind: "other"}},
		byID:      make(map[string]*job),
		restarted: map[string]bool{"c": true},
		kinds: map[string]*kind{
			"other": {},
			"k": {Solo: solo{
				Task: "a", Startup: profile.Some(time.Second), Step: profile.Some(100 * time.Millisecond), Run: profile.Some(12 * time.Second),
			}},
		},
	}
	for i := range s.jobs {
		s.byID[s.jobs[i].ID] = &s.jobs[i]
	}
	for _, tt := range []struct {
		task string
		want time.Duration
		from basis
	}{
		{"a", 12 * time.Second, measuredAlone},
		{"b", 11 * time.Second, measuredRate},
		{"c", 10 * time.Second, estimated}, // its count of steps began anew
		{"d", 10 * time.Second, estimated},
	} {
		r := record(tt.task, runner.Succeeded, func(r *runner.Record) {
			r.Ended = noon.Add(20 * time.Second)
			r.Step, r.Speed = profile.Some(int64(100)), profile.Some(0.5)
		})
		if got, from := s.alone(&r); got != tt.want || from != tt.from {
			t.Errorf("%s: %v on basis %d, want %v on %d", tt.task, got, from, tt.want, tt.from)
		}
	}
}

// lineDisplay keeps the lines that tasks printed.
type lineDisplay struct {
	plain
	lines []string
}

func (d *lineDisplay) line(task, text string) { d.lines = append(d.lines, task+"|"+text) }

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var d lineDisplay
	f := &follower{show: &d, at: make(map[string]*followed)}
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
		{"end", runner.Succeeded, []string{"a|end"}},
		{"late\n", runner.Succeeded, nil},
	} {
		written += step.add
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		d.lines, r.State = nil, step.state
		f.look([]runner.Record{r})
		if diff := cmp.Diff(step.want, d.lines); diff != "" {
			t.Errorf("after %.20q (-want +got):\n%s", step.add, diff)
		}
	}
}

func TestJobLogOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), jobLogName)
	l, err := openJobLog(path)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{Number: 1, ID: "a", Command: []string{"echo", "x, \"y\"\nz"}}
	failed := record("a", runner.Failed, func(r *runner.Record) { r.Ended = noon.Add(time.Second) })
	succeeded := record("a", runner.Succeeded, func(r *runner.Record) { r.Ended = noon.Add(time.Second) })
	for _, r := range []*runner.Record{&failed, &failed, &succeeded} {
		if err := l.add(j, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, "2,b,o"...), 0o600); err != nil { // a crash in the middle of a row
		t.Fatal(err)
	}
	if l, err = openJobLog(path); err != nil {
		t.Fatal(err)
	}
	want := map[string]entry{"a": {Number: 1, Task: "a", Status: statusOK, Started: "2026-03-01T12:00:00Z", Command: quoteWords(j.Command)}}
	if diff := cmp.Diff(want, l.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("the rest of a row stays: %v, %s", err, text)
	}
	for text, want := range map[string]string{
		"a,b\n":               "line 1: these are not the columns",
		string(whole) + "x\n": "wrong number of fields",
		strings.Replace(string(whole), "\n1,", "\nx,", 1): `line 2, column 1: "x" is no number of a task`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openJobLog(path); !failsWith(err, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSaveKinds reads what is measured while it is written: it is always whole.
func TestSaveKinds(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*kind{"train": {Name: "train", Profile: &p}}
	path := filepath.Join(t.TempDir(), profileName)
	if err := saveKinds(path, kinds); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for range 100 {
			err = errors.Join(err, saveKinds(path, kinds))
		}
		written <- err
	}()
	for {
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := loadKinds(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestConclude(t *testing.T) {
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	sample := func(seconds, busy float64) profile.Sample {
		return profile.Sample{At: at(seconds), GPUBusy: profile.Some(busy), MemUsed: profile.Some(9 * profile.GiB)}
	}
	steps := func(n int64) *runner.Record {
		return &runner.Record{Step: profile.Some(n), Peak: profile.Some(profile.Bytes(n) * profile.GiB)}
	}
	gpu, _ := profile.LookupGPU("A100-40GB")
	k := &kind{Name: "train"}
	first := record("a", runner.Running, nil)
	other := record("b", runner.Running, nil)
	k.begin(noon, &first)
	k.begin(noon, &other) // is not watched: somebody is
	w := k.watched
	if !k.watches("a") || w.done(at(19), 10*time.Second) || !w.done(at(20), 10*time.Second) {
		t.Error("without a step a task is watched for twice as long")
	}
	w.samples = append(w.samples, sample(1, 0)) // it loads its data
	w.progress(at(5), steps(2))
	w.samples = append(w.samples, sample(6, 0.5), sample(7, 0.7))
	w.progress(at(7), steps(6))
	w.progress(at(8), steps(6))
	if w.done(at(14), 10*time.Second) || !w.done(at(15), 10*time.Second) {
		t.Error("with steps a task is watched from the first on")
	}
	if err := k.conclude(at(15), gpu); err != nil {
		t.Fatal(err)
	}
	want := solo{Task: "a", Watched: 15 * time.Second, Startup: profile.Some(4 * time.Second), Step: profile.Some(500 * time.Millisecond)}
	if k.Solo != want || k.watched != nil {
		t.Errorf("%+v, want %+v", k.Solo, want)
	}
	busy, peak := k.Profile.Vector.Or(profile.MeanGPUBusy, -1), k.Profile.Vector.Or(profile.PeakMemory, -1)
	if math.Abs(busy-0.6) > 1e-9 || peak != float64(6*profile.GiB) {
		t.Errorf("busy %v, peak %v: want 0.6, without start-up, and 6 GiB, of the task alone", busy, peak)
	}
	old := k.Profile
	if k.grow(6*profile.GiB+profile.MiB) || !k.grow(7*profile.GiB) || old.Vector.Or(profile.PeakMemory, 0) != peak {
		t.Error("a peak within the margin counts, a larger one does not, or changes a profile that is in use")
	}
	path := filepath.Join(t.TempDir(), profileName)
	if err := saveKinds(path, map[string]*kind{"train": k, "unknown": {Name: "unknown"}}); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadKinds(path)
	if err != nil || len(loaded) != 1 || loaded["train"].Solo != k.Solo || loaded["train"].Profile.Vector.Or(profile.PeakMemory, 0) != float64(7*profile.GiB) {
		t.Errorf("loaded %+v, %v", loaded["train"], err)
	}
}
