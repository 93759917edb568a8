//go:build linux

package fleet

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// session starts a process that leads a session, as a task's supervisor does.
func session(t *testing.T) int {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	return c.Process.Pid
}

// TestAttribute: processes of a task's session are the task's, others a stranger's; where the
// driver names none that is here, nothing tells whose they are.
func TestAttribute(t *testing.T) {
	const nobody = 1 << 30 // no process has so large a number
	own := session(t)
	e := task("a", gib, 0)
	process := func(pid int, memory profile.Bytes, busy profile.Opt[float64]) nvmlx.Process {
		return nvmlx.Process{PID: pid, MemUsed: profile.Some(memory), SMBusy: busy}
	}
	inner := process(nobody, gib, profile.Opt[float64]{})
	inner.InnerPID = profile.Some(own)
	for _, tt := range []struct {
		name      string
		processes []nvmlx.Process
		there     bool
		tasks     string               // whose the processes are, in their order: a or a dash
		share     profile.Opt[float64] // of the task
		blind     bool
	}{
		{"two of the task and a stranger", []nvmlx.Process{process(own, gib, profile.Some(0.3)), process(os.Getpid(), gib, profile.Some(0.9)), process(own, gib, profile.Some(0.2))}, true, "a-a", profile.Some(0.5), false},
		{"its share is not told", []nvmlx.Process{process(own, gib, profile.Opt[float64]{})}, true, "a", profile.Opt[float64]{}, false},
		{"by its number in the container", []nvmlx.Process{inner}, true, "a", profile.Opt[float64]{}, false},
		{"none is told, and none is there", nil, false, "", profile.Opt[float64]{}, false},
		{"none is told, though the task is there", nil, true, "", profile.Opt[float64]{}, true},
		{"a number that nobody has", []nvmlx.Process{process(nobody, gib, profile.Opt[float64]{})}, true, "-", profile.Opt[float64]{}, true},
		{"a number that is none", []nvmlx.Process{process(0, gib, profile.Opt[float64]{})}, true, "-", profile.Opt[float64]{}, false},
		{"a stranger alone", []nvmlx.Process{process(os.Getpid(), gib, profile.Opt[float64]{})}, true, "-", profile.Opt[float64]{}, false},
		{"the task, and one that nobody has", []nvmlx.Process{process(nobody, gib, profile.Opt[float64]{}), process(own, gib, profile.Opt[float64]{})}, true, "-a", profile.Opt[float64]{}, false},
	} {
		var s Seen
		if tt.there {
			s.there = []*backlog.Entry{e}
		}
		s.attribute(tt.processes, map[int]*backlog.Entry{own: e})
		var whose []string
		for _, p := range s.usage.Processes {
			whose = append(whose, cmp.Or(p.Task, "-"))
			if p.Memory != profile.Some(gib) {
				t.Errorf("%s: process %d has %v", tt.name, p.PID, p.Memory)
			}
		}
		if tasks := strings.Join(whose, ""); tasks != tt.tasks || s.tasks[e] != tt.share || s.blind != tt.blind {
			t.Errorf("%s: of %q, busy %v, blind %v; want %q, %v, %v", tt.name, tasks, s.tasks[e], s.blind, tt.tasks, tt.share, tt.blind)
		}
	}
}

// TestAscribe: where nothing tells whose memory is, a task that is alone on a card holds what
// the use has grown by since the card was empty, and of several nobody knows.
func TestAscribe(t *testing.T) {
	c := card("g", 40*gib)
	f := fleetOf(t, Config{}, c)
	look := func(used profile.Bytes, there ...*backlog.Entry) {
		s := Seen{there: there, blind: len(there) > 0}
		s.usage.Used = profile.Some(used)
		c.Note(&s)
	}
	look(3 * gib)
	e := f.run(t, task("a", 8*gib, 0), c)
	look(9*gib, e)
	if !e.Peak.IsZero() {
		t.Errorf("a task without a process holds %v", e.Peak)
	}
	e.PID = session(t)
	look(5*gib, e)
	if e.Peak != profile.Some(2*gib) {
		t.Errorf("it holds %v, want what the use has grown by", e.Peak)
	}
	look(gib, e) // a stranger has ended
	if e.Peak != profile.Some(2*gib) {
		t.Errorf("it held %v, want as much as before", e.Peak)
	}
	other := f.run(t, task("b", 8*gib, 0), c)
	other.PID = e.PID
	look(30*gib, e, other)
	if e.Peak != profile.Some(2*gib) || !other.Peak.IsZero() {
		t.Errorf("of two tasks one holds %v and the other %v", e.Peak, other.Peak)
	}
	f.Leave(other)
	look(30*gib, e, other) // which ended after the look
	if e.Peak != profile.Some(2*gib) {
		t.Errorf("it holds %v, though another was there", e.Peak)
	}
	c = card("g", 40*gib)
	e = fleetOf(t, Config{}, c).run(t, task("a", 8*gib, 0), c)
	e.PID = session(t)
	look(9*gib, e)
	if !e.Peak.IsZero() {
		t.Errorf("it holds %v, though nobody saw the card without it", e.Peak)
	}
}

