package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/profile"
)

var events = flag.Int("scheduler.events", 300, "how many events TestEvents draws")

// TestRun: in the day of main every task starts and ends, and none waits.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for i := range 11 {
		id := fmt.Sprintf("task%02d", i)
		if !strings.Contains(text, id+" starts on") || strings.Count(text, id+" ends") != 1 {
			t.Errorf("%s does not start, or does not end once:\n%s", id, text)
		}
	}
	if !strings.HasSuffix(text, " 0 tasks wait\n") || !strings.Contains(text, "task10 starts on [node") {
		t.Errorf("some wait, or the gang did not run:\n%s", text)
	}
}

// world is a cluster, its users, and who checks both.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	fleet   *harness.Fleet
	s       *scheduler
	open    map[string]colloc.Task // submitted and not ended
	nodes   map[string][]colloc.GPU
	down    string
	cards   []colloc.GPU
	old     []byte // the books as they were when the last task started
	count   int
	ends    int
	deaths  int
	shared  int // checks in which some GPU held two tasks
	restart int
	crash   int // of those
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	cards, err := harness.Cards("4x4xRTX3090")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, cards: cards, rng: rand.New(rand.NewPCG(seed, 3)), dir: t.TempDir(), open: map[string]colloc.Task{}, nodes: map[string][]colloc.GPU{},
	}
	for _, c := range cards {
		w.nodes[c.Labels[0]] = append(w.nodes[c.Labels[0]], c)
	}
	w.fleet, err = harness.New(harness.Config{GPUs: cards})
	w.must(err)
	w.reopen()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reopen() {
	var err error
	w.s, err = open(w.dir, inventory(w.cards, w.fleet.GPUs()), w.fleet.Now, func(t colloc.Task, gpus []string) error {
		w.old, _ = os.ReadFile(filepath.Join(w.dir, "books.json"))
		if w.rng.IntN(50) == 0 {
			return nil // lost on the way: it shows as a task that nobody runs
		}
		peak, _ := t.Profile.Vector.Get(profile.PeakMemory)
		if w.rng.IntN(10) == 0 {
			peak *= 1.9 // more than it had alone
		}
		return w.fleet.Start(t, sim.Task{Work: time.Duration(10+w.rng.IntN(110)) * time.Minute, Memory: profile.Bytes(peak)}, gpus...)
	})
	w.must(err)
	if w.down != "" {
		w.must(w.s.lost(w.t.Context(), names(w.nodes[w.down])...))
	}
	running := w.fleet.Running()
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		if !slices.Contains(running, id) {
			w.must(w.s.submit(w.t.Context(), w.open[id]))
		}
	}
}

// event is one thing that happens.
func (w *world) event() {
	ctx, old := w.t.Context(), w.old
	w.old = nil
	switch x := w.rng.IntN(100); {
	case x < 40 && len(w.open) < 50:
		task := request(fmt.Sprint("t", w.count), []string{"red", "green", "blue"}[w.rng.IntN(3)], w.rng.IntN(30), 1)
		if w.rng.IntN(12) == 0 {
			task.GPUs = 2 + w.rng.IntN(3)
		}
		w.count++
		w.open[task.ID] = task
		w.must(w.s.submit(ctx, task))
	case x < 42 && w.down == "":
		w.down = fmt.Sprint("node", w.rng.IntN(4))
		ids := names(w.nodes[w.down])
		_, err := w.fleet.Fail(ids...)
		w.must(err)
		w.must(w.s.lost(ctx, ids...))
	case x < 44 && w.down != "":
		w.must(w.fleet.Repair(names(w.nodes[w.down])...))
		w.must(w.s.back(ctx, w.nodes[w.down]...))
		w.down = ""
	case x < 46: // a restart, after a start a crash before that was written down
		w.restart++
		if old != nil {
			w.crash++
			w.must(os.WriteFile(filepath.Join(w.dir, "books.json"), old, 0o600))
		}
		w.reopen()
	default:
		w.step()
	}
}

func names(cards []colloc.GPU) (ids []string) {
	for _, c := range cards {
		ids = append(ids, c.ID)
	}
	return ids
}

func (w *world) step() {
	e, ok := w.fleet.Step(w.fleet.Now().Add(3 * time.Minute))
	if !ok {
		return
	}
	task, known := w.open[e.Task]
	if !known {
		w.t.Fatalf("%s ended twice", e.Task)
	}
	w.ends++
	delete(w.open, e.Task)
	w.must(w.s.ended(w.t.Context(), e.Task, e.Seen))
	if e.Died {
		w.deaths++
		w.open[e.Task] = task
		w.must(w.s.submit(w.t.Context(), task))
	}
}

// check looks at the cards alone: at most two share one, never two tenants, nothing
// beside a gang, no more memory promised than there is; books and cards agree.
func (w *world) check() {
	t := w.t
	booked := map[string]string{}
	for _, g := range w.s.books.Snapshot().GPUs {
		for _, r := range g.Residents {
			booked[g.ID+" "+r.ID] = r.Labels[0]
		}
	}
	some := false
	for _, g := range w.fleet.GPUs() {
		var reserved profile.Bytes
		for _, r := range g.Residents {
			reserved += r.Reserved
			if r.Labels[0] != g.Residents[0].Labels[0] || len(g.Residents) > 1 && r.Width() > 1 || booked[g.ID+" "+r.ID] != r.Labels[0] {
				t.Fatalf("%s of %s on %s beside %d others, in the books: %q", r.ID, r.Labels, g.ID, len(g.Residents)-1, booked[g.ID+" "+r.ID])
			}
			if g.Labels[0] == w.down {
				t.Fatalf("%s runs on a node that is lost", r.ID)
			}
		}
		if len(g.Residents) > 2 || reserved > colloc.Usable(g.Total(), 0.1) {
			t.Fatalf("%s holds %d tasks and promised %v", g.ID, len(g.Residents), reserved)
		}
		some = some || len(g.Residents) == 2
	}
	if some {
		w.shared++
	}
}

// TestEvents draws arrivals of three tenants, gangs, ends, deaths, lost nodes, starts
// that get lost, restarts and crashes, and checks after each. In the end
// all that was submitted has ended.
//
//	go test ./examples/customscheduler -run TestEvents -v -scheduler.events 10000
func TestEvents(t *testing.T) {
	w := newWorld(t, 19)
	for range *events {
		w.event()
		w.check()
	}
	if w.down != "" {
		w.must(w.fleet.Repair(names(w.nodes[w.down])...))
		w.must(w.s.back(t.Context(), w.nodes[w.down]...))
		w.down = ""
	}
	for rounds := 0; len(w.open) > 0; rounds++ {
		if len(w.fleet.Running()) == 0 {
			w.reopen() // those whose start got lost
		}
		if w.step(); rounds > 100_000 {
			t.Fatalf("%d tasks never end", len(w.open))
		}
		w.check()
	}
	if w.ends-w.deaths != w.count || w.deaths == 0 || w.shared == 0 || w.crash == 0 {
		t.Errorf("%d submitted, %d ends, %d of them deaths, %d checks with shared GPUs, %d crashes", w.count, w.ends, w.deaths, w.shared, w.crash)
	}
	learned, err := w.s.planner.Learned(request("x", "red", 2, 1))
	w.must(err)
	if learned.Memory.Peak == 0 {
		t.Errorf("nothing learned: %v", learned)
	}
	t.Logf("%d submitted, %d ends, %d of them deaths, %d restarts, %d after crashes, %d of %d checks with shared GPUs\n%v", w.count, w.ends, w.deaths, w.restart, w.crash, w.shared, *events, learned)
}
