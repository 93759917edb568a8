package pace_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// fakeRuns are tasks whose throughput is F^0.5 B^0.3 C^0.1 with some noise, on
// some cards of the catalogue each.
func fakeRuns(tb testing.TB, groups int, noise float64) []pace.Observation {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	cards := profile.GPUs()
	var obs []pace.Observation
	for g := range groups {
		p := task(tb, profile.CNN, profile.Mixed, 256)
		for range 12 {
			c := cards[rng.IntN(len(cards))]
			t := math.Pow(max(c.BF16, c.FP32), 0.5) * math.Pow(c.BandwidthBytesPerSec, 0.3) * math.Pow(c.FP32, 0.1) / 1e9
			t *= float64(g+1) * math.Exp(noise*rng.NormFloat64())
			obs = append(obs, pace.Observation{Profile: p, GPU: c, Throughput: t, Task: fmt.Sprint("task ", g), Group: fmt.Sprint("model ", g)})
		}
	}
	return obs
}

// TestFitRecovers checks that enough runs overcome the prior, that what a task
// reaches in absolute terms does not matter, and that intervals know the noise.
func TestFitRecovers(t *testing.T) {
	p, a, b := task(t, profile.CNN, profile.Mixed, 256), gpu(t, "H100-SXM5-80GB"), gpu(t, "T4")
	want := math.Pow(989.0/65, 0.5) * math.Pow(3350.0/320, 0.3) * math.Pow(67/8.1, 0.1)
	var width [2]float64
	for i, noise := range []float64{0.02, 0.3} {
		m, err := pace.Fit(fakeRuns(t, 40, noise), nil)
		if err != nil {
			t.Fatal(err)
		}
		e := m.Ratio(p, a, b)
		if tol := 0.05 + noise/2; !(math.Abs(math.Log(e.Value/want)) <= tol) || e.Source.Kind != predict.Fitted || e.Confidence != 0.9 {
			t.Errorf("noise %v: H100 over T4 is %+v, want %v", noise, e, want)
		}
		width[i] = e.Hi / e.Lo
	}
	if !(width[0] < 1.5 && width[1] > 2*width[0]) {
		t.Errorf("intervals span factors of %v at little and %v at much noise", width[0], width[1])
	}
}

// TestFitTellsTasksApart: each family and width of the number format has its own
// law, and what is fitted of one is not said of another.
func TestFitTellsTasksApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cards := profile.GPUs()
	families := []profile.Family{profile.CNN, profile.Transformer, profile.RNN}
	// exponents of the precision's rate and of the bandwidth
	law := func(family, narrow int) [2]float64 {
		return [2]float64{0.2 + 0.15*float64(family) + 0.3*float64(narrow), 0.9 - 0.25*float64(family) - 0.3*float64(narrow)}
	}
	var obs []pace.Observation
	tasks := make(map[[2]int]*profile.Profile)
	for f, family := range families {
		for narrow, precision := range []profile.Precision{profile.FP32, profile.FP16} {
			p := task(t, family, precision, 256)
			tasks[[2]int{f, narrow}] = p
			w := law(f, narrow)
			for g := range 30 {
				for range 12 {
					c := cards[rng.IntN(len(cards))]
					rate := max(c.FP32, c.TF32)
					if narrow == 1 {
						rate = max(c.FP32, c.BF16)
					}
					name := fmt.Sprint(f, narrow, g)
					obs = append(obs, pace.Observation{Profile: p, GPU: c, Throughput: math.Pow(rate, w[0]) * math.Pow(c.BandwidthBytesPerSec, w[1]), Task: name, Group: name})
				}
			}
		}
	}
	m, err := pace.Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := gpu(t, "H100-SXM5-80GB"), gpu(t, "V100-SXM2-16GB")
	for at, p := range tasks {
		w, top, low := law(at[0], at[1]), max(a.FP32, a.TF32), max(b.FP32, b.TF32)
		if at[1] == 1 {
			top, low = max(a.FP32, a.BF16), max(b.FP32, b.BF16)
		}
		want := math.Pow(top/low, w[0]) * math.Pow(a.BandwidthBytesPerSec/b.BandwidthBytesPerSec, w[1])
		if e := m.Ratio(p, a, b); !(math.Abs(math.Log(e.Value/want)) <= 0.08) {
			t.Errorf("%v, narrow %d: H100 over V100 is %.3f, want %.3f", families[at[0]], at[1], e.Value, want)
		}
	}
}

