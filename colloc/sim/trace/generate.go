package trace

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
)

// Workload describes tasks to generate. Zero fields are defaults.
type Workload struct {
	// Tasks is how many; required.
	Tasks int
	// Seed chooses them.
	Seed uint64
	// Between is the mean time between arrivals, which come at random without
	// memory (Poisson); 0 means 1 minute, negative lets all arrive at once.
	Between time.Duration
	// Diurnal is how much the rate swings over 24 hours, in [0, 1]: the rate at
	// time t is (1 + Diurnal · sin(2π t / 24 h)) times its mean.
	Diurnal float64
	// MeanLength is the mean run time alone; 0 means 1 hour. Lengths are log-normal.
	// LengthSpread is the standard deviation of the logarithm; 0 means 1, negative
	// makes all equal.
	MeanLength   time.Duration
	LengthSpread float64
	// Types are what tasks are drawn from, each equally often; nil means tasks
	// without a type.
	Types []Type
}

func (w *Workload) validate() error {
	var errs []error
	if w.Tasks < 0 || w.Tasks > 1<<26 {
		errs = append(errs, fmt.Errorf("%d Tasks, want 0 to %d", w.Tasks, 1<<26))
	}
	if !(w.Diurnal >= 0 && w.Diurnal <= 1) {
		errs = append(errs, fmt.Errorf("a Diurnal of %v, want 0 to 1", w.Diurnal))
	}
	if math.IsNaN(w.LengthSpread) || w.LengthSpread > 4 {
		errs = append(errs, fmt.Errorf("LengthSpread is %v, want at most 4", w.LengthSpread))
	}
	if w.MeanLength < 0 {
		errs = append(errs, fmt.Errorf("a MeanLength of %v, want 0 or more", w.MeanLength))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("trace: workload: %w", errors.Join(errs...))
}

// Generate makes tasks. The same Workload gives the same tasks.
func Generate(w Workload) ([]sim.Task, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	if w.Between == 0 {
		w.Between = time.Minute
	}
	if w.MeanLength == 0 {
		w.MeanLength = time.Hour
	}
	if w.LengthSpread == 0 {
		w.LengthSpread = 1
	}
	draw := rand.New(rand.NewPCG(w.Seed, 0x747261636573))
	tasks := make([]sim.Task, w.Tasks)
	at := time.Duration(0)
	for i := range tasks {
		at = w.arrival(draw, at)
		t := sim.Task{ID: "t" + strconv.Itoa(i), Arrival: at, Work: w.length(draw), GPUs: 1}
		if n := len(w.Types); n > 0 {
			k := &w.Types[draw.IntN(n)]
			t.Type, t.Memory, t.Busy, t.Bandwidth, t.Profile = k.Name, k.Memory, k.Busy, k.Bandwidth, k.Profile
		}
		tasks[i] = t
	}
	return tasks, nil
}

// arrival draws the next arrival: candidates come at the highest rate, and each
// counts with the probability rate / highest (thinning, Lewis and Shedler 1979,
// doi:10.1002/nav.3800260304).
func (w *Workload) arrival(draw *rand.Rand, at time.Duration) time.Duration {
	if w.Between < 0 {
		return 0
	}
	highest := 1 + w.Diurnal
	for {
		step := round9(draw.ExpFloat64() / highest)
		at = min(at+time.Duration(min(float64(step*float64(w.Between)), float64(century))), century)
		day := float64(at%(24*time.Hour)) / float64(24*time.Hour)
		if float64(draw.Float64()*highest) <= round9(1+float64(w.Diurnal*math.Sin(2*math.Pi*day))) {
			return at
		}
	}
}

// length draws a run time: exp(μ + spread · z) with the mean asked for.
func (w *Workload) length(draw *rand.Rand) time.Duration {
	if w.LengthSpread < 0 {
		return w.MeanLength
	}
	z := max(-6, min(6, draw.NormFloat64()))
	factor := round9(math.Exp(float64(w.LengthSpread*z) - float64(0.5*w.LengthSpread*w.LengthSpread)))
	return max(time.Millisecond, time.Duration(min(float64(factor*float64(w.MeanLength)), float64(century))))
}

// round9 rounds to nine decimals: the last bits of logarithms and exponentials
// differ between processors.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }

// Inflate turns tasks into the experiment with which FGD was evaluated (Weng et
// al., ATC 2023): they arrive one a second in random order and never leave, and
// copies of random ones follow until so many GPUs were asked for in all.
func Inflate(tasks []sim.Task, gpus float64, seed uint64) []sim.Task {
	draw := rand.New(rand.NewPCG(seed, 0x696e666c617465))
	var out []sim.Task
	sum := 0.0
	add := func(t sim.Task) {
		t.ID += "#" + strconv.Itoa(len(out))
		t.Arrival = time.Duration(len(out)) * time.Second
		t.Work = century
		out = append(out, t)
		switch {
		case t.HostOnly:
		case t.Share > 0:
			sum += float64(t.Share * float64(max(1, t.GPUs)))
		default:
			sum += float64(max(1, t.GPUs))
		}
	}
	for _, i := range draw.Perm(len(tasks)) {
		add(tasks[i])
	}
	if sum == 0 {
		return out
	}
	for sum < gpus && len(out) < 1<<24 {
		add(tasks[draw.IntN(len(tasks))])
	}
	return out
}
