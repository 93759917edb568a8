package packer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// TestReasonCodes: codes have names, 0 is none, and numbers beyond say what they are.
func TestReasonCodes(t *testing.T) {
	for code, want := range map[packer.ReasonCode]string{0: "none", packer.NoGPU: "no-gpu", packer.TooFewGPUs: "too-few-gpus", -1: "reason(-1)"} {
		if got := code.String(); got != want {
			t.Errorf("%d is %q, want %q", int(code), got, want)
		}
	}
}

// bySize is a model in which a task alone is as fast as its GPU is large: of 10 GiB
// full speed.
type bySize struct{}

func (bySize) Speeds(set []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = min(1, gpu.Total().GiBs()/10) / float64(len(set))
	}
	return nil
}

// TestReasonOfSlowGPUs: where one kind of GPU is fast enough for a task and taken, that is
// why it waits, whatever the others are.
func TestReasonOfSlowGPUs(t *testing.T) {
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Model:  bySize{}, GPUs: []packer.GPU{{ID: "large", Memory: 10 * profile.GiB}, {ID: "small", Memory: 5 * profile.GiB}},
		Tasks: []packer.Task{{ID: "first", Weight: 2, MinSpeed: 0.8}, {ID: "second", MinSpeed: 0.8}},
	}
	for _, want := range []packer.ReasonCode{packer.GPUsTaken, packer.SpeedLimit} {
		s := packtest.Solve(t, solve.Matching{}, p)
		r := s.Reasons[len(s.Reasons)-1]
		if r.ID != "second" || r.Placed || r.Code != want {
			t.Errorf("%d GPUs: %+v, want %v", len(p.GPUs), r, want)
		}
		p.GPUs = p.GPUs[1:] // and then none is fast enough
	}
}

// TestReasonOfTheStopped: a method that is cancelled says so of each task that would fit.
func TestReasonOfTheStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Model:  packtest.Even{1}, GPUs: []packer.GPU{{ID: "g", Memory: 10 * profile.GiB}},
		Tasks: []packer.Task{{ID: "fits"}, {ID: "large", Memory: 20 * profile.GiB}},
	}
	s, err := solve.Greedy{}.Pack(ctx, p)
	if !errors.Is(err, context.Canceled) || len(s.Reasons) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, want := range []packer.ReasonCode{packer.Stopped, packer.TooLarge} {
		if got := s.Reasons[i].Code; got != want {
			t.Errorf("%s: %v, want %v", p.Tasks[i].ID, got, want)
		}
	}
}

// TestPlansGoByIDs: of equal GPUs a task gets the one whose ID comes first, in whatever
// order they are listed.
func TestPlansGoByIDs(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}, Tasks: []packer.Task{{ID: "x"}}}
	for _, ids := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "a", "c"}} {
		p.GPUs = nil
		for _, id := range ids {
			p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
		}
		for _, m := range []packer.Method{solve.Greedy{}, solve.Matching{}, solve.ColumnGen{}, solve.LocalSearch{}} {
			if s := packtest.Solve(t, m, p); len(s.Sets) != 1 || p.GPUs[s.Sets[0].GPU].ID != "a" {
				t.Errorf("%T, GPUs %v: %+v, want GPU a", m, ids, s.Sets)
			}
		}
	}
}

// TestObjectiveString: it says which one it is, or that it is none.
func TestObjectiveString(t *testing.T) {
	if got := packer.Throughput.String(); got != "throughput" {
		t.Errorf("%q", got)
	}
	if got := packer.Objective(7).String(); got == "throughput" {
		t.Errorf("%q for none that there is", got)
	}
}

// TestReasonTexts: every code has its sentence, and says what is known: with a partner, beside
// several, with memory and speeds or without, of tasks that run alone and of others.
func TestReasonTexts(t *testing.T) {
	var out bytes.Buffer
	for code := packer.ReasonCode(0); code <= packer.MeasuredSlow; code++ {
		for n, r := range []packer.Reason{
			{},
			{Partner: "b"},
			{Partner: "b", Memory: 3 * profile.GiB, Largest: 2 * profile.GiB, Short: profile.GiB, Slow: "b", Speed: 0.5, Limit: 0.75, Shared: 1.5, Apart: 1.75, GPUs: 2},
			{Beside: []string{"c", "d"}, Short: profile.GiB, Slow: "c", Speed: 0.25, Limit: 0.5, Memory: 2 * profile.GiB, Rule: "longest first"},
			{Memory: profile.GiB, GPUs: 1, Free: 2},
		} {
			r.ID, r.Code = "a", code
			fmt.Fprintf(&out, "%v %d: %v\n", code, n, r)
			if r.Placed = true; code != packer.NoGPU && code != packer.TooLarge {
				fmt.Fprintf(&out, "%v %d placed: %v\n", code, n, r)
			}
			for _, waits := range []packer.ReasonCode{packer.GPUsTaken, packer.ByChoice} {
				w := r
				w.Placed, w.Code, w.Sharing = false, waits, code
				fmt.Fprintf(&out, "%v %d %v: %v\n", code, n, waits, w)
			}
		}
	}
	golden.Check(t, "reasons.txt", out.String())
}
