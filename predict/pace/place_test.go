package pace

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// flat is a card whose log rates are all the same.
func flat(name string, rate float64) kind {
	return kind{name: name, rates: rates{rate, rate, rate, rate}, known: true}
}

// TestCardsMoveWithThoseLikeThem: of a task that ran e times as fast as predicted on one
// card and as predicted on one far from it, cards like the first are expected to be nearly
// as much faster, cards like the second hardly.
func TestCardsMoveWithThoseLikeThem(t *testing.T) {
	s := priorState()
	q := s.question(nil)
	for _, k := range []kind{flat("fast", 30), flat("slow", 28)} {
		q.seen = append(q.seen, seen{kind: k, log: q.speed(&k.rates), n: 1})
	}
	q.seen[0].log++
	for _, c := range []struct {
		k         kind
		low, high float64
	}{{flat("like fast", 30.01), 0.75, 0.95}, {flat("between", 29), 0.45, 0.55}, {flat("like slow", 27.99), 0.05, 0.25}} {
		v := q.place(&c.k)
		if more := v.log - q.speed(&c.k.rates); more < c.low || more > c.high || v.measured {
			t.Errorf("%s: %v more than predicted, want %v to %v", c.k.name, more, c.low, c.high)
		}
	}
}

// TestMeasurementsHaveNoise: an interval from a card that was measured to one that was not
// is wider than that of their rates alone by the noise of a run, which falls with the root
// of their number.
func TestMeasurementsHaveNoise(t *testing.T) {
	s := priorState()
	a, b := flat("measured", 30), flat("other", 29.5)
	plain := s.question(nil)
	wide := plain.spread(&a, &b)
	square := func(runs int) float64 {
		q := s.question(nil)
		q.seen = []seen{{kind: a, n: runs}}
		v := q.view(&b, &a)
		if v.measured {
			t.Error("the other card was measured")
		}
		return v.half*v.half - wide*wide
	}
	if one, nine := square(1), square(9); !(one > 0) || !(math.Abs(one-9*nine) <= 1e-9) {
		t.Errorf("one run adds %v to the square, nine add %v, want a ninth", one, nine)
	}
}

// TestIdleTasksIntervals: the interval is about the estimate in the logarithm, also for a
// task that leaves the GPU idle, whichever counter says so.
func TestIdleTasksIntervals(t *testing.T) {
	var m Predictor
	a, _ := profile.LookupGPU("H100-SXM5-80GB")
	b, _ := profile.LookupGPU("A100-40GB")
	for _, f := range []profile.Feature{profile.MeanGPUBusy, profile.MeanSMActive} {
		p := &profile.Profile{GPU: b}
		if err := p.Vector.Set(f, 0.5); err != nil {
			t.Fatal(err)
		}
		e, full := m.Ratio(p, &a, &b), m.Ratio(nil, &a, &b)
		if want := 1 / (0.5 + 0.5/full.Value); !(math.Abs(e.Value-want) <= 1e-9) || !(math.Abs(e.Hi/e.Value*e.Lo/e.Value-1) <= 1e-9) {
			t.Errorf("half busy by %v: %+v, want %v, where a busy task has %v", f, e, want, full.Value)
		}
	}
}

// TestSourcesTellTheDistance: beyond the cards of the data an estimate says how far; of a
// card of which nothing is known it is a prior and no more.
func TestSourcesTellTheDistance(t *testing.T) {
	s := *priorState()
	s.Rows, s.Lo, s.Hi = 9, flat("", 28).rates, flat("", 32).rates
	near, far, unknown := flat("near", 30), flat("far", 36), kind{name: "unknown", rates: middle}
	if e := s.ratio(nil, &far, &near); e.Source != (predict.Source{Kind: predict.Fitted, Distance: 3}) {
		t.Errorf("three half ranges off: %+v", e.Source)
	}
	for _, pair := range [][2]*kind{{&unknown, &far}, {&far, &unknown}} {
		if e := s.ratio(nil, pair[0], pair[1]); e.Source != (predict.Source{Kind: predict.Prior}) {
			t.Errorf("of an unknown card: %+v", e.Source)
		}
	}
	var noData Predictor
	if e := noData.load().ratio(nil, &far, &near); e.Source.Kind != predict.Prior {
		t.Errorf("without data: %+v", e.Source)
	}
}

// TestKnownByNameOrSize: a name is what a task is known by, whatever its layers; without
// one the number of parameters is.
func TestKnownByNameOrSize(t *testing.T) {
	of := func(name string, params float64) *profile.Profile {
		p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: name}}}
		if err := p.Vector.Set(profile.ParamCount, params); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		a, b *profile.Profile
		one  bool
	}{{of("net", 10), of("net", 20), true}, {of("", 10), of("", 10), true}, {of("", 10), of("", 20), false}, {of("net", 10), of("", 10), false}} {
		var m Predictor
		if err := m.Observe(Observation{Profile: c.a, GPU: profile.GPUModel{Name: "T4"}, Throughput: 5}); err != nil {
			t.Fatal(err)
		}
		if got := m.Seen(c.b) != nil; got != c.one {
			t.Errorf("%q is known as %q: %v", c.b.Spec.Model.Name, c.a.Spec.Model.Name, got)
		}
	}
}