// lists is a source that knows who uses a device.
type lists struct {
	nvmlx.Source

	processes []nvmlx.Process
}

func (lists) Read(context.Context, nvmlx.DeviceID, nvmlx.Fields) (nvmlx.Sample, error) {
	return nvmlx.Sample{Sample: profile.Sample{MemUsed: profile.Some(3 * gib)}}, nil
}

func (l lists) Processes(context.Context, nvmlx.DeviceID) ([]nvmlx.Process, error) {
	return l.processes, nil
}

// TestSee: a look tells the memory in use, and which of it is whose.
func TestSee(t *testing.T) {
	e, c, pid := task("a", gib, 0), card("g", 40*gib), session(t)
	s := c.See(t.Context(), lists{processes: []nvmlx.Process{{PID: pid, MemUsed: profile.Some(2 * gib)}}}, []*backlog.Entry{e}, map[int]*backlog.Entry{pid: e})
	u := s.usage
	if s.err != nil || u.GPU != "g" || u.Used != profile.Some(3*gib) || len(u.Processes) != 1 || u.Processes[0].Task != "a" || u.Processes[0].Memory != profile.Some(2*gib) {
		t.Errorf("%+v, %v; want 3 GiB in use, 2 of them by task a", u, s.err)
	}
}

// TestRelist: cards that are new are taken in, and those that are gone are dropped once nothing
// runs there, if the list is complete; what comes back is a card again.
func TestRelist(t *testing.T) {
	a, b, busy := card("a", 40*gib), card("b", 40*gib), card("busy", 40*gib)
	f := fleetOf(t, Config{}, a, b, busy)
	e := f.run(t, task("1", gib, 0), busy)
	names := func(cards []*Card) (ids []string) {
		for _, c := range cards {
			ids = append(ids, string(c.Info.ID))
		}
		return ids
	}
	for _, tt := range []struct {
		name             string
		listed           []string
		complete, leaves bool
		come, gone, then []string
	}{
		{"as before", []string{"a", "b", "busy"}, true, false, nil, nil, []string{"a", "b", "busy"}},
		{"incomplete", []string{"new"}, false, false, []string{"new"}, nil, []string{"a", "b", "busy", "new"}},
		{"others", []string{"a", "new"}, true, false, nil, []string{"b"}, []string{"a", "busy", "new"}},
		{"nothing runs there any more", []string{"a", "new"}, true, true, nil, []string{"busy"}, []string{"a", "new"}},
		{"back", []string{"a", "new", "b"}, true, false, []string{"b"}, nil, []string{"a", "new", "b"}},
	} {
		if tt.leaves {
			f.Leave(e)
		}
		var listed []*Card
		for _, id := range tt.listed {
			listed = append(listed, card(nvmlx.DeviceID(id), 40*gib))
		}
		come, gone := f.Relist(listed, tt.complete)
		if !slices.Equal(names(come), tt.come) || !slices.Equal(names(gone), tt.gone) || !slices.Equal(names(f.Cards), tt.then) {
			t.Errorf("%s: %v come, %v go, then there are %v; want %v, %v, %v", tt.name, names(come), names(gone), names(f.Cards), tt.come, tt.gone, tt.then)
		}
	}
	if f.Card("a") != a {
		t.Error("a card that was listed again is another one")
	}
}
