package sizing

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// campus has two kinds of A100 under one type, a small partition, and one that is
// down.
func campus() site.Cluster {
	return site.Cluster{
		Partitions: []site.Partition{
			{Name: "short", MaxTime: 4 * time.Hour, MaxNodes: 1},
			{Name: "gpu", Default: true, MaxTime: 48 * time.Hour},
			{Name: "cpu"},
			{Name: "old", Down: true},
		},
		Nodes: []site.NodeType{
			{Count: 20, Partitions: []string{"cpu"}, CPUs: 128, Memory: 512 * profile.GiB},
			{Count: 4, Partitions: []string{"short", "gpu"}, CPUs: 64, Memory: 500 * profile.GiB, GPU: "a100", GPUs: 4, Features: []string{"ib", "a100_40"}, GPUMemory: 40 * profile.GiB},
			{Count: 2, Partitions: []string{"gpu"}, CPUs: 64, Memory: 1000 * profile.GiB, GPU: "a100", GPUs: 4, Features: []string{"ib", "a100_80"}, GPUMemory: 80 * profile.GiB},
			{Count: 1, Partitions: []string{"gpu"}, CPUs: 16, Memory: 128 * profile.GiB, GPU: "v100", GPUs: 2},
			{Count: 1, Partitions: []string{"old"}, CPUs: 16, Memory: 128 * profile.GiB, GPU: "h100", GPUs: 8},
		},
	}
}

// scales are throughputs on 1, 2, 4, ... GPUs of a type.
func scales(gpu string, throughputs ...float64) []advise.ScalingPoint {
	points := make([]advise.ScalingPoint, len(throughputs))
	for i, t := range throughputs {
		points[i] = advise.ScalingPoint{GPU: gpu, GPUs: 1 << i, Throughput: t}
	}
	return points
}

