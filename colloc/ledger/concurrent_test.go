package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// Issue KAI-Scheduler#2153: 16 tasks of half a GPU, submitted at once to 8 GPUs,
// put up to 4 on one card. Here 16 schedulers that know nothing of one another
// place one task each; a set may have 4 members, so that memory alone decides.
func TestHalfGPUsAtOnce(t *testing.T) {
	var gpus []colloc.GPU
	for i := range 8 {
		gpus = append(gpus, bare(fmt.Sprintf("gpu-%d", i), 20*profile.GiB))
	}
	for round := range 20 {
		l, _ := newLedger(t, ledger.Config{GPUs: gpus, MaxSet: 4})
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				<-start
				if err := placeFirstFit(l, sized(fmt.Sprintf("task-%d", i), 9*profile.GiB)); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		for _, g := range l.Snapshot().GPUs {
			if len(g.Residents) != 2 {
				t.Errorf("round %d: %s has %d tasks, want 2", round, g.ID, len(g.Residents))
			}
		}
	}
}

// placeFirstFit is a scheduler: it looks, decides and tries again when someone
// was faster.
func placeFirstFit(l *ledger.Ledger, task colloc.Task) error {
	for {
		s := l.Snapshot()
		gpu := ""
		for _, g := range s.GPUs {
			free := g.Memory - profile.BytesOf(float64(g.Memory)*0.1)
			for _, r := range g.Residents {
				free -= r.Reserved
			}
			if task.Reserved <= free {
				gpu = g.ID
				break
			}
		}
		if gpu == "" {
			return fmt.Errorf("no room for %s", task.ID)
		}
		lease, err := l.Reserve(s.Version, ledger.Claim{Task: task, GPU: gpu})
		if errors.Is(err, ledger.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		return l.Commit(lease)
	}
}

// Issue volcano#3616: three tasks of 12 GiB on one card of 24 GiB. Without
// headroom two of them fit, whoever comes first, and the third is told why not.
func TestThreeTwelvesOnTwentyFour(t *testing.T) {
	for range 50 {
		l, _ := newLedger(t, ledger.Config{
			GPUs: []colloc.GPU{bare("a", 24*profile.GiB)}, MaxSet: 3, Headroom: profile.Some(0.0),
		})
		var wg sync.WaitGroup
		full := make(chan error, 3)
		for i := range 3 {
			wg.Go(func() {
				for {
					_, err := l.Reserve(l.Snapshot().Version, claim("a", strconv.Itoa(i), 12*profile.GiB))
					if err == nil {
						return
					}
					if !errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrFull) {
						full <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(full)
		if len(full) != 1 || len(held(l)["a"]) != 2 {
			t.Fatalf("%d were refused and %v run, want 1 and 2", len(full), held(l))
		}
		if err := <-full; !errors.Is(err, ledger.ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
	}
}

// Issues HAMi#1081 and #1292: memory that others use is not free, whether a
// process shows it or not.
func TestForeignMemoryIsNotFree(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 20*profile.GiB), bare("b", 20*profile.GiB)}})
	l.Reconcile([]ledger.Usage{
		{GPU: "a", Processes: []ledger.Process{process(1, "", 12)}},
		{GPU: "b", Used: profile.Some(12 * profile.GiB)},
	})
	for _, gpu := range []string{"a", "b"} {
		if _, err := l.Reserve(l.Snapshot().Version, claim(gpu, "t", 8*profile.GiB)); !errors.Is(err, ledger.ErrFull) {
			t.Errorf("GPU %s: got %v, want ErrFull", gpu, err)
		}
	}
	if err := placeFirstFit(l, sized("t", 8*profile.GiB)); err == nil {
		t.Error("a snapshot shows memory as free that others use")
	}
}

// raceWorker is one scheduler of TestLedgerRace: it knows what it holds.
type raceWorker struct {
	t     *testing.T
	l     *ledger.Ledger
	clock *fakeClock
	name  int
	rng   *rand.Rand
	made  int
	open  map[uint64]raceLease
	runs  map[string]string // task -> GPU
	count map[string]int    // of outcomes
}

type raceLease struct {
	lease  ledger.Lease
	claims []ledger.Claim
}

const (
	raceGPUs   = 6
	raceMaxSet = 4
	raceMemory = 100 // 90 after headroom
)

// act does one random operation.
func (w *raceWorker) act() {
	switch p := w.rng.IntN(100); {
	case p < 45:
		w.reserve()
	case p < 65:
		w.finish(w.l.Commit, true)
	case p < 75:
		w.finish(w.l.Rollback, false)
	case p < 90:
		for task := range w.runs {
			if err := w.l.Release(task); err != nil {
				w.t.Errorf("release: %v", err)
			}
			delete(w.runs, task)
			break
		}
	case p < 93:
		w.clock.Step(time.Duration(w.rng.IntN(400)-100) * time.Millisecond)
	case p < 95:
		w.l.Reconcile([]ledger.Usage{{
			GPU:       strconv.Itoa(w.rng.IntN(raceGPUs)),
			Processes: []ledger.Process{{Memory: profile.Some(profile.Bytes(w.rng.IntN(20)))}},
		}})
	default:
		w.look()
	}
}

func (w *raceWorker) reserve() {
	s := w.l.Snapshot()
	claims := make([]ledger.Claim, 1+w.rng.IntN(3))
	for i := range claims {
		w.made++
		claims[i] = claim(strconv.Itoa(w.rng.IntN(raceGPUs)), fmt.Sprintf("%d/%d", w.name, w.made), profile.Bytes(1+w.rng.IntN(60)))
		claims[i].Task.Alone = w.rng.IntN(20) == 0
	}
	lease, err := w.l.Reserve(s.Version, claims...)
	w.count[ledgerOutcome(err)]++
	switch {
	case err == nil:
		w.open[lease.Number] = raceLease{lease, claims}
	case !errors.Is(err, ledger.ErrConflict) && !errors.Is(err, ledger.ErrFull):
		w.t.Errorf("reserve: %v", err)
	}
}

// finish commits or rolls back any of the open leases, which may have expired.
func (w *raceWorker) finish(how func(ledger.Lease) error, commits bool) {
	for number, r := range w.open {
		err := how(r.lease)
		delete(w.open, number)
		w.count["finish "+ledgerOutcome(err)]++
		switch {
		case err == nil && commits:
			for _, c := range r.claims {
				w.runs[c.Task.ID] = c.GPU
			}
		case err != nil && !errors.Is(err, ledger.ErrLeaseOver):
			w.t.Errorf("finish: %v", err)
		}
		return
	}
}

// look checks that no GPU is over-committed at this moment.
func (w *raceWorker) look() {
	for _, g := range w.l.Snapshot().GPUs {
		var sum profile.Bytes
		alone := false
		for _, r := range g.Residents {
			sum += r.Reserved
			alone = alone || r.Alone
		}
		if sum > 90 || len(g.Residents) > raceMaxSet || alone && len(g.Residents) > 1 {
			w.t.Errorf("GPU %s is over-committed: %d bytes, %d tasks, alone %v", g.ID, sum, len(g.Residents), alone)
		}
	}
}

// Property: 100,000 random operations of 8 schedulers at once, with leases that
// expire and a clock that is set back: no GPU is ever over-committed, the books
// hold exactly what the schedulers think, and nothing is left in the end.
func TestLedgerRace(t *testing.T) {
	const workers, operations = 8, 100_000
	var gpus []colloc.GPU
	for i := range raceGPUs {
		gpus = append(gpus, bare(strconv.Itoa(i), raceMemory))
	}
	l, clock := newLedger(t, ledger.Config{GPUs: gpus, MaxSet: raceMaxSet, LeaseTime: time.Second})
	var all [workers]*raceWorker
	var wg sync.WaitGroup
	for i := range all {
		w := &raceWorker{
			t: t, l: l, clock: clock, name: i, rng: rand.New(rand.NewPCG(1, uint64(i))),
			open: make(map[uint64]raceLease), runs: make(map[string]string), count: make(map[string]int),
		}
		all[i] = w
		wg.Go(func() {
			for range operations / workers {
				w.act()
			}
		})
	}
	wg.Wait()

	clock.Step(time.Second) // open leases are over
	got, want := make(map[string]string), make(map[string]string)
	count := make(map[string]int)
	for _, g := range l.Snapshot().GPUs {
		for _, r := range g.Residents {
			got[r.ID] = g.ID
		}
	}
	for _, w := range all {
		maps.Copy(want, w.runs)
		for what, n := range w.count {
			count[what] += n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("books and schedulers disagree (-schedulers +books):\n%s", diff)
	}
	for _, what := range []string{"", "full", "conflict", "full, conflict", "finish ", "finish over"} {
		if count[what] == 0 {
			t.Errorf("outcome %q never came up: %v", what, count)
		}
	}
	for task := range want {
		if err := l.Release(task); err != nil {
			t.Error(err)
		}
	}
	if left := held(l); len(left) != 0 {
		t.Errorf("leaked: %v", left)
	}
	checkEmptyBooks(t, l)
}

// checkEmptyBooks: no lease may be left behind.
func checkEmptyBooks(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if n := ledger.Leases(l); n > 0 {
		t.Errorf("%d leases are left", n)
	}
}
