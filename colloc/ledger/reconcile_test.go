package ledger_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// process is a program that holds some GiB.
func process(pid int, task string, gib float64) ledger.Process {
	return ledger.Process{PID: pid, Task: task, Memory: profile.Some(profile.Bytes(gib * float64(profile.GiB)))}
}

func TestReconcile(t *testing.T) {
	const gib = profile.GiB
	used := func(n profile.Bytes) profile.Opt[profile.Bytes] { return profile.Some(n) }
	for _, tt := range []struct {
		name string
		seen ledger.Usage
		want []ledger.Discrepancy
		free profile.Bytes // of 18 GiB, 8 of them reserved
	}{
		{
			"as booked",
			ledger.Usage{GPU: "a", Used: used(8 * gib), Processes: []ledger.Process{process(1, "t", 6), process(2, "t", 2)}},
			nil, 10 * gib,
		},
		{
			"not begun to allocate",
			ledger.Usage{GPU: "a", Used: used(gib / 2), Processes: []ledger.Process{process(1, "t", 0.1)}},
			nil, 10 * gib,
		},
		{
			"nobody registered it",
			ledger.Usage{GPU: "a", Used: used(11 * gib), Processes: []ledger.Process{process(1, "t", 8), process(9, "", 3)}},
			[]ledger.Discrepancy{{Kind: ledger.Foreign, GPU: "a", PID: 9, Used: 3 * gib}},
			7 * gib,
		},
		{
			"released but still there",
			ledger.Usage{GPU: "a", Processes: []ledger.Process{process(1, "t", 8), process(9, "gone", 3)}},
			[]ledger.Discrepancy{{Kind: ledger.Foreign, GPU: "a", Task: "gone", PID: 9, Used: 3 * gib}},
			7 * gib,
		},
		{
			"on the wrong GPU",
			ledger.Usage{GPU: "a", Processes: []ledger.Process{process(1, "t", 8), process(9, "elsewhere", 3)}},
			[]ledger.Discrepancy{{Kind: ledger.Stray, GPU: "a", Task: "elsewhere", PID: 9, Used: 3 * gib}},
			7 * gib,
		},
		{
			"more than reserved",
			ledger.Usage{GPU: "a", Processes: []ledger.Process{process(1, "t", 9)}},
			[]ledger.Discrepancy{{Kind: ledger.Overuse, GPU: "a", Task: "t", Reserved: 8 * gib, Used: 9 * gib}},
			9 * gib,
		},
		{
			"zombie",
			ledger.Usage{GPU: "a", Used: used(11 * gib), Processes: []ledger.Process{process(1, "t", 8)}},
			[]ledger.Discrepancy{{Kind: ledger.Zombie, GPU: "a", Used: 3*gib - ledger.DefaultOverhead}},
			7*gib + ledger.DefaultOverhead,
		},
		{
			"the driver's own",
			ledger.Usage{GPU: "a", Used: used(8*gib + ledger.DefaultOverhead), Processes: []ledger.Process{process(1, "t", 8)}},
			nil, 10 * gib,
		},
		{
			"the driver does not tell whose",
			ledger.Usage{GPU: "a", Used: used(7 * gib), Processes: []ledger.Process{{PID: 1, Task: "t"}}},
			nil, 10 * gib,
		},
		{
			"of one process alone",
			ledger.Usage{GPU: "a", Used: used(12 * gib), Processes: []ledger.Process{process(1, "t", 7), {PID: 2, Task: "t"}}},
			[]ledger.Discrepancy{{Kind: ledger.Zombie, GPU: "a", Used: 4*gib - ledger.DefaultOverhead}},
			6*gib + ledger.DefaultOverhead,
		},
		{
			"nor for others",
			ledger.Usage{GPU: "a", Used: used(10 * gib), Processes: []ledger.Process{{PID: 1, Task: "t"}, {PID: 9}}},
			[]ledger.Discrepancy{
				{Kind: ledger.Foreign, GPU: "a", PID: 9},
				{Kind: ledger.Zombie, GPU: "a", Used: 2*gib - ledger.DefaultOverhead},
			},
			8*gib + ledger.DefaultOverhead,
		},
		{
			"absent",
			ledger.Usage{GPU: "a"},
			[]ledger.Discrepancy{{Kind: ledger.Absent, GPU: "a", Task: "t", Reserved: 8 * gib}},
			10 * gib,
		},
		{
			"more than there is",
			ledger.Usage{GPU: "a", Processes: []ledger.Process{process(1, "t", 8), process(9, "", 11)}},
			[]ledger.Discrepancy{
				{Kind: ledger.Foreign, GPU: "a", PID: 9, Used: 11 * gib},
				{Kind: ledger.Overcommitted, GPU: "a", Reserved: 8 * gib, Used: 11 * gib, Short: gib},
			},
			0,
		},
		{
			"processes hold more than is in use",
			ledger.Usage{GPU: "a", Used: used(gib), Processes: []ledger.Process{process(1, "t", 8)}},
			nil, 10 * gib,
		},
		{"unknown GPU", ledger.Usage{GPU: "z", Used: used(gib)}, []ledger.Discrepancy{{Kind: ledger.UnknownGPU, GPU: "z", Used: gib}}, 10 * gib},
		{"negative", ledger.Usage{GPU: "a", Used: used(-1)}, []ledger.Discrepancy{{Kind: ledger.BadReading, GPU: "a"}}, 10 * gib},
		{
			"negative process",
			ledger.Usage{GPU: "a", Processes: []ledger.Process{{Memory: used(math.MinInt64)}}},
			[]ledger.Discrepancy{{Kind: ledger.BadReading, GPU: "a"}},
			10 * gib,
		},
		{"absurd", ledger.Usage{GPU: "a", Used: used(math.MaxInt64)}, []ledger.Discrepancy{{Kind: ledger.BadReading, GPU: "a"}}, 10 * gib},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, clock := newLedger(t, ledger.Config{
				GPUs: []colloc.GPU{bare("a", 20*gib), bare("b", 20*gib)}, MaxSet: 8, StartTime: time.Minute,
			})
			mustCommit(t, l, claim("a", "t", 8*gib), claim("b", "elsewhere", gib))
			clock.Step(time.Minute)
			got := l.Reconcile([]ledger.Usage{tt.seen})
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(ledger.Discrepancy{}, "Text"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, d := range got {
				if !strings.Contains(d.Text, d.GPU) {
					t.Errorf("text %q does not name the GPU", d.Text)
				}
			}
			checkFree(t, l, tt.free)
		})
	}
}

