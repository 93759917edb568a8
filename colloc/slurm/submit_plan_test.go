package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// aNode is a cluster of one node: a pinned GPU, two of one type, one that nobody
// shares; job 7 is the task "old" on the first, job 8 a stranger on the last.
func aNode() *site.State {
	return &site.State{
		Nodes: []site.Node{{Name: "n", State: []string{"MIXED"}, Partitions: []string{"main"}, Gres: []site.Held{
			{Gres: site.Gres{Name: "gpu", Type: "a100i0", Count: 1}},
			{Gres: site.Gres{Name: "gpu", Type: "v100", Count: 2}},
			{Gres: site.Gres{Name: "gpu", Type: "oddity", Count: 1}},
			{Gres: site.Gres{Name: "shard", Type: "a100i0", Count: 8}},
			{Gres: site.Gres{Name: "shard", Type: "v100", Count: 8}},
		}}},
		Jobs: []site.JobInfo{
			{ID: 7, State: site.Running, Comment: "colloc:old", Nodes: []string{"n"}, Held: [][]site.Held{{{Gres: shards("a100i0", 3), Index: []int{0}}}}},
			{ID: 8, State: site.Running, Nodes: []string{"n"}, Held: [][]site.Held{{{Gres: shards("v100", 4), Index: []int{2}}}}},
		},
	}
}

