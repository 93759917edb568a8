package site

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestClean: of what Slurm's programs say people read what went wrong, in one line.
func TestClean(t *testing.T) {
	for said, want := range map[string]string{
		"sbatch: error: Batch job submission failed: Invalid qos\r\n": "Batch job submission failed: Invalid qos",
		"  srun: fatal: no node  \n\n   \nscontrol: error: not up\n":  "no node; not up",
		"slurm_load_jobs error: Unable to contact slurm controller\n": "slurm_load_jobs error: Unable to contact slurm controller",
		"error: the user said so: sbatch: error: no\n":                "the user said so: sbatch: error: no",
		"\n \n": "",
	} {
		if got := Clean(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

// TestParseForecast: the line that tells stands among others.
func TestParseForecast(t *testing.T) {
	const line = "sbatch: Job 15 to start at 2026-11-21T07:19:13 using 3 processors on nodes g[1-2] in partition main"
	want := Forecast{Start: time.Date(2026, 11, 21, 7, 19, 13, 0, time.UTC), CPUs: 3, Nodes: []string{"g1", "g2"}, Partition: "main"}
	for _, printed := range []string{line, "sbatch: lua: welcome\n" + line + "\n", line + "\nallocation failure\n"} {
		got, err := ParseForecast(printed)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", printed, err, diff)
		}
	}
	if got, err := ParseForecast(strings.TrimSuffix(line, " main")); err != nil || got.Partition != "" || got.CPUs != 3 { // it is cut off
		t.Errorf("without the last word: %+v, %v", got, err)
	}
	if got, err := ParseForecast("sbatch: Job 15 to start at \n"); err != nil || !got.Start.IsZero() {
		t.Errorf("without a time: %+v, %v", got, err)
	}
	for _, printed := range []string{"", "sbatch: lua: welcome\n", "Job 15 to start at 2026-11-21T07:19:13 using 1 processors on nodes g[1 in partition main"} {
		if f, err := ParseForecast(printed); err == nil {
			t.Errorf("%q: %+v, want an error", printed, f)
		}
	}
}

// TestDuration: every form of a length.
func TestDuration(t *testing.T) {
	for printed, want := range map[string]time.Duration{
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"1-02:03":    26*time.Hour + 3*time.Minute,
		"1-02":       26 * time.Hour,
		"10-02":      242 * time.Hour,
		"02:03:04":   2*time.Hour + 3*time.Minute + 4*time.Second,
		"03:04":      3*time.Minute + 4*time.Second,
		"UNLIMITED":  0, "x-01": 0, "1:2:3:4": 0, "1-x": 0, "": 0, "1e300": 0, "-1": 0,
		"90": 90 * time.Second, "10:00.500": 10*time.Minute + 500*time.Millisecond,
	} {
		if got := Duration(printed); got != want {
			t.Errorf("%q is %v, want %v", printed, got, want)
		}
	}
}

// TestPartitionValues: values may hold blanks, and lines may come between that tell
// nothing; neither spoils the fields beside them.
func TestPartitionValues(t *testing.T) {
	printed := "\nPartitionName=a TZ=x State=UP TZ=y\n\n   nothing\n   Nodes=g1 And x=y MaxNodes=3\n   DefMemPerCPU=-5 State=UP\n\nPartitionName=b DefMemPerCPU=NaN State=UP\n"
	want := []Partition{{Name: "a", MaxNodes: 3}, {Name: "b"}}
	if diff := cmp.Diff(want, ParsePartitions(printed)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	if got := records("PartitionName", printed)[0][4]; got != (field{"Nodes", "g1 And x=y"}) {
		t.Errorf("a value with blanks is %+v", got)
	}
}

// TestSpread: a job on several nodes takes its part of each.
func TestSpread(t *testing.T) {
	s := &State{
		Nodes: []Node{{Name: "n", CPUs: 16, Memory: 8 * profile.GiB}, {Name: "m", CPUs: 16, Memory: 8 * profile.GiB}},
		Jobs:  []JobInfo{{ID: 1, State: Running, Nodes: []string{"n", "m"}, CPUs: 6, Memory: 2 * profile.GiB}},
	}
	for _, node := range []string{"n", "m"} {
		if cpus, memory := s.Free(node); cpus != 13 || memory != 7*profile.GiB {
			t.Errorf("free on %s are %d CPUs and %v, want 13 and 7 GiB", node, cpus, memory)
		}
	}
}

// TestFirstHeld: a job that was submitted with a hold is a job, the first one, too.
func TestFirstHeld(t *testing.T) {
	if id, err := ParseSubmitted([]byte(`{"job_id": 1, "errors": [{"error_number": 2042, "error": "Job is held"}]}`)); id != 1 || err != nil {
		t.Errorf("number %d, %v; want 1", id, err)
	}
	if id, err := ParseSubmitted([]byte(`{"job_id": 0, "errors": [{"error_number": 2042, "error": "Job is held"}]}`)); !errors.Is(err, ErrRefused) {
		t.Errorf("number %d, %v; want ErrRefused", id, err)
	}
}

// TestNamelessNode: a node without a name is no node.
func TestNamelessNode(t *testing.T) {
	if nodes, err := ParseNodes([]byte(`{"nodes": [{"cpus": 1}]}`)); !errors.Is(err, ErrOutput) || nodes != nil {
		t.Errorf("%+v, %v; want ErrOutput", nodes, err)
	}
	if nodes, err := ParseNodes([]byte(`{"nodes": [{"name": "n", "partitions": [1e999]}]}`)); !errors.Is(err, ErrOutput) || nodes != nil {
		t.Errorf("a number that is none: %+v, %v; want ErrOutput", nodes, err)
	}
}

// TestUseNotMeasured: what was not measured is missing, and not 0; of several steps the
// largest counts, whichever tells nothing.
func TestUseNotMeasured(t *testing.T) {
	step := func(measured string) string { return `{"tres": {"requested": {"max": [` + measured + `]}}}` }
	small, large := step(`{"type": "gres", "name": "gpumem", "count": 100}`), step(`{"type": "gres", "name": "gpumem", "count": 300}`)
	for steps, want := range map[string]profile.Opt[profile.Bytes]{
		step(""): {},
		step(`{"type": "mem", "name": "gpumem", "count": 7}`): {},
		step("") + "," + large + "," + small + "," + step(""): profile.Some[profile.Bytes](300),
		small + "," + large: profile.Some[profile.Bytes](300),
		small + "," + step(`{"type": "gres", "name": "gpumem", "count": 1e18}`): profile.Some[profile.Bytes](100),
	} {
		jobs, err := ParseAccounting([]byte(`{"jobs": [{"job_id": 1, "steps": [` + steps + `]}]}`))
		if err != nil || jobs[0].GPUMemory != want || jobs[0].GPUBusy.Or(-1) != -1 {
			t.Errorf("%s: memory %v and busy %v, %v; want %v and missing", steps, jobs[0].GPUMemory, jobs[0].GPUBusy, err, want)
		}
	}
}

// TestNumber: what is no whole number, or one that no float holds, is 0.
func TestNumber(t *testing.T) {
	for _, n := range []number{{}, {value: 5}, {math.MaxFloat64, true}, {-math.MaxFloat64, true}} {
		if got := n.int64(); got != 0 {
			t.Errorf("%+v is %d, want 0", n, got)
		}
	}
	if got := (number{-3, true}).int64(); got != -3 {
		t.Errorf("-3 is %d", got)
	}
}

// TestGPUsOfState: a plan may use GPUs of a known product on nodes that take jobs, unless
// a job waits for them; each other one is told with its reason.
func TestGPUsOfState(t *testing.T) {
	gpu := func(kind string, n int) []Held { return []Held{{Gres: Gres{Name: "gpu", Type: kind, Count: n}}} }
	s := &State{
		Nodes: []Node{
			{Name: "a", State: []string{"IDLE"}, Gres: gpu("a100i3", 1)},
			{Name: "b", State: []string{"IDLE"}, Gres: gpu("a100", 2)},
			{Name: "c", State: []string{"DOWN"}, Gres: gpu("a100", 1)},
			{Name: "d", State: []string{"IDLE"}, Gres: gpu("mystery", 1)},
		},
		Jobs: []JobInfo{{ID: 9, State: Pending, Required: []string{"b"}, Asked: []Gres{{Name: "gpu", Type: "a100", Count: 1}}}},
	}
	gpus, skipped := s.GPUs(&GPUOptions{Models: map[string]string{"a100": "A100-40GB"}})
	var got []string
	for _, g := range gpus {
		got = append(got, g.ID+" "+g.Model.Name)
	}
	if diff := cmp.Diff([]string{"a/0 A100-40GB", "b/1 A100-40GB"}, got); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	want := []Skipped{
		{"b/0", "job 9 waits for it"},
		{"c/0", "the node takes no jobs: DOWN"},
		{"d/0", `no product is known as "mystery": say which it is in models`},
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if gpus, skipped := s.GPUs(nil); len(gpus) != 2 || len(skipped) != 3 { // a type that is a product's name needs no model
		t.Errorf("without options: %+v, %+v", gpus, skipped)
	}
}

// TestResidents: a GPU with a job is one to plan with where somebody knows which task that is.
func TestResidents(t *testing.T) {
	s := &State{
		Nodes: []Node{{Name: "a", State: []string{"MIXED"}, Gres: []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 1}}, {Gres: Gres{Name: "shard", Type: "a100", Count: 4}}}}},
		Jobs: []JobInfo{{
			ID: 9, State: Running, Nodes: []string{"a"}, Asked: []Gres{{Name: "shard", Type: "a100", Count: 1}},
			Held: [][]Held{{{Gres: Gres{Name: "shard", Type: "a100", Count: 1}, Index: []int{0}, Each: []int{1}}}},
		}},
	}
	for _, known := range []bool{true, false} {
		o := &GPUOptions{Models: map[string]string{"a100": "A100-40GB"}, Residents: func(j *JobInfo) (colloc.Task, bool) {
			return colloc.Task{ID: "task of " + strconv.Itoa(int(j.ID))}, known
		}}
		gpus, skipped := s.GPUs(o)
		if known != (len(gpus) == 1 && len(gpus[0].Residents) == 1 && gpus[0].Residents[0].ID == "task of 9") || known == (len(skipped) > 0) {
			t.Errorf("known %v: %+v, skipped %+v", known, gpus, skipped)
		}
	}
}

// TestNumbers: a number may be a text, and what is infinite or none is not set.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]number{
		`5`: {5, true}, `"5"`: {5, true}, `-2.5`: {-2.5, true}, `{"set": true, "number": 7}`: {7, true},
		`"inf"`: {}, `"-inf"`: {}, `"nan"`: {}, `"many"`: {}, `null`: {}, `{"set": false, "number": 7}`: {}, `{"set": true, "infinite": true, "number": 7}`: {}, `{}`: {},
	} {
		var got number
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestRan: a job that is over ran from its start to its end, and others for no time.
func TestRan(t *testing.T) {
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		state          JobState
		started, ended time.Time
		want           time.Duration
	}{
		{Completed, start, start.Add(time.Hour), time.Hour},
		{Running, start, start.Add(time.Hour), 0},
		{Cancelled, time.Time{}, start, 0},
		{Completed, start, start.Add(-time.Hour), 0},
		{Completed, start, time.Time{}, 0},
	} {
		if got := (&JobInfo{State: tt.state, Started: tt.started, Ended: tt.ended}).Ran(); got != tt.want {
			t.Errorf("%v from %v to %v: ran %v, want %v", tt.state, tt.started, tt.ended, got, tt.want)
		}
	}
}

