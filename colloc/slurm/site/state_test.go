package site

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// brief is what the tests compare of a job.
type brief struct {
	ID           JobID
	State        JobState
	Name, Reason string
	Nodes        []string
	Held         [][]Held
	Asked        []Gres
	Exit, Signal int
}

func briefs(jobs []JobInfo) []brief {
	var list []brief
	for _, j := range jobs {
		list = append(list, brief{j.ID, j.State, j.Name, j.Reason, j.Nodes, j.Held, j.Asked, j.Exit, j.Signal})
	}
	return list
}

func shard(kind string, n int) Gres { return Gres{Name: "shard", Type: kind, Count: n} }

func TestParseJobsRecorded(t *testing.T) {
	jobs, err := ParseJobs(recorded(t, "22.05/squeue.json"))
	if err != nil {
		t.Fatal(err)
	}
	two := []Held{
		{Gres: shard("a100i3", 2), Index: []int{3}},
		{Gres: shard("a100i4", 3), Index: []int{4}},
	}
	want := []brief{
		{ID: 1, State: Running, Name: "alpha", Nodes: []string{"g1"}, Held: [][]Held{{{Gres: shard("a100i1", 4), Index: []int{1}}}}, Asked: []Gres{shard("a100i1", 4)}},
		{ID: 2, State: Cancelled, Name: "beta", Nodes: []string{"g1"}, Asked: []Gres{shard("a100i1", 4)}, Signal: 15},
		{ID: 3, State: Running, Name: "two", Nodes: []string{"g1", "g2"}, Held: [][]Held{two, two}, Asked: []Gres{shard("a100i3", 2), shard("a100i4", 3)}},
		{ID: 4, State: Running, Name: "waits", Nodes: []string{"g1"}, Held: [][]Held{{{Gres: shard("a100i1", 1), Index: []int{1}}}}, Asked: []Gres{shard("a100i1", 1)}},
		{ID: 5, State: Running, Name: "whole", Nodes: []string{"g2"}, Held: [][]Held{{{Gres: Gres{Name: "gpu", Type: "a100i0", Count: 1}, Index: []int{0}}}}, Asked: []Gres{{Name: "gpu", Type: "a100i0", Count: 1}}},
		{ID: 6, State: Pending, Name: "held", Reason: "JobHeldUser"},
		{ID: 7, State: Failed, Name: "fails", Reason: "NonZeroExitCode", Nodes: []string{"g2"}, Exit: 3},
		{ID: 8, State: Failed, Name: "killed", Reason: "JobLaunchFailure", Nodes: []string{"g2"}, Signal: 9},
		{ID: 10, State: Running, Name: "sweep", Nodes: []string{"g2"}},
		{ID: 11, State: Running, Name: "sweep", Nodes: []string{"g2"}},
		{ID: 9, State: Pending, Name: "sweep", Reason: "JobArrayTaskLimit"},
	}
	if diff := cmp.Diff(want, briefs(jobs)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	alpha := JobInfo{
		ID: 1, Name: "alpha", User: "root", Account: "root", Partition: "main", Comment: "colloc:alpha", State: Running,
		Nodes: []string{"g1"}, Required: []string{"g1"}, Asked: want[0].Asked, InAll: want[0].Asked, Held: want[0].Held,
		CPUs: 1, Memory: 100 * profile.MiB, Limit: 10 * time.Minute,
		Submitted: time.Date(2026, 11, 21, 12, 49, 33, 0, time.UTC),
		Started:   time.Date(2026, 11, 21, 12, 49, 34, 0, time.UTC), Ended: time.Date(2026, 11, 21, 12, 59, 34, 0, time.UTC),
		Output: "/dev/null", Dir: "/",
	}
	if diff := cmp.Diff(alpha, jobs[0], cmp.AllowUnexported(profile.Opt[int]{})); diff != "" {
		t.Errorf("job 1 (-want +got):\n%s", diff)
	}
	if i, ok := jobs[9].Index.Get(); !ok || i != 1 || jobs[9].Array != 9 || jobs[10].Indices != "2-3%2" {
		t.Errorf("job 11 is %d of array %d, job 9 stands for %q; want 1 of 9, 2-3%%2", i, jobs[9].Array, jobs[10].Indices)
	}
}

func TestParseJobsLater(t *testing.T) {
	jobs, err := ParseJobs(recorded(t, "24.11/squeue.json"))
	if err != nil {
		t.Fatal(err)
	}
	gpu := Gres{Name: "gpu", Type: "a100", Count: 1}
	want := []brief{
		{ID: 1, State: Running, Name: "alpha", Nodes: []string{"g1"}, Held: [][]Held{{{Gres: shard("a100", 4), Index: []int{0}, Each: []int{4}}}}, Asked: []Gres{shard("a100", 4)}},
		{ID: 10, State: Completing, Name: "sweep", Nodes: []string{"g1", "g2"}, Held: [][]Held{{{Gres: gpu, Index: []int{1}}}, {{Gres: gpu, Index: []int{0}}}}, Asked: []Gres{gpu}},
		{ID: 9, State: Pending, Name: "sweep", Reason: "JobArrayTaskLimit", Asked: []Gres{shard("", 2)}},
		{ID: 8, State: Failed, Name: "killed", Reason: "RaisedSignal:9(Killed)", Nodes: []string{"g2"}, Signal: 9},
	}
	if diff := cmp.Diff(want, briefs(jobs)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if jobs[0].Limit != 10*time.Minute || jobs[1].Limit != 0 || jobs[2].Memory != 1536*profile.MiB {
		t.Errorf("limits %v and %v, memory %v; want 10m, none, 1.5GiB", jobs[0].Limit, jobs[1].Limit, jobs[2].Memory)
	}
}

func TestParseNodes(t *testing.T) {
	pinned := func(name string, per int) []Held {
		var list []Held
		for i := range 8 {
			list = append(list, Held{Gres: Gres{name, "a100i" + string(rune('0'+i)), per}})
		}
		return list
	}
	gres := slices.Concat(pinned("gpu", 1), pinned("shard", 8))
	later := []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 2}}, {Gres: shard("a100", 16)}}
	used := func(name string, gpu int) Held {
		return Held{Gres: Gres{name, "a100i" + string(rune('0'+gpu)), 1}, Index: []int{gpu}}
	}
	both := []string{"main", "long"}
	features := []string{"a100", "nvlink"}
	tests := []struct {
		name string
		want []Node
	}{
		{"22.05/sinfo.json", []Node{
			{
				Name: "g1", State: []string{"MIXED"}, Partitions: []string{"main"}, CPUs: 16, Memory: 64000 * profile.MiB, Gres: gres,
				UsedCPUs: 3, UsedMemory: 300 * profile.MiB, Used: []Held{used("shard", 1), used("shard", 3), used("shard", 4)},
			},
			{
				Name: "g2", State: []string{"MIXED"}, Partitions: []string{"main"}, CPUs: 16, Memory: 64000 * profile.MiB, Gres: gres,
				UsedCPUs: 4, UsedMemory: 400 * profile.MiB, Used: []Held{used("gpu", 0), used("shard", 3), used("shard", 4)},
			},
		}},
		{"24.11/sinfo.json", []Node{
			{Name: "g1", State: []string{"MIXED"}, Partitions: both, Features: features, CPUs: 32, Memory: 512000 * profile.MiB, Gres: later},
			{Name: "g2", State: []string{"MIXED"}, Partitions: both, Features: features, CPUs: 32, Memory: 512000 * profile.MiB, Gres: later},
			{Name: "h1", State: []string{"DOWN", "NOT_RESPONDING"}, Reason: "Not responding", Partitions: []string{"main"}, CPUs: 16, Memory: 64000 * profile.MiB},
		}},
		{"24.11/nodes.json", []Node{
			{Name: "g1", State: []string{"IDLE", "DRAIN"}, Partitions: both, Features: features, CPUs: 32, Memory: 512000 * profile.MiB, Gres: later, Used: []Held{
				{Gres: Gres{Name: "gpu", Type: "a100", Count: 1}, Index: []int{1}}, {Gres: shard("a100", 4), Index: []int{0}, Each: []int{4}},
			}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseNodes(recorded(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeUp(t *testing.T) {
	tests := []struct {
		name string
		want bool
	}{
		{"idle", true},
		{"mixed", true},
		{"ALLOCATED", true},
		{"MIXED+COMPLETING", true},
		{"idle~", true},
		{"IDLE+CLOUD+POWERED_DOWN", true},
		{"IDLE+POWERING_DOWN", false},
		{"down", false},
		{"idle*", false},
		{"IDLE+DRAIN", false},
		{"mixed+reboot_requested", false},
		{"", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := Node{State: nodeState([]string{tt.name})}
			if got := n.Up(); got != tt.want {
				t.Errorf("Up with %v = %v, want %v", n.State, got, tt.want)
			}
		})
	}
}

func TestParseAccounting(t *testing.T) {
	now, err := ParseAccounting(recorded(t, "22.05/sacct.json"))
	if err != nil {
		t.Fatal(err)
	}
	later, err := ParseAccounting(recorded(t, "24.11/sacct.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []JobInfo{now[0], later[0]} {
		if got.ID != 1 || got.Comment != "colloc:alpha" || got.Ran() != 12*time.Second || got.Limit != 10*time.Minute || !slices.Contains(got.Asked, shard("", 4)) {
			t.Errorf("got %+v, want job 1, alpha, which had 4 shards for 12 s of 10 min", got)
		}
	}
	if later[0].Exit != 3 || later[0].Restarts != 1 || later[0].State != Failed || !slices.Contains(later[0].Asked, Gres{Name: "gpu", Type: "a100", Count: 1}) {
		t.Errorf("got %+v, want one restart and exit 3 on an A100", later[0])
	}
	for _, j := range now { // 22.05 loses exit codes: this one ended with 3
		if j.Name == "fails" && (j.State != Failed || j.Exit != 0) || j.Name == "killed" && j.Signal != 9 {
			t.Errorf("got %+v", j)
		}
	}
	states := map[JobState]int{}
	for _, j := range now {
		states[j.State]++
	}
	if diff := cmp.Diff(map[JobState]int{Completed: 2, Cancelled: 2, Failed: 2, Running: 3}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestGPUBusy: a GPU that is listed with and without its type is one GPU.
func TestGPUBusy(t *testing.T) {
	for gres, want := range map[string]float64{
		`{"type":"gres","name":"gpu","count":4},{"type":"gres","name":"gpu:a100","count":4}`:      0.8,
		`{"type":"gres","name":"gpu:a100","count":3},{"type":"gres","name":"gpu:h100","count":1}`: 0.8,
		`{"type":"gres","name":"gpu","count":8}`:                                                  0.4,
		`{"type":"gres","name":"shard","count":8}`:                                                1,
	} {
		jobs, err := ParseAccounting([]byte(`{"jobs":[{"job_id":5,"tres":{"allocated":[` + gres + `]},
			"steps":[{"tres":{"requested":{"total":[{"type":"gres","name":"gpuutil","count":320}]}}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := jobs[0].GPUBusy.Or(0); got != want {
			t.Errorf("%s: busy %v, want %v", gres, got, want)
		}
	}
	jobs, err := ParseAccounting([]byte(`{"jobs":[{"job_id":5,"tres":{"allocated":[{"type":"gres","name":"gpu","count":4}]},
		"steps":[{"tres":{"requested":{"average":[{"type":"gres","name":"gpuutil","count":60}]}}}]}]}`))
	if err != nil || jobs[0].GPUBusy.Or(0) != 0.6 {
		t.Errorf("a mean of 60 alone: busy %v, %v; want 0.6", jobs[0].GPUBusy, err)
	}
}

// TestNodeState: what stands for nothing is no state.
func TestNodeState(t *testing.T) {
	if got := nodeState([]string{"", "idle*++drain", "*"}); !slices.Equal(got, []string{"IDLE", "NOT_RESPONDING", "DRAIN"}) {
		t.Errorf("got %q", got)
	}
}

// TestMechanisms: a GPU is shared as the site offers it.
func TestMechanisms(t *testing.T) {
	for share, want := range map[string]profile.Mechanism{"": profile.Exclusive, "shard": profile.TimeSlice, "mps": profile.MPS} {
		if got := (&Device{Share: share}).mechanisms(); !slices.Equal(got, []profile.Mechanism{want}) {
			t.Errorf("shared by %q: %v, want %v", share, got, want)
		}
	}
}

// TestErrorCause: an error is of its kind, and of what lies below it.
func TestErrorCause(t *testing.T) {
	err := error(&Error{Command: "squeue", Kind: ErrNoCluster, Cause: context.DeadlineExceeded})
	if !errors.Is(err, ErrNoCluster) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrPermission) {
		t.Errorf("%v is of another kind", err)
	}
}

func TestParsePartitions(t *testing.T) {
	printed := string(recorded(t, "22.05/partitions.txt")) +
		"\nPartitionName=long\n   Default=NO State=DRAIN MaxTime=2-00:00:00 MaxNodes=4\n" +
		"\nPartitionName=node\n   State=UP DefMemPerNode=2048\n\nPartitionName=all\n   State=UP DefMemPerNode=UNLIMITED\n"
	want := []Partition{
		{Name: "main", Default: true, MemoryPerCPU: 100 * profile.MiB},
		{Name: "long", Down: true, MaxTime: 48 * time.Hour, MaxNodes: 4},
		{Name: "node", MemoryPerNode: 2 * profile.GiB},
		{Name: "all", Unlimited: true},
	}
	if diff := cmp.Diff(want, ParsePartitions(printed)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

// TestHeld reads what running jobs hold where Slurm says it in part, in words to
// come, or not at all.
func TestHeld(t *testing.T) {
	a100 := func(n int) Gres { return Gres{Name: "gpu", Type: "a100", Count: n} }
	tests := []struct {
		name, fields string
		want         [][]Held
	}{
		{"nothing", `"gres_detail": []`, nil},
		{"on the second node alone", `"gres_detail": ["", "gpu:a100:1(IDX:2)"]`, [][]Held{nil, {{Gres: a100(1), Index: []int{2}}}}},
		{"no GPUs on the first", `"gres_detail": [null, "gpu:a100:1(IDX:0)"]`, [][]Held{nil, {{Gres: a100(1), Index: []int{0}}}}},
		{"a count of what has no devices", `"gres_detail": ["lic(CNT:2)", "lic(CNT:2)"]`, [][]Held{{{Gres: Gres{Name: "lic", Type: "", Count: 2}}}, {{Gres: Gres{Name: "lic", Type: "", Count: 2}}}}},
		{"words to come", `"gres_detail": ["gpu:a100:1{0}", "gpu:a100:1(IDX:1)"]`, [][]Held{{{Gres: Gres{Name: "gpu", Type: "", Count: 1}}}, {{Gres: a100(1), Index: []int{1}}}}},
		{"no detail", `"tres_per_node": "gres/gpu:a100:2"`, [][]Held{{{Gres: a100(2)}}, {{Gres: a100(2)}}}},
		{"no list", `"gres_detail": "gpu", "tres_per_job": "gres:shard:4"`, [][]Held{{{Gres: shard("", 4)}}, {{Gres: shard("", 4)}}}},
		{"accounts alone", `"tres_alloc_str": "cpu=4,mem=8G,gres/gpu:a100=2"`, [][]Held{{{Gres: a100(2)}}, {{Gres: a100(2)}}}},
		{"a request that cannot be read", `"gres_detail": [], "tres_per_node": "gres/x y"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs, err := ParseJobs([]byte(`{"jobs": [{"job_id": 1, "job_state": "RUNNING", "nodes": "g[1-2]", ` + tt.fields + `}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, jobs[0].Held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	for _, tt := range []struct {
		name string
		want time.Duration
	}{
		{"90", 90 * time.Minute},
		{"null", 0},
		{"4294967294", 0}, // NO_VAL
		{"4294967295", 0}, // INFINITE
		{"4294967293", math.MaxInt64 / time.Minute * time.Minute},
		{`{"set": true, "infinite": true, "number": 0}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jobs, err := ParseJobs([]byte(`{"jobs": [{"job_id": 1, "time_limit": ` + tt.name + `}]}`))
			if err != nil || jobs[0].Limit != tt.want {
				t.Errorf("got %v, %v; want %v", jobs, err, tt.want)
			}
		})
	}
}

func TestParseFailures(t *testing.T) {
	tests := []struct {
		name, data string
		kind       error
		says       string
	}{
		{"nothing", "", ErrOutput, "nothing was printed"},
		{"text", "squeue: error", ErrOutput, "JSON"},
		{"another answer", `{"nodes": []}`, ErrOutput, `no field "jobs"`},
		{"a job without a number", `{"jobs": [{"name": "x"}]}`, ErrOutput, `jobs[0]: the answer has no field "job_id"`},
		{"nodes that are no list", `{"jobs": [{"job_id": 1, "nodes": "g[1"}]}`, ErrOutput, "closing bracket"},
		{"a controller that is down", `{"errors": [{"source": "slurm_load_jobs", "description": "Failed while looking for jobs", "error": "Unspecified error", "error_number": -1}], "jobs": []}`, ErrNoCluster, "slurm_load_jobs"},
	}
	if _, err := ParseNodes([]byte(`{"errors": [{"error": "Unspecified error", "errno": -1}], "nodes": []}`)); !errors.Is(err, ErrNoCluster) {
		t.Errorf("sinfo of 22.05 with a controller that is down: got %v, want %v", err, ErrNoCluster)
	}
	if _, err := ParseNodes([]byte(`{"errors": [{"error": "Unspecified error", "description": "colloc: not to you", "errno": 2011}], "nodes": []}`)); !errors.Is(err, ErrRefused) {
		t.Errorf("an error that has a number: got %v, want %v", err, ErrRefused)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseJobs([]byte(tt.data))
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v that says %q", err, tt.kind, tt.says)
			}
		})
	}
}

func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestHidden: what jobs have that a user may not see is not free.
func TestHidden(t *testing.T) {
	gpus := []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 3}}}
	mine := JobInfo{ID: 1, State: Running, Nodes: []string{"n"}, CPUs: 4, Memory: profile.GiB, Held: [][]Held{{{Gres: Gres{Name: "gpu", Type: "a100", Count: 1}, Index: []int{0}}}}}
	for _, tt := range []struct {
		name string
		used []Held
		want []bool // not clear
	}{
		{"nothing else", []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 1}, Index: []int{0}}}, []bool{false, false, false}},
		{"one more, and which", []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 2}, Index: []int{0, 2}}}, []bool{false, false, true}},
		{"one more", []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 2}}}, []bool{false, true, true}},
		{"as many as are seen", []Held{{Gres: Gres{Name: "gpu", Count: 1}}}, []bool{false, false, false}},
		{"shares of one, by mps", []Held{{Gres: Gres{Name: "mps", Type: "a100", Count: 50}, Index: []int{1}}}, []bool{false, true, false}},
		{"one more, of any type", []Held{{Gres: Gres{Name: "gpu", Count: 2}}}, []bool{false, true, true}},
		{"one more, of another type", []Held{{Gres: Gres{Name: "gpu", Type: "t4", Count: 2}}}, []bool{false, false, false}},
		{"shares of one", []Held{{Gres: Gres{Name: "shard", Type: "a100", Count: 1}, Index: []int{2}}}, []bool{false, false, true}},
		{"a license", []Held{{Gres: Gres{Name: "license", Count: 9}}}, []bool{false, false, false}},
		{"another device", []Held{{Gres: Gres{Name: "nic", Count: 2}, Index: []int{1, 2}}}, []bool{false, false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &State{Jobs: []JobInfo{mine}, Nodes: []Node{{Name: "n", State: []string{"MIXED"}, CPUs: 16, Memory: 8 * profile.GiB, UsedCPUs: 10, Gres: gpus, Used: tt.used}}}
			var got []bool
			for _, d := range s.Devices() {
				got = append(got, d.Unclear)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("not clear (-want +got):\n%s", diff)
			}
			if nodes := s.Miscounted(); nodes != nil {
				t.Errorf("GPUs of %q are counted wrongly: jobs that are not seen may have them", nodes)
			}
			s.Nodes[0].UsedCPUs = mine.CPUs // nobody else is there
			if nodes := s.Miscounted(); slices.Contains(tt.want, true) != slices.Equal(nodes, []string{"n"}) {
				t.Errorf("GPUs of %q are counted wrongly; not clear are %v", nodes, tt.want)
			}
			s.Nodes[0].UsedCPUs = 10
			if cpus, memory := s.Free("n"); cpus != 6 || memory != 7*profile.GiB {
				t.Errorf("free are %d CPUs and %v, want 6 and 7 GiB", cpus, memory)
			}
		})
	}
}

