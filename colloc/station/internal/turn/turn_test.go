package turn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

var start = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// jobs makes n records of a user, in the order of submission after those that there are.
func jobs(all []*queue.Record, n int, uid uint32, priority, width int) []*queue.Record {
	for range n {
		r := &queue.Record{Number: len(all) + 1}
		r.Task = queue.Task{ID: strconv.Itoa(len(all) + 1), Owner: &queue.Owner{UID: uid}, Priority: priority, GPUs: width}
		all = append(all, r)
	}
	return all
}

// A GPU that jobs of two users want is theirs by their weights, whatever the lengths of
// their jobs, who came first, and who had all of it before.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		weight  float64 // of user 1; that of user 2 is 1
		lengths [2]time.Duration
		before  time.Duration // that user 2 had alone
		want    float64       // the part of user 1
	}{
		{1, [2]time.Duration{time.Minute, time.Minute}, 0, 0.5},
		{3, [2]time.Duration{time.Minute, time.Minute}, 0, 0.75},
		{1, [2]time.Duration{time.Minute, 20 * time.Minute}, 0, 0.5},
		{2, [2]time.Duration{5 * time.Minute, time.Minute}, 0, 2.0 / 3},
		{1, [2]time.Duration{time.Minute, time.Minute}, 1000 * time.Hour, 0.5},
	} {
		c := &clock{start}
		turns := New(c.read, Policy{HalfLife: 2 * time.Hour, Weights: map[uint32]float64{1: tt.weight}}, Kept{})
		run := func(uid uint32, d time.Duration) {
			turns.Charge(c.now, nil)
			c.now = c.now.Add(d)
			turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: uid, Speed: 1}}})
			turns.Ran(&queue.Record{Started: c.now.Add(-d), Ended: c.now})
		}
		run(2, tt.before)
		ready := jobs(jobs(nil, 2, 2, 0, 1), 2, 1, 0, 1) // always as many
		var had [3]time.Duration
		for c.now.Sub(start) < tt.before+100*time.Hour {
			next := turns.Order(ready, nil)[0]
			uid := ready[next].Task.Owner.UID
			d := tt.lengths[uid-1]
			run(uid, d)
			if c.now.Sub(start) > tt.before+20*time.Hour { // the start makes up for what was before
				had[uid] += d
			}
		}
		if got := had[1].Seconds() / (had[1] + had[2]).Seconds(); math.Abs(got-tt.want) > 0.05 {
			t.Errorf("%+v: user 1 had %.3f, want %.3f", tt, got, tt.want)
		}
	}
}

// A higher class goes first, then users take turns, those whose jobs run already last; all
// jobs are in the order once.
func TestOrder(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour}, Kept{})
	ready := jobs(nil, 1, 7, 1, 1)
	ready = jobs(ready, 3, 1, 0, 1)
	ready = jobs(ready, 2, 2, 0, 1)
	ready = jobs(ready, 1, 3, 0, 4)
	ready = jobs(ready, 1, 1, -1, 1)
	active := jobs(nil, 2, 1, 0, 1)
	if got, want := fmt.Sprint(turns.Order(ready, active)), "[0 4 6 5 1 2 3 7]"; got != want {
		t.Errorf("order %v, want %v", got, want)
	}
	ready = jobs(jobs(nil, 2, 1, 1, 1), 1, 1, 0, 1)
	ready = jobs(ready, 1, 2, 0, 1)
	if got, want := fmt.Sprint(turns.Order(ready, nil)), "[0 1 3 2]"; got != want {
		t.Errorf("order %v, want %v: what a user gets in the higher class counts in the lower", got, want)
	}
	many := jobs(nil, 100, 1, 0, 1)
	for u := range uint32(50) {
		many = jobs(many, 20, u, int(u%3), 1+int(u%2))
	}
	order := turns.Order(many, nil)
	slices.Sort(order)
	for i, at := range order {
		if i != at || len(order) != len(many) {
			t.Fatalf("%d of %d jobs are in the order, %d is not", len(order), len(many), i)
		}
	}
}

// One user gets no more GPUs at once than the limit, in one pass too.
func TestMaxGPUs(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour, MaxGPUs: 3}, Kept{})
	ready := jobs(jobs(nil, 3, 1, 0, 1), 1, 2, 0, 4)
	turns.Order(ready, jobs(nil, 1, 1, 0, 1))
	var got []bool
	for _, r := range ready {
		_, why := turns.Allow(r)
		got = append(got, why == "")
		if why == "" {
			turns.Placed(r)
		} else if !strings.Contains(why, "of the 3") {
			t.Errorf("why: %q", why)
		}
	}
	if want := []bool{true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("allowed %v, want %v", got, want)
	}
}