// TestCardsOfATask: a card that was measured again has the mean, and how fast a task is on
// all cards says nothing.
func TestCardsOfATask(t *testing.T) {
	var c comparison
	c.profile = &profile.Profile{}
	for _, log := range []float64{1, 4, 7} {
		c.add(flat("a", 30), log)
	}
	c.add(flat("b", 29), 2)
	if len(c.trials) != 2 || c.trials[0].n != 3 || c.trials[0].log != 4 || c.trials[1].log != 2 {
		t.Errorf("%+v", c.trials)
	}
	s := *priorState()
	s.span([]comparison{c, {trials: []trial{{kind: kind{rates: rates{31, 20, 28, 33}}}}}})
	if s.Lo != (rates{29, 20, 28, 29}) || s.Hi != (rates{31, 30, 30, 33}) {
		t.Errorf("rates from %+v to %+v", s.Lo, s.Hi)
	}
	if k := kindOf(&profile.GPUModel{Name: "half told", FP32: 1e13}); k.known || k.rates != middle {
		t.Errorf("a card without a bandwidth: %+v", k)
	}
}

// TestClonesAndFiles: what one learns its clone does not, and a file has one order.
func TestClonesAndFiles(t *testing.T) {
	tell := func(m *Predictor, i int) {
		t.Helper()
		p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: fmt.Sprint("net", i)}}}
		if err := m.Observe(Observation{Profile: p, GPU: profile.GPUModel{Name: "T4"}, Throughput: 5}); err != nil {
			t.Fatal(err)
		}
	}
	var m Predictor
	tell(&m, 0)
	clone := m.Clone()
	for i := range 20 {
		tell(&m, i)
	}
	if n := len(clone.load().tasks); n != 1 {
		t.Errorf("a clone knows %d tasks, want 1", n)
	}
	if first := saved(t, &m); !bytes.Equal(first, saved(t, &m)) {
		t.Error("one model gives two files")
	}
	var mig, other MIGSpeed
	if !mig.Equal(&mig) || mig.Equal(&other) {
		t.Error("a model is itself alone")
	}
}

// TestMIGFitTakesEightRows, and speeds beyond that of the whole GPU count as that.
func TestMIGFitTakesEightRows(t *testing.T) {
	all := fakeTraffic(t, 4, 0, 1)
	var obs []MIGObservation
	for _, o := range all {
		if o.Slice.Compute < 7 {
			obs = append(obs, o)
		}
	}
	for rows, want := range map[int]predict.SourceKind{7: predict.Prior, 8: predict.Fitted} {
		m, err := FitMIGSpeed(obs[:rows], nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := m.Speed(obs[0].Profile, &obs[0].GPU, obs[0].Slice); err != nil || e.Source.Kind != want {
			t.Errorf("%d rows: %+v, %v, want %v", rows, e.Source, err, want)
		}
	}
	var files [2][]byte
	for i, speed := range []float64{1, 1.4} {
		rows, err := migRows(obs)
		if err != nil {
			t.Fatal(err)
		}
		o := *rows[3].MIGObservation
		o.Speed, rows[3].MIGObservation = speed, &o
		coef, err := migCoef(1<<migTraffic, rows)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = fmt.Append(nil, coef)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("a speed of 1 gives %s, of 1.4 %s", files[0], files[1])
	}
}

// TestMIGCoefIsTheMinimum of its documented sum: no coefficient, moved a little, lowers it.
func TestMIGCoefIsTheMinimum(t *testing.T) {
	rows, err := migRows(fakeTraffic(t, 6, 0.3, 4))
	if err != nil {
		t.Fatal(err)
	}
	const variant = 1<<migTraffic | 1<<migBusy
	coef, err := migCoef(variant, rows)
	if err != nil {
		t.Fatal(err)
	}
	cost := func() float64 {
		var sum float64
		for _, r := range rows {
			row := migRow(r.Profile, r.share, variant)
			left := 1/r.Speed - 1
			for j := range row {
				left -= row[j] * coef[j]
			}
			left *= r.Speed * r.Speed
			sum += left * left
		}
		for _, b := range coef {
			sum += 0.05 * b * 0.05 * b
		}
		return sum
	}
	least := cost()
	for j, b := range coef {
		for _, step := range []float64{-1e-3, 1e-3} {
			if coef[j] = max(0, b+step); cost() < least-1e-9 {
				t.Errorf("coefficient %d is %v; %v more costs %v, not %v", j, b, step, cost(), least)
			}
			coef[j] = b
		}
	}
}

// TestProbeErrors: a slice is probed on each other slice of the same task.
func TestProbeErrors(t *testing.T) {
	rows, err := migRows(fakeTraffic(t, 2, 0.2, 5))
	if err != nil {
		t.Fatal(err)
	}
	shares := make(map[share]bool)
	for _, r := range rows {
		shares[r.share] = true
	}
	if got := new(MIGSpeed).probeErrors(rows[0], rows); len(got) != len(shares)-1 {
		t.Errorf("%d probes on %d slices", len(got), len(shares))
	}
}
