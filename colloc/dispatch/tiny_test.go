package dispatch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// tiny is a Mind of a few jobs, that knows the speed of each beside each other.
type tiny struct {
	lengths []time.Duration
	beside  [][]float64 // beside[i][j] is the speed of i with j
}

func (m *tiny) Scheduler(_ []colloc.GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	return online.NewScheduler(nil, m, packer.Limits{MaxSet: 2}, o)
}

func (m *tiny) Packed(t colloc.Task) (packer.Task, error) {
	return packer.Task{ID: t.ID, Memory: t.Reserved}, nil
}

func (m *tiny) PackedGPU(g colloc.GPU) (packer.GPU, error) {
	return packer.GPU{ID: g.ID, Memory: g.Memory}, nil
}

func (m *tiny) Relearn(*online.Scheduler, []colloc.GPU) error { return nil }

func (m *tiny) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	at := func(t *packer.Task) int { return int(t.ID[0] - 'a') }
	for i, t := range set {
		dst[i] = 1
		if len(set) == 2 {
			dst[i] = m.beside[at(t)][at(set[1-i])]
		}
	}
	return nil
}

// world is where jobs stand: what is left of each, in seconds, and its GPU; -1 before its start.
type world struct {
	now, sum float64
	left     []float64
	on       []int
}

const (
	tinyGPUs  = 2
	elsewhere = -1
)

func (w world) clone() world {
	w.left, w.on = slices.Clone(w.left), slices.Clone(w.on)
	return w
}

// rates are the speeds of the jobs that run.
func (m *tiny) rates(w *world) []float64 {
	rates := make([]float64, len(w.on))
	for i, g := range w.on {
		if g == elsewhere || w.left[i] == 0 {
			continue
		}
		rates[i] = 1
		for j, h := range w.on {
			if j != i && h == g && w.left[j] > 0 {
				rates[i] = m.beside[i][j]
			}
		}
	}
	return rates
}

// forward lets time pass until a job ends; false if none runs.
func (m *tiny) forward(w *world) bool {
	rates, d := m.rates(w), math.Inf(1)
	for i, r := range rates {
		if r > 0 {
			d = min(d, w.left[i]/r)
		}
	}
	if math.IsInf(d, 1) {
		return false
	}
	w.now += d
	for i, r := range rates {
		if r == 0 {
			continue
		}
		if w.left[i] -= r * d; w.left[i] < 1e-6 {
			w.left[i] = 0
			w.sum += w.now
		}
	}
	return true
}

// best is the least sum of completion times that any choice leads to: at each end each job that waits
// starts on either GPU, or goes on waiting.
func (m *tiny) best(w world, from int, most float64) float64 {
	if w.sum >= most {
		return most
	}
	if from < len(w.on) {
		most = min(most, m.best(w, from+1, most))
		for g := 0; w.on[from] == elsewhere && g < tinyGPUs; g++ {
			here := 0
			for j, h := range w.on {
				if h == g && w.left[j] > 0 {
					here++
				}
			}
			if here < 2 {
				next := w.clone()
				next.on[from] = g
				most = min(most, m.best(next, from+1, most))
			}
		}
		return most
	}
	next := w.clone()
	switch {
	case m.forward(&next):
		return m.best(next, 0, most)
	case slices.Contains(w.on, elsewhere):
		return most // all wait for nothing
	}
	return min(most, w.sum)
}

// played is the sum that a Dispatcher comes to.
func (m *tiny) played(t *testing.T, budget int) float64 {
	t.Helper()
	d, err := dispatch.New(m, &dispatch.Options{AtOnce: true, Scheduler: online.SchedulerOptions{Objective: profile.Some(0.0), Budget: profile.Some(budget)}})
	if err != nil {
		t.Fatal(err)
	}
	var events []dispatch.Event
	for g := range tinyGPUs {
		events = append(events, dispatch.GPUAdded{GPU: colloc.GPU{ID: strconv.Itoa(g), Memory: 16 * profile.GiB}})
	}
	w := world{}
	for i, l := range m.lengths {
		w.left, w.on = append(w.left, l.Seconds()), append(w.on, elsewhere)
		events = append(events, dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: string(rune('a' + i)), Reserved: profile.GiB}, Left: profile.Some(l)}})
	}
	runs := make([]uint64, len(w.on))
	for {
		at := time.Duration(w.now * float64(time.Second))
		if err := d.Tell(at, events...); err != nil {
			t.Fatal(err)
		}
		actions, err := d.Decide(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range actions {
			i := a.Job[0] - 'a'
			w.on[i], runs[i] = int(a.GPUs[0][0]-'0'), a.Run
		}
		before := slices.Clone(w.left)
		if !m.forward(&w) {
			return w.sum
		}
		events = events[:0]
		for i := range w.left {
			if w.left[i] == 0 && before[i] > 0 {
				events = append(events, dispatch.Ended{Job: string(rune('a' + i)), Run: runs[i], How: dispatch.Done})
			}
		}
	}
}

// TestTinyDays: what a Dispatcher makes of a few jobs on two GPUs is never better than the best of all
// schedules, which is found by trying each, and seldom much worse.
func TestTinyDays(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	days := max(4, race.Fewer(40))
	for _, tt := range []struct {
		budget int
		mean   float64 // the most that is lost in the mean
	}{{online.DefaultBudget, 0.02}, {0, 0.25}} {
		lost, worst := 0.0, 0.0
		for range days {
			m := &tiny{}
			for range 5 {
				m.lengths = append(m.lengths, time.Duration(1+rng.IntN(180))*time.Minute)
			}
			for range m.lengths {
				row := make([]float64, len(m.lengths))
				for j := range row {
					row[j] = 0.3 + 0.7*rng.Float64()
				}
				m.beside = append(m.beside, row)
			}
			w := world{}
			for _, l := range m.lengths {
				w.left, w.on = append(w.left, l.Seconds()), append(w.on, elsewhere)
			}
			best, got := m.best(w, 0, math.Inf(1)), m.played(t, tt.budget)
			if got < best*(1-1e-6) {
				t.Fatalf("%+v: %v s, and the best of all is %v", m, got, best)
			}
			lost, worst = lost+(got/best-1)/float64(days), max(worst, got/best-1)
		}
		t.Logf("budget %d: %.2f %% above the best in the mean, %.1f %% at most", tt.budget, 100*lost, 100*worst)
		if lost > tt.mean {
			t.Errorf("budget %d: %.2f %% above the best in the mean, want %.0f at most", tt.budget, 100*lost, 100*tt.mean)
		}
	}
}