// Two that share a GPU have half of it each; what sharing saved is theirs by their speeds;
// what was kept goes on.
func TestCharge(t *testing.T) {
	c := &clock{start}
	turns := New(c.read, Policy{HalfLife: time.Hour}, Kept{})
	both := map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: 1, Speed: 0.9}, {UID: 2, Speed: 0.6}}, "GPU-1": {{UID: 1, Speed: 1}}}
	turns.Charge(c.now, both) // since when, nobody knows
	turns.Charge(c.now.Add(100*time.Second), both)
	turns.Charge(c.now.Add(50*time.Second), both) // a clock that was set back
	got := New(c.read, Policy{HalfLife: time.Hour}, turns.Keep()).Accounts()
	for uid, want := range map[uint32]Account{1: {GPU: 150, Recent: 150, Saved: 40}, 2: {GPU: 50, Recent: 50, Saved: 10}} {
		a := got[uid]
		if math.Abs(a.GPU-want.GPU)+math.Abs(a.Recent-want.Recent)+math.Abs(a.Saved-want.Saved) > 1e-9 {
			t.Errorf("user %d: %+v, want %+v", uid, a, want)
		}
	}
	turns.Charge(c.now.Add(time.Hour+50*time.Second), nil)
	if a := turns.Accounts()[2]; math.Abs(a.Recent-25) > 0.1 || a.GPU != 50 {
		t.Errorf("after a half-life: %+v", a)
	}
}

// A GPU that is reserved is its user's until the time is over.
func TestReserved(t *testing.T) {
	c := &clock{start}
	turns := New(c.read, Policy{HalfLife: time.Hour}, Kept{})
	turns.Close(&Closing{Reserved: true, UID: 1, Until: start.Add(time.Hour)}, "GPU-0")
	turns.Close(&Closing{}, "GPU-1")
	both := jobs(jobs(nil, 1, 1, 0, 1), 1, 2, 0, 1)
	avoid := func(i int) string {
		ids, _ := turns.Allow(both[i])
		return fmt.Sprint(ids)
	}
	if avoid(0) != "[GPU-1]" || avoid(1) != "[GPU-0 GPU-1]" {
		t.Errorf("closed to its user: %s, to another: %s", avoid(0), avoid(1))
	}
	c.now = start.Add(time.Hour)
	if avoid(1) != "[GPU-1]" || turns.Closed("GPU-0") != nil {
		t.Errorf("closed after the time is over: %s", avoid(1))
	}
	if kept := turns.Keep().Closed; len(kept) != 1 {
		t.Errorf("kept are %v, want what is still closed", kept)
	}
	turns.Close(&Closing{Reserved: true, Until: c.now.Add(time.Hour)}, "GPU-0") // for root
	if ids, _ := turns.Allow(&queue.Record{}); fmt.Sprint(ids) != "[GPU-1]" {
		t.Errorf("closed to a job of nobody else's, which is root's: %v", ids)
	}
}

// TestDrained: where the station drains nothing starts, on a GPU that is closed no job; both
// are kept, and open again when somebody says so.
func TestDrained(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour}, Kept{})
	job := jobs(nil, 1, 1, 0, 1)[0]
	turns.Drain(true)
	turns.Close(&Closing{}, "GPU-1", "GPU-0")
	again := New((&clock{start}).read, Policy{HalfLife: time.Hour}, turns.Keep())
	if _, why := again.Allow(job); why == "" {
		t.Error("a drained station lets a job start")
	}
	again.Drain(false)
	if avoid, why := again.Allow(job); fmt.Sprint(avoid) != "[GPU-0 GPU-1]" || why != "" {
		t.Errorf("closed are %v, %q", avoid, why)
	}
	again.Close(nil, "GPU-1", "GPU-0", "GPU-2")
	if avoid, _ := again.Allow(job); len(avoid) > 0 || again.Closed("GPU-0") != nil {
		t.Errorf("open again, but closed are %v", avoid)
	}
	if c := turns.Closed("GPU-0"); c == nil || c.Reserved {
		t.Errorf("what was kept changed when others opened it: %+v", c)
	}
}

// TestShare: what is due to users is shared by their weights, and is all there is.
func TestShare(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour, Weights: map[uint32]float64{1: 0.75, 2: 0.25}}, Kept{})
	for _, tt := range []struct {
		users []uint32
		want  map[uint32]float64
	}{
		{nil, map[uint32]float64{}},
		{[]uint32{2}, map[uint32]float64{2: 1}},
		{[]uint32{1, 2}, map[uint32]float64{1: 0.75, 2: 0.25}},
		{[]uint32{1, 2, 3}, map[uint32]float64{1: 0.375, 2: 0.125, 3: 0.5}},
	} {
		if got := turns.Share(tt.users); !maps.Equal(got, tt.want) {
			t.Errorf("of users %v: %v, want %v", tt.users, got, tt.want)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour}, Kept{})
	var ready []*queue.Record
	for i := range 10_000 {
		ready = jobs(ready, 1, uint32(i%20), 0, 1)
	}
	for b.Loop() {
		turns.Order(ready, nil)
	}
}