// fitsLaw fits runs of two tasks on all cards, whose speeds follow a law, and expects it back.
func fitsLaw(t *testing.T, rng *rand.Rand, tasks [2]*profile.Profile, law func(task int, c *profile.GPUModel) float64) {
	t.Helper()
	cards := profile.GPUs()
	var obs []pace.Observation
	for g := range 200 {
		for range 12 {
			c, name := cards[rng.IntN(len(cards))], fmt.Sprint("g", g)
			obs = append(obs, pace.Observation{Profile: tasks[g%2], GPU: c, Throughput: law(g%2, &c), Task: name, Group: name})
		}
	}
	m, err := pace.Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := gpu(t, "H100-SXM5-80GB"), gpu(t, "V100-SXM2-16GB")
	for i, p := range tasks {
		if e, want := m.Ratio(p, a, b), law(i, a)/law(i, b); !(math.Abs(math.Log(e.Value/want)) <= 0.05) {
			t.Errorf("task %d: H100 over V100 is %.3f, want %.3f", i, e.Value, want)
		}
	}
}

// TestFitTellsWidthsApart: tasks of no family have a law for each width of the number
// format.
func TestFitTellsWidthsApart(t *testing.T) {
	tasks := [2]*profile.Profile{task(t, profile.UnknownFamily, profile.FP32, 256), task(t, profile.UnknownFamily, profile.FP16, 256)}
	law := func(narrow int, c *profile.GPUModel) float64 {
		if narrow == 1 {
			return math.Pow(max(c.FP32, c.BF16), 0.8) * math.Pow(c.BandwidthBytesPerSec, 0.1)
		}
		return math.Pow(max(c.FP32, c.TF32), 0.1) * math.Pow(c.BandwidthBytesPerSec, 0.8)
	}
	fitsLaw(t, rand.New(rand.NewPCG(5, 6)), tasks, law)
}

// TestFitSeesEmptyCards: convolutional networks with a small batch gain less of a faster
// card, as much less as the data say.
func TestFitSeesEmptyCards(t *testing.T) {
	tasks := [2]*profile.Profile{task(t, profile.CNN, profile.FP32, 64), task(t, profile.CNN, profile.FP32, 8)}
	law := func(empty int, c *profile.GPUModel) float64 { // half of what a full batch gains
		full := math.Pow(max(c.FP32, c.TF32), 0.2) * math.Pow(c.BandwidthBytesPerSec, 0.6) * math.Pow(c.FP32, 0.2)
		return math.Pow(full, 1-0.5*float64(empty))
	}
	fitsLaw(t, rand.New(rand.NewPCG(9, 6)), tasks, law)
}

// TestFitFewGroups: fewer groups than the promise needs widen the interval.
func TestFitFewGroups(t *testing.T) {
	p, a, b := task(t, profile.CNN, profile.Mixed, 256), gpu(t, "H100-SXM5-80GB"), gpu(t, "T4")
	var width [2]float64
	for i, groups := range []int{3, 40} {
		m, err := pace.Fit(fakeRuns(t, groups, 0.2), nil)
		if err != nil {
			t.Fatal(err)
		}
		e := m.Ratio(p, a, b)
		width[i] = e.Hi / e.Lo
	}
	if !(width[0] > width[1]) {
		t.Errorf("three groups span a factor of %v, forty of %v", width[0], width[1])
	}
}

func TestFitIsDeterministic(t *testing.T) {
	obs := fakeRuns(t, 10, 0.1)
	var files [2]bytes.Buffer
	for i := range files {
		m, err := pace.Fit(obs, &pace.Options{Reference: *gpu(t, "A100-80GB"), Provenance: "made up"})
		if err != nil {
			t.Fatal(err)
		}
		if m.Reference() != "A100-80GB" || m.Pace(obs[0].Profile, gpu(t, "H100 SXM")).Value < 1.2 {
			t.Errorf("reference %s, H100 %+v", m.Reference(), m.Pace(obs[0].Profile, gpu(t, "H100 SXM")))
		}
		if err := m.Save(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two fits differ")
	}
}

func TestFitFaults(t *testing.T) {
	good := fakeRuns(t, 3, 0.1)
	with := func(change func(*pace.Observation)) []pace.Observation {
		obs := append([]pace.Observation(nil), good...)
		change(&obs[5])
		return obs
	}
	for _, c := range []struct {
		name string
		obs  []pace.Observation
		o    *pace.Options
		want string
	}{
		{"nothing", nil, nil, "fewer than two groups"},
		{"one group", good[:12], nil, "fewer than two groups"},
		{"no profile", with(func(o *pace.Observation) { o.Profile = nil }), nil, "observation 5: no profile"},
		{"no throughput", with(func(o *pace.Observation) { o.Throughput = math.NaN() }), nil, "observation 5: throughput is NaN"},
		{"unknown card", with(func(o *pace.Observation) { o.GPU = profile.GPUModel{Name: "own"} }), nil, `observation 5: GPU "own"`},
		{"confidence", good, &pace.Options{Confidence: 1}, "confidence is 1"},
		{"reference", good, &pace.Options{Reference: profile.GPUModel{Name: "own"}}, `reference "own"`},
	} {
		if _, err := pace.Fit(c.obs, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
