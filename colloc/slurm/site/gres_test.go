package site

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGres(t *testing.T) {
	tests := []struct {
		name string
		want []Held
		bad  bool
	}{
		{name: "(null)"},
		{name: ""},
		{name: "gpu", want: []Held{{Gres: Gres{Name: "gpu", Type: "", Count: 1}}}},
		{name: "gpu:a100", want: []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 1}}}},
		{name: "gpu:a100:8(S:0-1),shard:64", want: []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 8}}, {Gres: Gres{Name: "shard", Type: "", Count: 64}}}},
		{name: "shard:a100:4(IDX:0,2-3)", want: []Held{{Gres: Gres{Name: "shard", Type: "a100", Count: 4}, Index: []int{0, 2, 3}}}},
		{name: "shard:a100:0(IDX:N/A)", want: []Held{{Gres: Gres{Name: "shard", Type: "a100", Count: 0}}}},
		{name: "shard:a100:5(4/8,0/8,1/8)", want: []Held{{Gres: Gres{Name: "shard", Type: "a100", Count: 5}, Index: []int{0, 2}, Each: []int{4, 1}}}},
		{name: "gpu:a100_3g.20gb:1(S:0),gpu:1g.10gb(IDX:1)", want: []Held{{Gres: Gres{Name: "gpu", Type: "a100_3g.20gb", Count: 1}}, {Gres: Gres{Name: "gpu", Type: "1g.10gb", Count: 1}, Index: []int{1}}}},
		{name: "gres:shard:a100i1:4", want: []Held{{Gres: Gres{Name: "shard", Type: "a100i1", Count: 4}}}},
		{name: "gres/gpu:a100=2,gres/shard=4", want: []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 2}}, {Gres: Gres{Name: "shard", Type: "", Count: 4}}}},
		{name: "bandwidth:lustre:no_consume:4G", want: []Held{{Gres: Gres{Name: "bandwidth", Type: "lustre", Count: math.MaxInt32}}}},
		{name: "gpu:a100:2M", want: []Held{{Gres: Gres{Name: "gpu", Type: "a100", Count: 2 << 20}}}},
		{name: "gpu:a100:9999999999", bad: true},
		{name: "license(CNT:3),gpu:a100(CNT:2)", want: []Held{{Gres: Gres{Name: "license", Type: "", Count: 3}}, {Gres: Gres{Name: "gpu", Type: "a100", Count: 2}}}},
		{name: "gpu:1(CNT:x)", bad: true},
		{name: "craynetwork:no_consume:4K", want: []Held{{Gres: Gres{Name: "craynetwork", Type: "", Count: 4096}}}},
		{name: "gpu:a:b:c:1", bad: true},
		{name: "gpu:a100:1(IDX:9-1)", bad: true},
		{name: "gpu:a100:1(IDX:0-99999)", bad: true},
		{name: "gpu:a100:1(IDX:x-3)", bad: true},
		{name: "gpu:a100:1(IDX:0-x)", bad: true},
		{name: "shard:a100:5(4/8,x/8)", bad: true},
		{name: "shard:a100:5(" + strings.Repeat("0/8,", maxDevices) + "5/8)", bad: true},
		{name: "gpu:1(what)", bad: true},
		{name: "gpu:1,:", bad: true},
		{name: "gpu:1(IDX:0", bad: true},
		{name: "gpu:$(x):1", bad: true},
		{name: "gpu:a%b:1", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseGres(tt.name)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %v", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandNodes(t *testing.T) {
	tests := []struct {
		name string
		want string
		bad  bool
	}{
		{name: ""},
		{name: "g1", want: "g1"},
		{name: "g[1-3,05],login", want: "g1 g2 g3 g05 login"},
		{name: "g[008-011]", want: "g008 g009 g010 g011"},
		{name: "g[010-012,14]", want: "g010 g011 g012 g14"},
		{name: "r[1-2]n[1-2]x", want: "r1n1x r1n2x r2n1x r2n2x"},
		{name: "g[1-2],,h", bad: true},
		{name: "g[1", bad: true},
		{name: "g]1", bad: true},
		{name: "g[2-1]", bad: true},
		{name: "g[a]", bad: true},
		{name: "g[1-999999999]", bad: true},
		{name: "g[1-999]h[1-999]", bad: true},
		{name: "g[1-131073]", bad: true},
		{name: "g[1-131072],h", bad: true},
		{name: "g[0,1-131072]", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ExpandNodes(tt.name)
			if (err != nil) != tt.bad || strings.Join(got, " ") != tt.want && !tt.bad {
				t.Errorf("got %q, %v; want %q, an error: %v", got, err, tt.want, tt.bad)
			}
		})
	}
}

// TestExpandMost: a list stands for 131,072 names at most, and so many it may.
func TestExpandMost(t *testing.T) {
	for _, list := range []string{"g[1-131072]", "g[1-131071],h", "g[1-2]x[1-65536]"} {
		if names, err := ExpandNodes(list); err != nil || len(names) != 131072 {
			t.Errorf("%s is %d names, %v; want 131072", list, len(names), err)
		}
	}
	// What stands for more is refused before its names are made.
	if n := testing.AllocsPerRun(1, func() { _, _ = ExpandNodes("g[1-1000]h[1-1000]") }); n > 10000 {
		t.Errorf("%v allocations for a list that is refused", n)
	}
}

