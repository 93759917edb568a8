package gain_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// site makes up a site's past: users whose jobs keep GPUs as busy as their kind does, on
// nodes of four, in the order in which they came, as a scheduler without sharing has it.
func site(jobs, nodes int, load float64, seed uint64) []records.Job {
	rng := rand.New(rand.NewPCG(seed, 1))
	free := make([]time.Time, 4*nodes)
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	list := make([]records.Job, 0, jobs)
	for i := range jobs {
		now = now.Add(time.Duration(rng.ExpFloat64() / load / float64(len(free)) * float64(time.Hour)))
		kind := rng.IntN(12)
		width, busy := 1, 0.08*float64(kind+1)
		if kind == 11 {
			width, busy = 4, 0.1
		}
		g := 0 // the GPU, or the node, that is free first
		for k := 0; k < len(free); k += width {
			if latest(free[k : k+width]).Before(latest(free[g : g+width])) {
				g = k
			}
		}
		start := latest(append([]time.Time{now}, free[g:g+width]...))
		end := start.Add(time.Duration((0.1 + rng.ExpFloat64()) * 0.7 * float64(time.Hour)))
		for k := range width {
			free[g+k] = end
		}
		list = append(list, records.Job{
			ID: strconv.Itoa(1000 + i), User: fmt.Sprint("user", kind%4), Name: fmt.Sprintf("train%c_%d", 'a'+kind, i),
			Partition: "gpu", Submitted: now.Truncate(time.Second), Started: start.Truncate(time.Second), Ended: end.Truncate(time.Second),
			GPUs: width, Product: "V100", Nodes: []string{fmt.Sprint("n", 1+g/4)},
			Seen: profile.Solo{
				SMActive: profile.Some(busy),
				Memory:   profile.Some(profile.GiB * profile.Bytes(1+kind)),
			},
		})
	}
	return list
}

