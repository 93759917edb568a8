package lifetime

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

const minute, hour = 60_000, 3600_000

// slowLeft says what a curve says, from those that ended alone, one by one.
func slowLeft(ended []int64, done int64) (mean, price float64) {
	price = math.Inf(1)
	n := 0.0
	for _, x := range ended {
		if x > done {
			n++
			mean += float64(x - done)
		}
	}
	for _, until := range edges {
		if until <= done {
			continue
		}
		ran, over := 0.0, 0.0
		for _, x := range ended {
			if x > done {
				ran += float64(min(x, until) - done)
			}
			if x > done && x <= until {
				over++
			}
		}
		if over > 0 {
			price = min(price, ran/over)
		}
	}
	return mean / n, price
}

// TestLeftAgainstSlowTwin: what is left agrees with the mean over those that ended later,
// and the price with the best of all times for which a task may be tried, as closely as
// spans tell times apart.
func TestLeftAgainstSlowTwin(t *testing.T) {
	var rng *rand.Rand
	draws := map[string]func() float64{
		"heavy tail": func() float64 { return minute * math.Pow(rng.Float64(), -1.2) },
		"two sorts":  func() float64 { return []float64{2 * minute, 90 * hour}[rng.IntN(5)/4] },
		"equal":      func() float64 { return 5 * hour },
		"lognormal":  func() float64 { return hour * math.Exp(2*rng.NormFloat64()) },
	}
	for name, draw := range draws {
		rng = rand.New(rand.NewPCG(1, 2))
		var ended []int64
		var counted, open counts
		for range 400 {
			x := int64(draw())
			ended = append(ended, x)
			counted[span(x)]++
		}
		c := fit(&counted, &open, prior(hour), 1e-9)
		for at := range spans {
			done := edges[at]
			mean, price := slowLeft(ended, done)
			if math.IsNaN(mean) {
				continue
			}
			gotMean, gotPrice := c.after(done)
			if far := math.Abs(gotMean - mean); far > 0.12*(mean+float64(done)) {
				t.Errorf("%s, after %d ms: %.0f ms are left, want %.0f", name, done, gotMean, mean)
			}
			if far := math.Abs(gotPrice - price); far > 0.12*(price+float64(done)) {
				t.Errorf("%s, after %d ms: the price is %.0f ms, want %.0f", name, done, gotPrice, price)
			}
		}
	}
}

// TestNothingKnown: an hour, and then as long again as a task has had.
func TestNothingKnown(t *testing.T) {
	var l Lives
	l.Begin()
	for _, done := range []int64{0, hour / 4, hour, 30 * hour, 1 << 38, 1 << 50} {
		mean, price := l.Left("", done)
		if want := float64(done + hour); done < 1<<38 && math.Abs(float64(mean)-want) > 0.1*want {
			t.Errorf("after %d ms %d are left, want %.0f", done, mean, want)
		}
		if price < 1 || price > mean {
			t.Errorf("after %d ms the price is %d, what is left %d", done, price, mean)
		}
	}
}

// TestOpen: those that run on say that tasks are longer than those that ended.
func TestOpen(t *testing.T) {
	var l Lives
	for range 10 {
		l.End("", minute)
	}
	l.Begin()
	without, _ := l.Left("", 0)
	for range 10 {
		l.Open("", hour)
	}
	l.Begin() // a new decision forgets them
	again, _ := l.Left("", 0)
	for range 10 {
		l.Open("", hour)
	}
	l.total = nil
	with, _ := l.Left("", 0)
	if without != again || without > 10*minute || with < hour/2 {
		t.Errorf("%d ms are left, %d after Begin, %d with ten that have run for an hour", without, again, with)
	}
}

// TestKinds: one end says all of a kind where kinds have a length each, and next to nothing
// where they do not.
func TestKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var apart, alike Lives
	for i := range 200 {
		kind := i % 8
		apart.End(strconv.Itoa(kind), int64(minute<<kind))
		alike.End(strconv.Itoa(kind), int64(minute<<rng.IntN(8)))
	}
	apart.End("new", 20*hour)
	alike.End("new", 20*hour)
	apart.Begin()
	alike.Begin()
	if mean, _ := apart.Left("new", 0); mean < 15*hour || mean > 25*hour {
		t.Errorf("where kinds differ, one that took 20 h once takes %v h", float64(mean)/hour)
	}
	if mean, _ := alike.Left("new", 0); mean > 4*hour {
		t.Errorf("where kinds do not differ, one that took 20 h once takes %v h", float64(mean)/hour)
	}
}

// TestForgets: old ends count less and less, and kinds of which none is open are dropped
// when there are too many.
func TestForgets(t *testing.T) {
	var l Lives
	for range aged {
		l.End("", 50*hour)
	}
	for range 4 * aged {
		l.End("", minute)
	}
	l.Begin()
	if mean, _ := l.Left("", 0); mean > 4*hour {
		t.Errorf("after %d that took a minute, one takes %d ms, want less than a tenth of what older ones took", 4*aged, mean)
	}
	for i := range maxKinds + 1 {
		l.End(strconv.Itoa(i), minute)
	}
	l.Open("7", hour)
	l.Begin()
	if len(l.kinds) != 1 || l.of("7") == nil || l.of("8") != nil {
		t.Errorf("%d kinds are left, want that of the task that is open", len(l.kinds))
	}
}

// BenchmarkLeft: one decision with 1,000 tasks of 50 kinds, of which 10,000 ended.
func BenchmarkLeft(b *testing.B) {
	var l Lives
	for i := range 10000 {
		l.End(strconv.Itoa(i%50), int64(minute*(1+i%977)))
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Begin()
		for i := range 1000 {
			l.Open(strconv.Itoa(i%50), int64(i*minute/10))
		}
		for i := range 1000 {
			l.Left(strconv.Itoa(i%50), int64(i*minute/10))
		}
	}
}