func TestDevices(t *testing.T) {
	read := func(jobs, nodes string) *State {
		var s State
		var err error
		if s.Jobs, err = ParseJobs(recorded(t, jobs)); err != nil {
			t.Fatal(err)
		}
		if s.Nodes, err = ParseNodes(recorded(t, nodes)); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	t.Run("22.05", func(t *testing.T) {
		got := read("22.05/squeue.json", "22.05/sinfo.json").Devices()
		if len(got) != 16 {
			t.Fatalf("%d devices, want 16", len(got))
		}
		// gres_used of the node says shard:a100i1:1(IDX:1), one GPU: five shares are taken.
		want := Device{Node: "g1", Index: 1, Type: "a100i1", Pinned: true, Share: "shard", Shares: 8, Used: 5, Up: true, Jobs: []JobID{1, 4}}
		if diff := cmp.Diff(want, got[1]); diff != "" {
			t.Errorf("g1/1 (-want +got):\n%s", diff)
		}
		free := make([]int, len(got))
		for i := range got {
			free[i] = got[i].Free()
		}
		if want := []int{8, 3, 8, 6, 5, 8, 8, 8, 0, 8, 8, 6, 5, 8, 8, 8}; !slices.Equal(want, free) {
			t.Errorf("free %v, want %v", free, want)
		}
		if got[8].ID() != "g2/0" || !got[8].Whole || got[8].Empty() || !got[9].Empty() {
			t.Errorf("%+v and %+v, want g2/0 taken as a whole and the next one empty", got[8], got[9])
		}
	})
	t.Run("24.11", func(t *testing.T) {
		got := read("24.11/squeue.json", "24.11/sinfo.json").Devices()
		want := []Device{
			{Node: "g1", Index: 0, Type: "a100", Share: "shard", Shares: 8, Used: 4, Up: true, Jobs: []JobID{1}},
			{Node: "g1", Index: 1, Type: "a100", Share: "shard", Shares: 8, Whole: true, Up: true, Jobs: []JobID{10}},
			{Node: "g2", Index: 0, Type: "a100", Share: "shard", Shares: 8, Whole: true, Up: true, Jobs: []JobID{10}},
			{Node: "g2", Index: 1, Type: "a100", Share: "shard", Shares: 8, Up: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
	})
	t.Run("jobs that wait", func(t *testing.T) {
		s := State{
			Nodes: []Node{{Name: "n", State: []string{"IDLE"}, Gres: []Held{
				{Gres: Gres{Name: "gpu", Type: "p0", Count: 1}},
				{Gres: Gres{Name: "gpu", Type: "a", Count: 3}},
				{Gres: Gres{Name: "shard", Type: "a", Count: 6}},
			}}},
			Jobs: []JobInfo{
				{ID: 1, State: Running, Nodes: []string{"n"}, Held: [][]Held{{{Gres: Gres{Name: "gpu", Type: "a", Count: 1}, Index: []int{1}}}}},
				{ID: 2, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Type: "p0", Count: 1}}},
				{ID: 3, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Type: "p0", Count: 1}}},
				{ID: 4, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "shard", Type: "a", Count: 2}}},
				{ID: 5, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Type: "", Count: 1}}},
				{ID: 6, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Type: "a", Count: 2}}},
				{ID: 7, State: Pending, Asked: []Gres{{Name: "gpu", Type: "a", Count: 1}}},
				{ID: 8, State: Cancelled, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Type: "a", Count: 1}}},
			},
		}
		var got [][]JobID
		for _, d := range s.Devices() {
			got = append(got, d.Waiting)
		}
		if diff := cmp.Diff([][]JobID{{2, 3}, nil, {4}, {5}}, got); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
	})
	t.Run("a job that waits for shares by per cent", func(t *testing.T) {
		s := State{
			Nodes: []Node{{Name: "n", State: []string{"IDLE"}, Gres: []Held{{Gres: Gres{Name: "gpu", Count: 2}}, {Gres: Gres{Name: "mps", Count: 200}}}}},
			Jobs: []JobInfo{
				{ID: 6, State: Running, Nodes: []string{"n"}, Held: [][]Held{{{Gres: Gres{Name: "mps", Count: 60}, Index: []int{0}, Each: []int{60}}}}},
				{ID: 7, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "mps", Count: 50}}},
				{ID: 8, State: Pending, Required: []string{"n"}, Asked: []Gres{{Name: "gpu", Count: 1}}},
			},
		}
		var got [][]JobID
		for _, d := range s.Devices() {
			got = append(got, d.Waiting)
		}
		if diff := cmp.Diff([][]JobID{nil, {7}}, got); diff != "" { // on the first only 40 are free, and the whole is not
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
	})
	t.Run("a job whose GPUs are not told", func(t *testing.T) {
		s := State{
			Nodes: []Node{{Name: "n", State: []string{"IDLE"}, Gres: []Held{{Gres: Gres{Name: "gpu", Type: "", Count: 2}}, {Gres: Gres{Name: "mps", Type: "", Count: 200}}}}},
			Jobs:  []JobInfo{{ID: 7, State: Running, Nodes: []string{"n"}, Held: [][]Held{{{Gres: Gres{Name: "mps", Type: "", Count: 50}}}}}},
		}
		for _, d := range s.Devices() {
			if d.Shares != 100 || !d.Unclear || d.Free() != 0 || !slices.Equal(d.Jobs, []JobID{7}) {
				t.Errorf("%+v, want 100 shares, none of them known to be free", d)
			}
		}
	})
}