// TestParseDefaults: what a job gets that states no memory.
func TestParseDefaults(t *testing.T) {
	for printed, want := range map[string]Partition{
		"DefMemPerNode           = UNLIMITED\nSelectTypeParameters    = CR_CORE_MEMORY\n": {Unlimited: true},
		"DefMemPerCPU            = 2048\nSelectTypeParameters    = CR_CPU_MEMORY\n":       {MemoryPerCPU: 2 * profile.GiB},
		"DefMemPerNode           = UNLIMITED\nSelectTypeParameters    = CR_CORE\n":        {},
		"": {},
	} {
		if diff := cmp.Diff(want, ParseDefaults(printed)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", printed, diff)
		}
	}
}

// TestNoTime: a job that never started has no time of start, however Slurm writes that.
func TestNoTime(t *testing.T) {
	for _, none := range []string{"0", "4294967294", "4294967295"} {
		jobs, err := ParseAccounting([]byte(`{"jobs": [{"job_id": 1, "time": {"start": ` + none + `, "submission": 100}}]}`))
		if err != nil || !jobs[0].Started.IsZero() || jobs[0].Submitted.Unix() != 100 {
			t.Errorf("%s: %+v, %v", none, jobs, err)
		}
	}
}

// TestPartitionsJSONMemory: both ways in which versions write what a job gets that states
// no memory, and Slurm's own numbers for none.
func TestPartitionsJSONMemory(t *testing.T) {
	list, err := ParsePartitionsJSON([]byte(`{"partitions": [
		{"name": "old", "default_memory_per_cpu": 100, "default_memory_per_node": 0},
		{"name": "new", "defaults": {"partition_memory_per_node": {"set": true, "infinite": false, "number": 2048}}},
		{"name": "none", "default_memory_per_cpu": 9223372036854775807, "default_memory_per_node": 4294967294}
	]}`))
	if err != nil || len(list) != 3 || list[0].MemoryPerCPU != 100*profile.MiB || list[1].MemoryPerNode != 2*profile.GiB || list[2].MemoryPerCPU != 0 || list[2].MemoryPerNode != 0 {
		t.Errorf("%+v, %v; want 100 MiB a CPU, 2 GiB a node, and nothing", list, err)
	}
}