// TestAmounts: memory may be a fraction of its unit; the numbers of nodes have 32 bits.
func TestAmounts(t *testing.T) {
	for printed, want := range map[string]profile.Bytes{"0.5G": 512 * profile.MiB, "0": 0, "3": 3 * profile.MiB, "-1G": 0, "1e30P": 0} {
		if got := slurmBytes(printed); got != want {
			t.Errorf("%q is %v, want %v", printed, got, want)
		}
	}
	for list, ok := range map[string]bool{"n[4294967295]": true, "n[4294967296]": false} {
		if nodes, err := ExpandNodes(list); (err == nil) != ok {
			t.Errorf("%s is %v, %v", list, nodes, err)
		}
	}
}

// TestPinned: a GPU is known by its type where no other of the node has that.
func TestPinned(t *testing.T) {
	gpu := func(kind string, n int) Held { return Held{Gres: Gres{Name: "gpu", Type: kind, Count: n}} }
	s := &State{Nodes: []Node{{Name: "n", State: []string{"IDLE"}, Gres: []Held{gpu("a", 1), gpu("b", 1), gpu("b", 1), gpu("c", 2), gpu("", 1)}}}}
	var got []bool
	for _, d := range s.Devices() {
		got = append(got, d.Pinned)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false, false}, got); diff != "" {
		t.Errorf("pinned (-want +got):\n%s", diff)
	}
}