// TestUnclearByType: a job of which Slurm tells the type of its GPUs alone may be on any of
// that type, and on no other.
func TestUnclearByType(t *testing.T) {
	s := State{
		Nodes: []Node{{Name: "n", State: []string{"IDLE"}, Gres: []Held{{Gres: Gres{Name: "gpu", Type: "a", Count: 2}}, {Gres: Gres{Name: "gpu", Type: "b", Count: 2}}}}},
		Jobs:  []JobInfo{{ID: 7, State: Running, Nodes: []string{"n"}, Held: [][]Held{{{Gres: Gres{Name: "gpu", Type: "b", Count: 1}}}}}},
	}
	for _, d := range s.Devices() {
		if d.Unclear != (d.Type == "b") || (len(d.Jobs) > 0) != (d.Type == "b") {
			t.Errorf("%+v, want those of type b unclear", d)
		}
	}
}

// TestClusterTellsApart: nodes are one type only if they are alike in all that a type says.
func TestClusterTellsApart(t *testing.T) {
	gres := func(kind string, gpus, shards int) []Held {
		return []Held{{Gres: Gres{Name: "gpu", Type: kind, Count: gpus}}, {Gres: shard("", shards)}}
	}
	a := Node{Name: "a", State: []string{"IDLE"}, Partitions: []string{"main"}, Features: []string{"ib"}, CPUs: 8, Memory: 64, Gres: gres("a100", 2, 16)}
	others := map[string]func(*Node){
		"CPUs": func(n *Node) { n.CPUs++ }, "memory": func(n *Node) { n.Memory++ }, "features": func(n *Node) { n.Features = nil },
		"partitions": func(n *Node) { n.Partitions = []string{"long"} }, "type": func(n *Node) { n.Gres = gres("v100", 2, 16) },
		"GPUs": func(n *Node) { n.Gres = gres("a100", 3, 16) }, "shards": func(n *Node) { n.Gres = gres("a100", 2, 17) },
	}
	for name, change := range others {
		b := a
		change(&b)
		if c := (&State{Nodes: []Node{a, b, a}}).Cluster(); len(c.Nodes) != 2 || c.Nodes[0].Count != 2 || c.Nodes[1].Count != 1 {
			t.Errorf("nodes that differ in %s: %+v, want two of one type and one of another", name, c.Nodes)
		}
	}
}

func TestStateCluster(t *testing.T) {
	nodes, err := ParseNodes(recorded(t, "24.11/sinfo.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := State{Nodes: nodes, Partitions: []Partition{{Name: "main"}}}
	want := Cluster{Partitions: s.Partitions, Nodes: []NodeType{{
		Count: 2, Partitions: []string{"main", "long"}, CPUs: 32, Memory: nodes[0].Memory,
		GPU: "a100", GPUs: 2, Shards: 16, Features: []string{"a100", "nvlink"},
	}}}
	if diff := cmp.Diff(want, s.Cluster()); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
}

// TestInAll: what a job asks for on all nodes together, however it says so.
func TestInAll(t *testing.T) {
	for _, tt := range []struct {
		job    string
		gpus   int
		kind   string
		shares bool
	}{
		{`"tres_per_node": "gres:gpu:a100:2", "node_count": 3`, 6, "a100", false},
		{`"tres_per_node": "gres:gpu:2", "node_count": {"set": true, "number": 2}`, 4, "", false},
		{`"tres_per_job": "gres:gpu:5", "node_count": 2`, 5, "", false},
		{`"tres_per_task": "gres/gpu:v100:1", "tasks": 4, "node_count": 2`, 4, "v100", false},
		{`"tres_per_node": "gres:shard:4"`, 0, "", true},
		{`"tres_per_node": "gres:gpu:2147483647", "node_count": 9`, math.MaxInt32, "", false},
		{`"cpus": 3`, 0, "", false},
	} {
		jobs, err := ParseJobs([]byte(`{"jobs": [{"job_id": 1, ` + tt.job + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if gpus, kind, shares := CountGPUs(jobs[0].InAll); gpus != tt.gpus || kind != tt.kind || shares != tt.shares {
			t.Errorf("%s: %d of %q, shares: %t; want %d of %q, %t", tt.job, gpus, kind, shares, tt.gpus, tt.kind, tt.shares)
		}
	}
}