func TestStateGPUs(t *testing.T) {
	s := aNode()
	residents := func(j *site.JobInfo) (colloc.Task, bool) {
		tasks := TasksOf(j)
		if len(tasks) != 1 {
			return colloc.Task{}, false
		}
		return colloc.Task{ID: tasks[0], Reserved: profile.GiB}, true
	}
	gpus, skipped := s.GPUs(&site.GPUOptions{Residents: residents, Models: map[string]string{"a100": "A100-40GB"}, Partition: "main"})
	var got []string
	for _, g := range gpus {
		line := []string{g.ID, g.Model.Name}
		for _, r := range g.Residents {
			line = append(line, r.ID)
		}
		got = append(got, strings.Join(line, " "))
	}
	a100, _ := profile.LookupGPU("A100-40GB")
	v100, _ := profile.LookupGPU("v100")
	if diff := cmp.Diff([]string{"n/0 " + a100.Name + " old", "n/1 " + v100.Name}, got); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	want := []site.Skipped{
		{GPU: "n/2", Why: "job 8 runs there, and which task that is is not known"},
		{GPU: "n/3", Why: `no product is known as "oddity": say which it is in models`},
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	s.Jobs[0].Held[0][0].Count = 8
	s.Jobs[1] = site.JobInfo{ID: 9, State: site.Pending, Required: []string{"n"}, Asked: []site.Gres{shards("v100", 2)}}
	if gpus, skipped := s.GPUs(&site.GPUOptions{Residents: residents}); len(gpus) != 1 || gpus[0].ID != "n/2" ||
		skipped[0].Why != "jobs [7] have all of its shares" || skipped[1].Why != "job 9 waits for it" {
		t.Errorf("got %v, skipped %v; want n/2 alone", gpus, skipped)
	}
	s.Nodes[0].State = []string{"DOWN"}
	if gpus, skipped := s.GPUs(nil); len(gpus) != 0 || len(skipped) != 4 || skipped[0].Why != "the node takes no jobs: DOWN" {
		t.Errorf("a node that is down offers %d GPUs; %v", len(gpus), skipped)
	}
	if gpus, skipped := s.GPUs(&site.GPUOptions{Partition: "other"}); len(gpus)+len(skipped) != 0 {
		t.Errorf("another partition has %v, %v", gpus, skipped)
	}
}

func members(reserved ...profile.Bytes) []colloc.Member {
	var list []colloc.Member
	for i, r := range reserved {
		list = append(list, colloc.Member{Task: string(rune('a' + i)), Reserved: r})
	}
	return list
}

func TestPlace(t *testing.T) {
	const g = profile.GiB
	with := func(m []colloc.Member, i int) []colloc.Member { m[i].Resident = true; return m }
	tests := []struct {
		name string
		p    colloc.Placement
		want string
		err  string
	}{
		{name: "in proportion, all that is free", p: colloc.Placement{GPU: "n/1", Mechanism: profile.TimeSlice, Members: members(9*g, 3*g)}, want: "a shard:v100:3, b shard:v100:1"},
		{name: "beside a resident", p: colloc.Placement{GPU: "n/0", Mechanism: profile.TimeSlice, Members: with(members(g, g), 0)}, want: "b shard:a100i0:5 pinned"},
		{name: "alone", p: colloc.Placement{GPU: "n/1", Members: members(g)}, want: "a gpu:v100:1"},
		{name: "alone for now", p: colloc.Placement{GPU: "n/1", Mechanism: profile.TimeSlice, Members: members(g)}, want: "a shard:v100:4"},
		{name: "more than there are", p: colloc.Placement{GPU: "n/1", Mechanism: profile.TimeSlice, Members: members(g, g, g, g, g)}, err: "GPU n/1 has 4 free shares of 4 for 5 tasks"},
		{name: "not shared", p: colloc.Placement{GPU: "n/3", Mechanism: profile.TimeSlice, Members: members(g, g)}, err: "neither shard nor mps"},
		{name: "gone", p: colloc.Placement{GPU: "x/3", Members: members(g)}, err: `GPU "x/3", which the cluster does not have`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			placed, err := Place(&colloc.Plan{Placements: []colloc.Placement{tt.p}}, aNode().Devices(), nil)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want an error that says %q", err, tt.err)
				}
				return
			}
			var got []string
			for _, p := range placed {
				line := p.Task + " " + p.Request.Gres[0].String()
				if p.Pinned {
					line += " pinned"
				}
				if p.GPU != tt.p.GPU || p.Request.NodeList != "n" {
					t.Errorf("%s goes to %s on %s", p.Task, p.GPU, p.Request.NodeList)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Shares of gres/mps are percentages of the multiprocessors: who needs those gets
// them, however little memory it has.
func TestPlaceMPS(t *testing.T) {
	d := site.Device{Node: "n", Share: "mps", Shares: 100, Up: true}
	p := colloc.Placement{GPU: "n/0", Mechanism: profile.MPS, Members: members(28*profile.GiB, 2*profile.GiB)}
	placed, err := Place(&colloc.Plan{Placements: []colloc.Placement{p}}, []site.Device{d}, nil)
	if err != nil || placed[0].Request.Gres[0].Count != 50 || placed[1].Request.Gres[0].Count != 50 {
		t.Errorf("%v, %v; want half of the multiprocessors for each where nobody says what they need", placed, err)
	}
	for _, tt := range []struct {
		name string
		busy map[string]float64
		want []int
	}{
		{"by what they need", map[string]float64{"a": 0.10, "b": 0.85}, []int{11, 89}},
		{"one is not known", map[string]float64{"b": 0.85}, []int{50, 50}},
		{"idle", map[string]float64{"a": 0, "b": 0.85}, []int{2, 98}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			placed, err := Place(&colloc.Plan{Placements: []colloc.Placement{p}}, []site.Device{d}, &PlaceOptions{Busy: func(task string) profile.Opt[float64] {
				if v, ok := tt.busy[task]; ok {
					return profile.Some(v)
				}
				return profile.Opt[float64]{}
			}})
			if err != nil || len(placed) != 2 {
				t.Fatalf("%v, %v", placed, err)
			}
			got := []int{placed[0].Request.Gres[0].Count, placed[1].Request.Gres[0].Count}
			if diff := cmp.Diff(tt.want, got); diff != "" || placed[0].Reserved != 28*profile.GiB {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the tasks are called and reserve: shares add up to what is free, and
// the name comes back from the job's comment.
func TestPlaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := site.Device{Node: "n", Share: "shard", Shares: rapid.IntRange(1, 1000).Draw(t, "shares"), Up: true}
		d.Used = rapid.IntRange(0, d.Shares-1).Draw(t, "used")
		p := colloc.Placement{GPU: "n/0", Mechanism: profile.TimeSlice}
		for range rapid.IntRange(1, min(8, d.Shares-d.Used)).Draw(t, "members") {
			p.Members = append(p.Members, colloc.Member{
				Task:     rapid.StringN(1, 20, -1).Draw(t, "task"),
				Reserved: profile.Bytes(rapid.Int64().Draw(t, "reserved")),
			})
		}
		placed, err := Place(&colloc.Plan{Placements: []colloc.Placement{p}}, []site.Device{d}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i, m := range placed {
			n := m.Request.Gres[0].Count
			if sum += n; n < 1 {
				t.Fatalf("%d shares", n)
			}
			if _, err := m.Request.Header(); err != nil {
				t.Fatal(err)
			}
			if tasks := TasksOf(&site.JobInfo{Comment: m.Request.Comment}); len(tasks) != 1 || tasks[0] != p.Members[i].Task {
				t.Fatalf("task %q comes back as %q", p.Members[i].Task, tasks)
			}
		}
		if sum != d.Shares-d.Used {
			t.Fatalf("%d shares of %d are given to %d members", sum, d.Shares-d.Used, len(placed))
		}
	})
}

func TestTasksOf(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{Comment("", "a b", "c,d"), []string{"a b", "c,d"}},
		{Comment("my sweep:1", "a b", "c:d"), []string{"a b", "c:d"}},
		{"colloc::a", nil},
		{"colloc:", nil},
		{"colloc:a,,b", nil},
		{"colloc:%zz", nil},
		{"mine", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil && SweepOf(&site.JobInfo{Comment: tt.name}) != "" {
				t.Error("it has a sweep and no tasks")
			}
			if diff := cmp.Diff(tt.want, TasksOf(&site.JobInfo{Comment: tt.name})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func shards(kind string, n int) site.Gres { return site.Gres{Name: "shard", Type: kind, Count: n} }

// TestPlaceGang: no job is made for each GPU of a task that takes several.
func TestPlaceGang(t *testing.T) {
	members := []colloc.Member{{Task: "train"}}
	plan := &colloc.Plan{Placements: []colloc.Placement{
		{GPU: "n/0", Gang: []string{"n/0", "n/1"}, Members: members}, {GPU: "n/1", Gang: []string{"n/0", "n/1"}, Members: members},
	}}
	placed, err := Place(plan, []site.Device{{Node: "n", Index: 0}, {Node: "n", Index: 1}}, nil)
	if err == nil || !strings.Contains(err.Error(), `"train" takes 2 GPUs at once`) {
		t.Errorf("%+v, %v", placed, err)
	}
}