// TestSaid: what an answer says of its errors is one line of what it tells of each.
func TestSaid(t *testing.T) {
	for printed, want := range map[string]string{
		`{}`: "", `{"errors": [{"description": "no"}]}`: "no", `{"errors": [{"source": "a", "description": "b", "error": "c"}]}`: "a: b: c",
	} {
		var e envelope
		if err := json.Unmarshal([]byte(printed), &e); err != nil || e.said() != want {
			t.Errorf("%s says %q, %v, want %q", printed, e.said(), err, want)
		}
	}
}

// TestMemoryOfAnySize: no number that JSON holds makes memory negative.
func TestMemoryOfAnySize(t *testing.T) {
	for _, mib := range []string{"8796093022208", "9007199254740992", "4398046511104"} {
		nodes, err := ParseNodes([]byte(`{"nodes": [{"name": "g1", "real_memory": ` + mib + `}]}`))
		if err != nil || nodes[0].Memory <= 0 {
			t.Errorf("a node of %s MiB has %d bytes, %v", mib, nodes[0].Memory, err)
		}
	}
}

// TestExpandNodesBoundsNames: a short list does not stand for names without end.
func TestExpandNodesBoundsNames(t *testing.T) {
	for _, list := range []string{"g[" + strings.Repeat("0", 4096) + "1-9]", "g" + strings.Repeat("[1]", 4096), strings.Repeat("g", 4096)} {
		if names, err := ExpandNodes(list); err == nil {
			t.Errorf("%.10s...: %d names of %d bytes", list, len(names), len(names[0]))
		}
	}
}