func TestAdvise(t *testing.T) {
	good := scales("a100", 100, 195, 380, 740)
	request := func(partition, gpu string, nodes, gpus, cpus int, memory profile.Bytes) script.Request {
		return script.Request{Partition: partition, Nodes: nodes, TasksPerNode: 1, CPUsPerTask: cpus, Memory: memory * profile.GiB, Gres: []site.Gres{{Name: "gpu", Type: gpu, Count: gpus}}}
	}
	with := func(r script.Request, change func(*script.Request)) script.Request { change(&r); return r }
	tests := []struct {
		name string
		need Need
		want script.Request
		says string
	}{
		{
			name: "scales well over nodes", need: Need{Scaling: good},
			want: with(request("gpu", "a100", 2, 4, 64, 500), func(r *script.Request) { r.Constraint = "a100_40" }), says: "2 nodes: one has 4 GPUs",
		},
		{
			name: "diminishing returns", need: Need{Scaling: scales("A100", 100, 190, 250)},
			want: with(request("gpu", "a100", 1, 2, 32, 250), func(r *script.Request) { r.Constraint = "a100_40" }), says: "beyond 2 GPUs each more would add 30 %",
		},
		{
			name: "a larger gain asked for", need: Need{Scaling: scales("A100", 100, 190, 350), MinGain: 0.9},
			want: with(request("gpu", "a100", 1, 2, 32, 250), func(r *script.Request) { r.Constraint = "a100_40" }), says: "beyond 2 GPUs each more would add 80 %",
		},
		{
			name: "poor efficiency", need: Need{Scaling: scales("a100", 100, 158), Partition: "short"},
			want: request("short", "a100", 1, 2, 32, 250), says: "communication-bound: each of 2 GPUs does 79 %",
		},
		{
			name: "nothing of its memory", need: Need{Scaling: scales("v100", 100)},
			want: request("gpu", "v100", 1, 1, 8, 64), says: "what limits the speed was not measured",
		},
		{
			name: "a small partition", need: Need{Scaling: good, Partition: "short", Work: 380 * 3600},
			want: with(request("short", "a100", 1, 4, 64, 500), func(r *script.Request) { r.Time = 90 * time.Minute }), says: "expected 1h0m0s, half as much again",
		},
		{
			name: "longer than allowed", need: Need{Scaling: good, Partition: "short", Work: 380 * 3600 * 24},
			want: with(request("short", "a100", 1, 4, 64, 500), func(r *script.Request) { r.Time, r.Warn, r.Requeue = 4*time.Hour, warning, true }), says: "write checkpoints",
		},
		{
			name: "large GPUs", need: Need{Scaling: scales("a100", 100), GPUMemory: 60 * profile.GiB},
			want: with(request("gpu", "a100", 1, 1, 16, 250), func(r *script.Request) { r.Constraint = "a100_80" }), says: "80 GiB",
		},
		{
			name: "the faster type", need: Need{Scaling: append(scales("v100", 120, 230), scales("a100", 100)...)},
			want: request("gpu", "v100", 1, 2, 16, 128), says: "2 x v100",
		},
		{
			name: "as asked", need: Need{Scaling: scales("v100", 100), Partition: "gpu", CPUs: 3},
			want: request("gpu", "v100", 1, 1, 3, 64), says: "partition gpu: as asked",
		},
		{
			name: "any type", need: Need{Scaling: scales("", 100, 200)},
			want: with(request("gpu", "a100", 1, 2, 32, 250), func(r *script.Request) { r.Constraint = "a100_40" }), says: "one node",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Advise(tt.need, campus())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Request); diff != "" {
				t.Errorf("request (-want +got):\n%s\n%s", diff, got)
			}
			wantText(t, got.String(), tt.says)
			if tt.want.Constraint == "" && strings.Contains(got.String(), "instead of") {
				t.Errorf("other GPUs of the partition, which the type tells apart, are warned of:\n%s", got)
			}
			if _, err := got.Request.Header(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAdviseErrors(t *testing.T) {
	one := scales("a100", 100)
	for _, tt := range []struct {
		name string
		need Need
		kind error
		says string
	}{
		{"unknown partition", Need{Scaling: one, Partition: "nope"}, site.ErrPartition, `unknown partition "nope": the cluster has short, gpu, cpu, old`},
		{"no GPUs there", Need{Scaling: one, Partition: "cpu"}, site.ErrImpossible, "1 x a100: no partition that is up has such GPUs"},
		{"down", Need{Scaling: scales("h100", 100)}, site.ErrImpossible, "no partition that is up has such GPUs"},
		{"too much device memory", Need{Scaling: one, GPUMemory: 79 * profile.GiB}, site.ErrImpossible, "the task needs 79 GiB, of 80 GiB on a GPU 72 GiB are usable"},
		{"too many CPUs", Need{Scaling: one, CPUs: 65}, site.ErrImpossible, "a GPU takes 65 CPUs, the node has 64"},
		{"too much memory", Need{Scaling: one, Memory: 1001 * profile.GiB}, site.ErrImpossible, "a GPU takes 1001 GiB, the node has 1000 GiB"},
		{"too many nodes", Need{Scaling: []advise.ScalingPoint{{GPU: "a100", GPUs: 17, Throughput: 1}}}, site.ErrImpossible, "17 x a100: takes"},
		{"too many nodes for a partition", Need{Scaling: []advise.ScalingPoint{{GPU: "a100", GPUs: 8, Throughput: 1}}, Partition: "short"}, site.ErrImpossible, "takes 2 nodes, partition short allows 1"},
		{"nothing known", Need{}, nil, "no Scaling"},
		{"work", Need{Scaling: one, Work: math.NaN()}, nil, "Work is NaN"},
		{"numbers", Need{Scaling: one, CPUs: -1}, nil, "CPUs is -1"},
		{"points", Need{Scaling: scales("a100", 0)}, nil, "throughput is 0"},
		{"points without GPUs", Need{Scaling: []advise.ScalingPoint{{GPU: "a100", Throughput: 1}}}, nil, "number of GPUs is 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Advise(tt.need, campus())
			wantFault(t, err, "slurm: advise: ", tt.says)
			for _, kind := range []error{site.ErrPartition, site.ErrImpossible} {
				if got := errors.Is(err, kind); got != (kind.Error() == kindText(tt.kind)) {
					t.Errorf("errors.Is(%q, %v) is %t", err, kind, got)
				}
			}
		})
	}
	_, err := Advise(Need{Scaling: one}, site.Cluster{})
	if !errors.Is(err, site.ErrImpossible) {
		t.Errorf("an empty cluster: got %v, want ErrImpossible", err)
	}
	_, err = Advise(Need{Scaling: one}, site.Cluster{Nodes: []site.NodeType{{GPUs: -1}}})
	wantFault(t, err, "node type 0 has -1 GPUs")
}

func kindText(kind error) string {
	if kind == nil {
		return ""
	}
	return kind.Error()
}

// TestAdviseMeasured: on throughputs that were measured by others the advice
// never goes beyond the point of diminishing returns, and stops only there.
func TestAdviseMeasured(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("COLLOC_DATA is not set: point it at the folder with gavel_multigpu_solo.csv")
	}
	curves := measuredCurves(t, filepath.Join(dir, "gavel_multigpu_solo.csv"))
	cluster := site.Cluster{Partitions: []site.Partition{{Name: "gpu"}}}
	for _, gpu := range []string{"k80", "p100", "v100"} {
		cluster.Nodes = append(cluster.Nodes, site.NodeType{Count: 2, Partitions: []string{"gpu"}, CPUs: 32, Memory: 256 * profile.GiB, GPU: gpu, GPUs: 4})
	}
	chosen := map[int]int{}
	for name, points := range curves {
		a, err := Advise(Need{Scaling: points}, cluster)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		chosen[a.GPUs]++
		one := points[0].Throughput / float64(points[0].GPUs)
		for i, p := range points[1:] {
			pays := (p.Throughput-points[i].Throughput)/float64(p.GPUs-points[i].GPUs)/one >= advise.DefaultScalingGain
			if p.GPUs <= a.GPUs && !pays || points[i].GPUs == a.GPUs && pays {
				t.Errorf("%s: took %d GPUs, but from %d to %d pays: %t", name, a.GPUs, points[i].GPUs, p.GPUs, pays)
			}
		}
	}
	t.Logf("%d curves: number of GPUs chosen %v", len(curves), chosen)
}

// measuredCurves reads samples per second on 2, 4 and 8 GPUs of one node group.
func measuredCurves(t *testing.T, file string) map[string][]advise.ScalingPoint {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	curves := map[string][]advise.ScalingPoint{}
	for _, row := range rows[1:] {
		batch, err1 := strconv.ParseFloat(row[3], 64)
		gpus, err2 := strconv.Atoi(row[4])
		steps, err3 := strconv.ParseFloat(row[5], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatalf("%q: %v", row, err)
		}
		if steps > 0 {
			name := strings.Join(row[:4], " ")
			curves[name] = append(curves[name], advise.ScalingPoint{GPU: row[0], GPUs: gpus, Throughput: steps * batch * float64(gpus)})
		}
	}
	return curves
}

func wantFault(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error, want one with %q", parts)
	}
	wantText(t, err.Error(), parts...)
}

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("it says %q, want %q in it", text, p)
		}
	}
}