// checkFree checks that exactly want bytes are granted on GPU a.
func checkFree(t *testing.T, l *ledger.Ledger, want profile.Bytes) {
	t.Helper()
	seen := l.Snapshot().Version
	if lease, err := l.Reserve(seen, claim("a", "too large", want+1)); err == nil {
		t.Errorf("granted %v and a byte, want at most %v", want, want)
		_ = l.Rollback(lease)
	}
	if want == 0 {
		return
	}
	lease, err := l.Reserve(seen, claim("a", "just fits", want))
	if err != nil {
		t.Errorf("want %v free: %v", want, err)
		return
	}
	if err := l.Rollback(lease); err != nil {
		t.Error(err)
	}
}

func TestReconcileAbsentOnlyInTime(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, LeaseTime: time.Hour, StartTime: time.Minute})
	lease := mustReserve(t, l, claim("a", "t", 1))
	check := func(when string, want int) {
		t.Helper()
		if got := l.Reconcile([]ledger.Usage{{GPU: "a"}}); len(got) != want {
			t.Errorf("%s: got %v, want %d", when, got, want)
		}
	}
	clock.Step(2 * time.Minute)
	check("reserved", 0)
	if err := l.Commit(lease); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute - 1)
	check("still starting", 0)
	clock.Step(1)
	check("late", 1)
	if got := l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{process(1, "t", 0)}}}); len(got) != 0 {
		t.Errorf("present: got %v", got)
	}
}

