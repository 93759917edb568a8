package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// slowTail draws errors of families of types that were met since the fit: one of four is slow
// by far more than others are off. The same errors with the sign turned are fast.
func slowTail(rng *rand.Rand, families int) (errs [][]standardError) {
	for f := range families {
		scale := 0.1
		if rng.IntN(4) == 0 {
			scale = 0.5
		}
		var rows []standardError
		for range 40 {
			off := 0.1 * rng.NormFloat64()
			if off > 0 {
				off *= scale / 0.1
			}
			rows = append(rows, standardError{level: 2, group: string(rune('a' + f)), error: off})
		}
		errs = append(errs, rows)
	}
	return errs
}

// TestSlowerEnds: of families beyond those of the calibration as many have lower ends that hold
// for themselves, at half the risk, as slowFamilies says; those of errors to the other side
// are nearer, and neither moves upper ends or what measurements are judged by.
func TestSlowerEnds(t *testing.T) {
	const rounds, families, risk, sigma = 400, 12, 0.1, 0.1
	rng := rand.New(rand.NewPCG(51, 1))
	var hold int
	var ofSlow, ofFast float64
	for range rounds {
		drawn := slowTail(rng, families+1)
		var slow, fast []standardError
		for _, rows := range drawn[:families] {
			for _, e := range rows {
				slow = append(slow, e)
				e.error = -e.error
				fast = append(fast, e)
			}
		}
		a, b := spreadOf(slow, sigma, risk), spreadOf(fast, sigma, risk)
		if a.Factor != b.Factor || a.Usual != b.Usual {
			t.Fatalf("factors %v and %v of errors that differ by their sign", a, b)
		}
		if ofSlow, ofFast = ofSlow+a.Slower[2], ofFast+b.Slower[2]; a.Slower[2] < a.Factor[2] || b.Slower[2] < b.Factor[2] || a.Slower[0] != 0 || a.Slower[knownLevels] != 0 || a.Slower[3] != a.Slower[2] {
			t.Fatalf("lower ends %v of slow families, %v of fast ones, upper ends %v", a.Slower, b.Slower, a.Factor)
		}
		below := 0
		for _, e := range drawn[families] {
			if e.error > a.Slower[2]*a.Noise {
				below++
			}
		}
		if float64(below) <= risk/2*float64(len(drawn[families]))+1 { // one more, as a quantile of forty is rough
			hold++
		}
	}
	if ofSlow < 1.2*ofFast {
		t.Errorf("lower ends are as far off where families are slow as where they are fast: %.2f and %.2f", ofSlow/rounds, ofFast/rounds)
	}
	if share := float64(hold) / rounds; share < slowFamilies || share > 0.95 {
		t.Errorf("lower ends hold for %.2f of new families, want %v or somewhat more", share, slowFamilies)
	}
}

// TestLowerEndsComeNearer: while nothing is below them lower ends come as near as upper ends are,
// and no nearer; with half of what may be missed below them they stay.
func TestLowerEndsComeNearer(t *testing.T) {
	const risk, level = 0.1, 2
	r := regime{spread: priorSpread()}
	r.spread.Slower[level] = 3 * priorFactor
	ends := func() (slower, faster float64) { return r.halves(0, level, 2) }
	observe := func(times int, part float64) {
		for range times {
			slower, faster := ends()
			r.drift.adapt(part*slower, slower, faster, risk, level)
		}
	}
	slower, faster := ends()
	if !(math.Abs(slower-3*faster) <= 1e-12) {
		t.Fatalf("ends %v and %v", slower, faster)
	}
	observe(19, 0.1)
	observe(1, 1.01)
	if again, _ := ends(); !(again <= slower*math.Exp(r.drift.Wider)*(1+1e-9)) || !(again >= slower*0.99) {
		t.Errorf("after one of twenty was below it the lower end is at %v, was at %v", again, slower)
	}
	last := math.Inf(1)
	for range 400 {
		observe(1, 0.1)
		now, upper := ends()
		if now > last || now < upper {
			t.Fatalf("nothing is below it and it goes from %v to %v, the upper end is at %v", last, now, upper)
		}
		last = now
	}
	if now, upper := ends(); now != upper || upper != faster {
		t.Errorf("in the end %v and %v, want %v", now, upper, faster)
	}
}

// TestLowerEndsAlone: a factor for lower ends moves these and no upper end, of types that were
// met since the fit and of no others, under either mechanism; misses are counted by it.
func TestLowerEndsAlone(t *testing.T) {
	tasks := madeTasks(t, 8)
	for _, mechanism := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		var m Predictor
		rng := rand.New(rand.NewPCG(52, 1))
		for range 20 {
			o := made(tasks[rng.IntN(4)], tasks[rng.IntN(4)], rng)
			o.Mechanism = mechanism
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		r := *m.load().regimes[0]
		r.drift.Wider, r.drift.Nearer = 0, 0
		met, stranger := gather(&r, []*profile.Profile{tasks[0], tasks[1]}), gather(&r, []*profile.Profile{tasks[0], fakeTask(t, "new", 8, 0.5, 0.5, 0.5)})
		was, wasStranger := r.estimate(met, 0, true), r.estimate(stranger, 0, true)
		for level := 1; level < knownLevels; level++ {
			r.spread.Slower[level] = 1.5 * r.spread.Factor[level]
		}
		now := r.estimate(met, 0, true)
		if now.Value != was.Value || now.Hi != was.Hi || !(now.Lo < was.Lo) || r.estimate(stranger, 0, true) != wasStranger {
			t.Errorf("%v: %+v, before %+v", mechanism, now, was)
		}
		off := r.curve().off(now.Lo, r.loss(met.set, 0, true))
		for _, part := range []float64{0.99, 1.01} {
			d := drift{}
			variance, level := r.doubt(met.set, 0, r.loss(met.set, 0, true), &met.row)
			slower, faster := r.halves(variance, level, 2)
			d.adapt(part*off, slower, faster, 0.1, level)
			if near := d.Nearer < 0; near != (part < 1) {
				t.Errorf("%v: %.2f of the way to the lower end brings it nearer: %t", mechanism, part, near)
			}
			if missed := d.Wider > 0; missed != (part > 1) {
				t.Errorf("%v: %.2f of the way to the lower end is missed: %t", mechanism, part, missed)
			}
		}
	}
}