func latest(times []time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

func replay(tb testing.TB, jobs []records.Job, o gain.Options) *gain.Report {
	tb.Helper()
	r, err := gain.Replay(tb.Context(), jobs, o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// A site that used one GPU for two light jobs, one after the other.
func Example() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	light := profile.Solo{SMActive: profile.Some(0.2), Memory: profile.Some(3 * profile.GiB)}
	var jobs []records.Job
	for i := range 4 {
		start := noon.Add(time.Duration(i) * time.Hour)
		jobs = append(jobs, records.Job{
			ID: strconv.Itoa(i + 1), User: "ann", Name: fmt.Sprint("run", i), GPUs: 1, Product: "V100", Nodes: []string{"n1"},
			Submitted: noon, Started: start, Ended: start.Add(time.Hour), Seen: light,
		})
	}
	r, err := gain.Replay(context.Background(), jobs, gain.Options{Replications: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d GPU, %.0f GPU hours; %.2f h of waiting become %.2f h\n", r.Total.GPUs, r.Total.Recorded.GPUHours, r.Total.Without.Waited, r.Total.With.Waited)
	for _, p := range r.Pairs {
		fmt.Printf("job %s beside job %s\n", p.A, p.B)
	}
	// Output:
	// 1 GPU, 4 GPU hours; 1.50 h of waiting become 0.75 h
	// job 2 beside job 3
	// job 2 beside job 4
	// job 3 beside job 4
}

// TestClosed: where a set is one job, sharing gains something, and less than where jobs join
// who runs already.
func TestClosed(t *testing.T) {
	jobs := site(600, 2, 1.2, 3)
	shares, sets := replay(t, jobs, gain.Options{Replications: 1}).Total, replay(t, jobs, gain.Options{Replications: 1, Closed: true}).Total
	if !(0 < sets.SavedWaiting.Value && sets.SavedWaiting.Value < shares.SavedWaiting.Value) || !(sets.SavedHours.Value < shares.SavedHours.Value) {
		t.Errorf("by sets %v hours less waiting and %v GPU hours, by shares %v and %v", sets.SavedWaiting, sets.SavedHours, shares.SavedWaiting, shares.SavedHours)
	}
	if w := sets.Without.Waited / shares.Without.Waited; w < 0.9 || w > 1.1 {
		t.Errorf("without sharing jobs wait %.3g and %.3g h", sets.Without.Waited, shares.Without.Waited)
	}
}

// TestReplay holds a report against what must be true of every one.
func TestReplay(t *testing.T) {
	jobs := site(600, 2, 0.9, 1)
	r := replay(t, jobs, gain.Options{Replications: 4})
	hours := 0.0
	users := map[string]string{}
	for i := range jobs {
		hours += jobs[i].Ended.Sub(jobs[i].Started).Hours() * float64(jobs[i].GPUs)
		users[jobs[i].ID] = jobs[i].User
	}
	g := r.Total
	if g.Jobs != 600 || g.GPUs != 8 || !near(g.Recorded.GPUHours, hours) || !near(g.Without.GPUHours, hours) {
		t.Errorf("%d jobs on %d GPUs, %v hours, %v as replayed; want 600, 8, %v", g.Jobs, g.GPUs, g.Recorded.GPUHours, g.Without.GPUHours, hours)
	}
	for name, e := range map[string]predict.Estimate{"hours": g.SavedHours, "share": g.SavedShare, "waiting": g.SavedWaiting, "ends": g.EndedEarlier} {
		if !(0 < e.Lo && e.Lo < e.Value && e.Value < e.Hi) || e.Confidence != 0.95 {
			t.Errorf("%s: %+v, want a gain with an interval", name, e)
		}
	}
	if g.Slowdown <= 1 || g.Slowdown > 2 || g.Shared <= 0 || g.Shared > 1 || g.With.Waited >= g.Without.Waited {
		t.Errorf("%+v", g)
	}
	if r.Known.Watched != 600 || r.Known.First != 12 || len(r.Together) == 0 || len(r.Pairs) == 0 || len(r.Assumed) == 0 {
		t.Errorf("known %+v, %d kinds and %d pairs together", r.Known, len(r.Together), len(r.Pairs))
	}
	across := 0
	for _, p := range r.Pairs {
		if users[p.A] == "" || users[p.B] == "" || p.A == p.B || p.Hours <= 0 {
			t.Fatalf("pair %+v", p)
		}
		if users[p.A] != users[p.B] {
			across++
		}
	}
	if across == 0 {
		t.Error("no two users share: the next test would prove nothing")
	}
	if again := replay(t, jobs, gain.Options{Replications: 4}); !reflect.DeepEqual(r, again) {
		t.Error("the same history, another report")
	}
}

func near(a, b float64) bool { return a > 0.97*b && a < 1.03*b }

// TestRestricted: users stay apart, gangs alone, if they are to.
func TestRestricted(t *testing.T) {
	jobs := site(400, 2, 0.9, 2)
	of := map[string]records.Job{}
	for _, j := range jobs {
		of[j.ID] = j
	}
	gangs := 0
	for _, p := range replay(t, jobs, gain.Options{Replications: 1}).Pairs {
		gangs += max(of[p.A].GPUs, of[p.B].GPUs) - 1
	}
	for _, p := range replay(t, jobs, gain.Options{Replications: 1, SameUser: true}).Pairs {
		if of[p.A].User != of[p.B].User {
			t.Fatalf("%s of %s beside %s of %s", p.A, of[p.A].User, p.B, of[p.B].User)
		}
	}
	if gangs == 0 {
		t.Error("no gang shares: the next line would prove nothing")
	}
	for _, p := range replay(t, jobs, gain.Options{Replications: 1, NoGangs: true}).Pairs {
		if of[p.A].GPUs > 1 || of[p.B].GPUs > 1 {
			t.Fatalf("a gang shares: %+v", p)
		}
	}
}

// TestNothingKnown: what nobody watched stays alone, and so does what runs on a product
// that nobody knows; a prior lets it share.
func TestNothingKnown(t *testing.T) {
	jobs := site(200, 1, 0.9, 3)
	for i := range jobs {
		jobs[i].Seen = profile.Solo{}
	}
	none := replay(t, jobs, gain.Options{Replications: 2})
	if g := none.Total; len(none.Pairs) > 0 || g.SavedHours.Hi != 0 || g.SavedWaiting.Hi != 0 || none.Pools[0].Alone == "" || none.Known.Unknown != 200 {
		t.Errorf("unwatched: %+v, %+v", g, none.Known)
	}
	prior := &profile.Solo{GPUBusy: profile.Some(0.3), Memory: profile.Some(2 * profile.GiB)}
	assumed := replay(t, jobs, gain.Options{Replications: 2, Prior: prior})
	if len(assumed.Pairs) == 0 || assumed.Known.Prior != 200 {
		t.Errorf("prior: %d pairs, %+v", len(assumed.Pairs), assumed.Known)
	}
	strange := site(200, 1, 0.9, 3)
	for i := range strange {
		strange[i].Product = "abacus"
	}
	r := replay(t, strange, gain.Options{Replications: 2})
	if len(r.Pairs) > 0 || !strings.Contains(r.Pools[0].Alone, "abacus") {
		t.Errorf("unknown product: %d pairs, %q", len(r.Pairs), r.Pools[0].Alone)
	}
	for i := range strange {
		strange[i].Product = ""
	}
	if r := replay(t, strange, gain.Options{Replications: 1}); !strings.HasSuffix(r.Pools[0].Alone, " -gpu =A100-80GB") {
		t.Errorf("no product: %q, want what names it", r.Pools[0].Alone)
	}
	if named := replay(t, strange, gain.Options{Replications: 1, Models: map[string]string{"": "V100"}}); len(named.Pairs) == 0 {
		t.Error("a product that is named shares nothing")
	}
}

// TestAlike: a job that nobody watched is as others of its kind.
func TestAlike(t *testing.T) {
	jobs := site(200, 1, 0.9, 4)
	for i := range jobs {
		if i%2 == 0 {
			jobs[i].Seen = profile.Solo{}
		}
	}
	if r := replay(t, jobs, gain.Options{Replications: 1}); r.Known.Alike != 100 || r.Known.Unknown != 0 || len(r.Pairs) == 0 {
		t.Errorf("%+v, %d pairs", r.Known, len(r.Pairs))
	}
}

// TestMemory: a scheduler knows what most jobs of a kind take. The few that take more die beside
// others, and are done in the end.
func TestMemory(t *testing.T) {
	jobs := site(300, 1, 1.6, 7)
	for i := range jobs {
		jobs[i].User, jobs[i].Name, jobs[i].GPUs = "ann", "train", 1
		jobs[i].Seen = profile.Solo{SMActive: profile.Some(0.1), Memory: profile.Some(3 * profile.GiB)}
		if i%30 == 29 {
			jobs[i].Seen.Memory = profile.Some(15 * profile.GiB)
		}
	}
	g := replay(t, jobs, gain.Options{Replications: 2}).Total
	if g.Died <= 0 || g.Died > 0.2 || g.With.GPUHours >= g.Without.GPUHours {
		t.Errorf("%.3f deaths a job, want some, few, and a gain: %+v", g.Died, g)
	}
}

// TestPools: jobs move within what their partition and node have in common, and nowhere else.
func TestPools(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	job := func(id, partition, product string, gpus int, nodes ...string) records.Job {
		return records.Job{ID: id, Partition: partition, Product: product, GPUs: gpus, Nodes: nodes, Submitted: at, Started: at, Ended: at.Add(time.Hour)}
	}
	r := replay(t, []records.Job{
		job("1", "a", "V100", 2, "n1"), job("2", "b", "V100", 1, "n1"), job("3", "b", "", 4, "n2", "n3"), // one pool: b has n1, too, and n2 its type from job 5
		job("4", "c", "V100", 1, "n9"), job("5", "b", "V100", 1, "n2"),
		job("6", "a", "A100-40GB", 1, "n5"), job("7", "", "T4", 3),
	}, gain.Options{Replications: 1})
	var got []string
	for _, p := range r.Pools {
		got = append(got, fmt.Sprintf("%s %v: %d jobs, %d GPUs", p.Name, p.Partitions, p.Jobs, p.GPUs))
	}
	want := []string{"V100-PCIe-16GB [a b]: 4 jobs, 8 GPUs", "V100-PCIe-16GB [c]: 1 jobs, 1 GPUs", "A100-40GB [a]: 1 jobs, 1 GPUs", "T4 []: 1 jobs, 3 GPUs"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("pools %q\nwant %q", got, want)
	}
	given, err := sim.ParseCluster("2x4xV100")
	if err != nil {
		t.Fatal(err)
	}
	single, err := sim.ParseCluster("3x1xV100")
	if err != nil {
		t.Fatal(err)
	}
	if r := replay(t, []records.Job{job("1", "a", "V100", 1, "x")}, gain.Options{Replications: 1, Cluster: single}); r.Total.GPUs != 3 || r.Total.Slowdown != 1 {
		t.Errorf("nodes of one GPU: %+v, want 3 GPUs and nobody slowed down", r.Total)
	}
	if r := replay(t, []records.Job{job("1", "a", "V100", 1, "x"), job("2", "b", "V100", 5, "y"), job("3", "c", "V100", 8, "y", "z")}, gain.Options{Replications: 1, Cluster: given}); r.Total.GPUs != 8 || r.Total.Jobs != 2 || r.Known.Outside != 1 {
		t.Errorf("given GPUs: %+v, %+v; want 8 for 2 jobs, and one that no node holds outside", r.Total, r.Known)
	}
}

// TestEdges: of a job over an edge the part within counts.
func TestEdges(t *testing.T) {
	jobs := site(300, 1, 0.8, 5)
	from, until := jobs[100].Submitted, jobs[200].Submitted
	want := 0.0
	for i := range jobs {
		start, end := latest([]time.Time{jobs[i].Started, from}), jobs[i].Ended
		if end.After(until) {
			end = until
		}
		want += max(0, end.Sub(start).Hours()) * float64(jobs[i].GPUs)
	}
	r := replay(t, jobs, gain.Options{Replications: 1, From: from, Until: until})
	if !near(r.Total.Recorded.GPUHours, want) || r.From.Before(from) || r.Until.After(until) || r.Known.Outside == 0 {
		t.Errorf("%v GPU hours from %v to %v, %d outside; want %v from %v to %v", r.Total.Recorded.GPUHours, r.From, r.Until, r.Known.Outside, want, from, until)
	}
}

// TestSample: a part of the history says about what the whole says.
func TestSample(t *testing.T) {
	jobs := site(1200, 1, 0.85, 6)
	whole := replay(t, jobs, gain.Options{Replications: 2}).Total
	part := replay(t, jobs, gain.Options{Replications: 8, Sample: 300})
	if e := part.Total.SavedShare; e.Hi < whole.SavedShare.Lo || e.Lo > whole.SavedShare.Hi {
		t.Errorf("parts save %+v, the whole %+v", e, whole.SavedShare)
	}
	if said := strings.Join(part.Assumed, "\n"); !strings.Contains(said, "plays 300 of 1200 jobs") {
		t.Errorf("not said: %s", said)
	}
	if part.Total.Jobs != 1200 || !near(part.Total.Without.GPUHours, whole.Recorded.GPUHours) {
		t.Errorf("parts are not scaled: %+v", part.Total)
	}
}

func TestFaults(t *testing.T) {
	for name, o := range map[string]gain.Options{
		"a set of 5":             {MaxSet: 5},
		"a speed-up":             {MaxSlowdown: 0.5},
		"no such number":         {Replications: -1},
		"a sample":               {Sample: -1},
		"no time":                {From: time.Unix(9, 0), Until: time.Unix(8, 0)},
		"a prior of nothing":     {Prior: &profile.Solo{}},
		"a cluster of nothing":   {Cluster: &sim.Cluster{Nodes: []sim.Node{{GPUs: []sim.GPU{{Memory: -1}}}}}},
		"a prior without memory": {Prior: &profile.Solo{GPUBusy: profile.Some(0.5)}},
	} {
		if _, err := gain.Replay(t.Context(), nil, o); err == nil || !strings.HasPrefix(err.Error(), "gain: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	r := replay(t, nil, gain.Options{})
	if r.Total.Jobs != 0 || r.Total.Without != (gain.Times{}) || r.String() != "no job ran on a GPU: there is nothing to share\n" {
		t.Errorf("an empty history: %s%+v", r, r.Total)
	}
	if r := replay(t, []records.Job{{ID: "1"}}, gain.Options{}); !strings.Contains(r.String(), "\n1 jobs are left out: ") {
		t.Errorf("a history without GPUs: %s", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gain.Replay(ctx, site(100, 1, 0.9, 1), gain.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	odd := []records.Job{{ID: "1"}, {ID: "2", GPUs: 1}, {ID: "3", GPUs: 1, Started: time.Unix(10, 0), Ended: time.Unix(5, 0)}, {ID: "4", GPUs: 3, Started: time.Unix(5, 0), Ended: time.Unix(9, 0)}}
	if r := replay(t, odd, gain.Options{Replications: 1}); r.Total.Jobs != 1 || r.Known.Outside != 3 {
		t.Errorf("odd jobs: %+v, %+v", r.Total, r.Known)
	}
}