// What a reading found stands until the next reading of that GPU.
func TestReconcileRecovers(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 20*profile.GiB), bare("b", 20*profile.GiB)}})
	l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{process(1, "", 5)}}})
	checkFree(t, l, 13*profile.GiB)
	l.Reconcile([]ledger.Usage{{GPU: "b"}})
	checkFree(t, l, 13*profile.GiB)
	got := l.Reconcile([]ledger.Usage{{GPU: "a"}, {GPU: "a", Used: profile.Some(profile.GiB)}})
	if len(got) != 1 || got[0].Kind != ledger.BadReading || !strings.Contains(got[0].Text, "twice") {
		t.Errorf("got %v, want one bad reading", got)
	}
	checkFree(t, l, 18*profile.GiB)
}

// Property: what a snapshot shows as free, by the Planner's arithmetic, is
// never more than Reserve grants, and less by a rounding error at most.
func TestSnapshotShowsWhatReserveGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := profile.Bytes(rapid.Int64Range(1, 1<<56).Draw(t, "total"))
		headroom := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "headroom")
		foreign := profile.Bytes(rapid.Int64Range(0, 1<<56).Draw(t, "foreign"))
		l, err := ledger.New(ledger.Config{
			GPUs: []colloc.GPU{bare("a", total)}, Headroom: profile.Some(headroom), Now: newFakeClock().Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{{Memory: profile.Some(foreign)}}}})
		s := l.Snapshot()
		memory := s.GPUs[0].Memory
		if memory <= 0 || memory > total {
			t.Fatalf("snapshot shows a memory of %d, the card has %d", memory, total)
		}
		shown := memory - profile.BytesOf(float64(memory)*headroom)
		if shown <= 1 { // a card cannot show less than a byte
			return
		}
		if _, err := l.Reserve(s.Version, claim("a", "t", shown)); err != nil {
			t.Errorf("snapshot shows %d free: %v", shown, err)
		}
	})
}

func FuzzReconcile(f *testing.F) {
	f.Add("a", int64(1), 7, "t", int64(2), true)
	f.Add("", int64(math.MinInt64), -1, "", int64(math.MaxInt64), false)
	f.Fuzz(func(t *testing.T, gpu string, used int64, pid int, task string, memory int64, told bool) {
		l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB, sized("t", 5))}})
		p := ledger.Process{PID: pid, Task: task}
		if told {
			p.Memory = profile.Some(profile.Bytes(memory))
		}
		u := ledger.Usage{GPU: gpu, Used: profile.Some(profile.Bytes(used)), Processes: []ledger.Process{p, p}}
		l.Reconcile([]ledger.Usage{u, u})
		g := l.Snapshot().GPUs[0]
		if g.Memory <= 0 || g.Memory > profile.GiB || g.Residents[0].Reserved < 5 {
			t.Errorf("the books are broken: %d bytes, resident %d", g.Memory, g.Residents[0].Reserved)
		}
	})
}

func TestDiscrepancyJSON(t *testing.T) {
	for kind := ledger.DiscrepancyKind(0); kind <= ledger.BadReading; kind++ {
		want := ledger.Discrepancy{Kind: kind, GPU: "a", Task: "t", PID: 1, Used: 2, Text: "text"}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got ledger.Discrepancy
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s gives %+v, %v; want %+v", data, got, err, want)
		}
	}
	var kind ledger.DiscrepancyKind
	if err := kind.UnmarshalText([]byte("strange")); err == nil {
		t.Error("an unknown kind was accepted")
	}
	if got := ledger.DiscrepancyKind(-1).String(); got != "discrepancy(-1)" {
		t.Errorf("got %q", got)
	}
}
