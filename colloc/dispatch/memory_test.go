package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// asked returns the actions of a decision in words.
func (s *site) asked() (out []string) {
	s.tb.Helper()
	actions, err := s.d.Decide(s.tb.Context(), s.now)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, a := range actions {
		out = append(out, fmt.Sprintf("%v %s %v %v", a.Verb, a.Job, a.GPUs, a.Reserve))
		s.on[a.Job] = a.Run
	}
	return out
}

// TestOutOfMemory: what is reserved next, and when a job is given up.
func TestOutOfMemory(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{}) // of 40 GiB
	small, _ := profile.LookupGPU("Tesla T4")
	s.tell(dispatch.GPUAdded{GPU: colloc.GPU{ID: "small", Model: small}, Machine: 1})
	s.submit("a", "ann", func(j *dispatch.Job) { j.Alone, j.Reserved, j.Kind = false, 4*profile.GiB, "k" })
	s.submit("b", "ann", func(j *dispatch.Job) { j.Reserved, j.On = 30*profile.GiB, []string{small.Name} }) // never
	want := func(action string) {
		t.Helper()
		if got := fmt.Sprint(s.asked()); got != "["+action+"]" {
			t.Fatalf("%s, want %s", got, action)
		}
	}
	dies := func(peak profile.Bytes) {
		t.Helper()
		s.now += time.Minute
		s.tell(dispatch.Started{Job: "a", Run: s.on["a"]},
			dispatch.Ended{Job: "a", Run: s.on["a"], How: dispatch.OutOfMemory, Peak: profile.Some(peak)})
	}
	want("start a [gpu0] 4 GiB")
	s.submit("c", "ann", func(j *dispatch.Job) { j.Alone, j.Reserved, j.Kind = false, 4*profile.GiB, "k" })
	s.tell(dispatch.Held{Job: "c"})
	dies(3 * profile.GiB)
	want("start a [gpu0] 6 GiB")
	if m, err := s.d.Memory("c"); m != 6*profile.GiB || err != nil {
		t.Errorf("c, of the same kind, reserves %v, %v", m, err)
	}
	s.tell(dispatch.Drained{GPU: "gpu0"})
	dies(8 * profile.GiB)
	want("start a [small] 12 GiB")
	dies(8 * profile.GiB) // alone, as the largest card that is there took others
	want("")
	s.tell(dispatch.Drained{GPU: "gpu0", Off: true})
	want("start a [gpu0] 36 GiB")
	dies(36 * profile.GiB)
	if got := s.asked(); len(got) != 1 || got[0] != "give up a [] 0 B" {
		t.Errorf("%v, want a to be given up", got)
	}
	s.tell(dispatch.Released{Job: "c"})
	if got := s.asked(); len(got) != 1 || got[0] != "start c [gpu0] 36 GiB" {
		t.Errorf("%v", got)
	}
	s.tell(dispatch.Started{Job: "c", Run: s.on["c"]}, dispatch.Seen{Job: "c", Run: s.on["c"], Peak: 5 * profile.GiB})
	s.submit("d", "ann", func(j *dispatch.Job) { j.Alone, j.Reserved, j.Kind = false, 4*profile.GiB, "k" })
	if m, err := s.d.Memory("d"); m != profile.BytesOf(5*1.05*float64(profile.GiB)) || err != nil {
		t.Errorf("after one was seen d reserves %v, %v", m, err)
	}
}

// TestFixed: what a job says to need stands, unless it uses more.
func TestFixed(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	s.submit("a", "ann", func(j *dispatch.Job) { j.Reserved, j.Fixed, j.Kind = 10*profile.GiB, true, "k" })
	s.decide()
	for _, x := range []struct{ peak, want profile.Bytes }{{4 * profile.GiB, 10 * profile.GiB}, {20 * profile.GiB, 21 * profile.GiB}} {
		s.tell(dispatch.Seen{Job: "a", Run: s.on["a"], Peak: x.peak})
		if m, err := s.d.Memory("a"); m != x.want || err != nil {
			t.Errorf("seen at %v it reserves %v, %v", x.peak, m, err)
		}
	}
}

// TestTogether: a job that comes in one call with news of its kind reserves what that says.
func TestTogether(t *testing.T) {
	s := newSite(t, 2, dispatch.Options{})
	of := func(j *dispatch.Job) { j.Kind, j.Reserved, j.Alone = "k", 4*profile.GiB, false }
	s.submit("a", "ann", of)
	s.decide()
	j := dispatch.Job{Task: colloc.Task{ID: "b"}, User: "ann"}
	of(&j)
	s.tell(dispatch.Ended{Job: "a", Run: s.on["a"], How: dispatch.OutOfMemory, Peak: profile.Some(8 * profile.GiB)}, dispatch.Submitted{Job: j})
	if m, err := s.d.Memory("b"); err != nil || m != 12*profile.GiB {
		t.Fatalf("b reserves %v (%v), want 12 GiB", m, err)
	}
}

// grows is a Mind that predicts more memory with each time it has learned something.
type grows struct {
	*colloc.Planner
	learned profile.Bytes
}

func (m *grows) Packed(t colloc.Task) (packer.Task, error) {
	if t.Reserved == 0 {
		t.Reserved = (1 + m.learned) * profile.GiB
	}
	return m.Planner.Packed(t)
}

func (m *grows) Relearn(*online.Scheduler, []colloc.GPU) error {
	m.learned++
	return nil
}

// TestLearnedOfThoseThatWait: what was learned counts for who waits and says nothing of memory, as if it had come later.
func TestLearnedOfThoseThatWait(t *testing.T) {
	m := &grows{Planner: planner(t)}
	d, err := dispatch.New(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	job := func(id string, reserved profile.Bytes) dispatch.Event {
		return dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: id, Profile: &profile.Profile{}, Reserved: reserved}}}
	}
	is := func(id string, want profile.Bytes) {
		t.Helper()
		if r, err := d.Why(id); err != nil || r.Placing.Memory != want {
			t.Errorf("%s: %+v, %v; want %v", id, r.Placing, err, want)
		}
	}
	for _, e := range []dispatch.Event{job("before", 0), job("told", 9*profile.GiB), dispatch.Learned{}, job("after", 0)} {
		if err := d.Tell(0, e); err != nil {
			t.Fatal(err)
		}
	}
	is("before", 2*profile.GiB)
	is("after", 2*profile.GiB)
	is("told", 9*profile.GiB)
}
