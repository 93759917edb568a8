package lifetime

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// near reports whether two numbers differ by rounding alone.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(math.Abs(a)+math.Abs(b)) }

// TestCurveIsATableOfMortality: who ends in a span, of those that reach it and are there
// for half of it, with another curve beside them; what is left from each span on; and the
// least price over all times for which a task may be tried.
func TestCurveIsATableOfMortality(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		var ended, open counts
		for range rng.IntN(60) {
			ended[rng.IntN(spans)]++
			open[rng.IntN(spans)] += float64(rng.IntN(2))
		}
		weight := 0.1 + rng.Float64()
		like := prior(hour)
		c := fit(&ended, &open, like, weight)
		if want := float64(edges[spans]) + hour; !near(c.left[spans], want) || !near(like.left[spans], want) {
			t.Fatalf("%v ms are left beyond all spans, %v by the other curve, want %v", c.left[spans], like.left[spans], want)
		}
		alive, rest := [spans + 2]float64{1}, [spans + 2]float64{}
		for i := range spans {
			reach := 0.0
			for k := i; k < spans; k++ {
				reach += ended[k] + open[k]
			}
			if want := (ended[i] + weight*like.ends[i]) / (reach - open[i]/2 + weight); !near(c.ends[i], want) {
				t.Fatalf("span %d: %v end, want %v", i, c.ends[i], want)
			}
			alive[i+1] = alive[i] * (1 - c.ends[i])
			// Those that end in a span end in its middle.
			if want := float64(edges[i+1]-edges[i])*(1-c.ends[i]/2) + (1-c.ends[i])*c.left[i+1]; !near(c.left[i], want) {
				t.Fatalf("span %d: %v ms are left, want %v", i, c.left[i], want)
			}
		}
		for i := range spans + 1 {
			rest[i] = alive[i] * c.left[i]
		}
		for i := range spans + 1 {
			least := math.Inf(1)
			for j := i + 1; j <= spans+1; j++ {
				least = min(least, (rest[i]-rest[j])/(alive[i]-alive[j]))
			}
			if math.Abs(c.prices[i]-least) > 1e-6*least {
				t.Fatalf("span %d: the price is %v, want %v", i, c.prices[i], least)
			}
		}
	}
}

// TestAfterWithinASpan: at its ends what is left and the price are those of the spans, and
// between them between those, also beyond the last.
func TestAfterWithinASpan(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var ended, open counts
	for range 200 {
		ended[rng.IntN(spans)]++
	}
	c := fit(&ended, &open, prior(hour), 1)
	for i := range spans - 1 {
		mean, price := c.after(edges[i])
		if !near(mean, c.left[i]) || !near(price, min(c.prices[i], c.left[i])) {
			t.Errorf("span %d: %v ms at %v, want %v at %v", i, mean, price, c.left[i], c.prices[i])
		}
		_, price = c.after((edges[i] + edges[i+1]) / 2)
		if low, high := min(c.prices[i], c.prices[i+1]), max(c.prices[i], c.prices[i+1]); price < low-1 || price > high+1 {
			t.Errorf("span %d: %v in its middle, want from %v to %v", i, price, low, high)
		}
	}
	for _, done := range []int64{edges[spans], edges[spans] + 1, 1 << 60} {
		if mean, price := c.after(done); !near(mean, c.left[spans]) || !near(price, min(c.prices[spans], mean)) {
			t.Errorf("after %d ms: %v ms at %v, want %v at %v", done, mean, price, c.left[spans], c.prices[spans])
		}
	}
}

// TestEndsAddUp: when old ends have come to count less, all that is known of them agrees.
func TestEndsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var l Lives
	for n := range 3*aged + 5 {
		l.End("a", rng.Int64N(1<<(12+n%20)))
		if n != aged && n != 3*aged+4 {
			continue
		}
		f := l.of("a")
		count, sum, squares, work := 0.0, 0.0, 0.0, 0.0
		for k, d := range f.ended {
			count, sum, squares = count+d, sum+float64(k)*d, squares+float64(k*k)*d
			work += d * float64(edges[k])
		}
		if !near(count, f.n) || !near(sum, f.sum) || !near(squares, f.squares) || f.work < work || f.work > 1.3*work {
			t.Fatalf("after %d ends: %v, %v, %v and %v ms; the spans say %v, %v, %v and %v ms or some more", n+1, f.n, f.sum, f.squares, f.work, count, sum, squares, work)
		}
		if f.n > aged || n == aged && !near(f.n, aged/2+1) {
			t.Fatalf("%d ends count like %v", n+1, f.n)
		}
	}
}

// TestEachDecisionAnew: what is said depends on who has ended and who is open now, not on
// what was asked before.
func TestEachDecisionAnew(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	type event struct {
		kind string
		done int64
	}
	draw := func() event { return event{strconv.Itoa(rng.IntN(4)), rng.Int64N(1 << (12 + rng.IntN(20)))} }
	var l Lives
	var ended []event
	for range 30 {
		var open []event
		for range rng.IntN(5) {
			ended = append(ended, draw())
			l.End(ended[len(ended)-1].kind, ended[len(ended)-1].done)
		}
		for range rng.IntN(5) {
			open = append(open, draw())
		}
		var fresh Lives
		for _, e := range ended {
			fresh.End(e.kind, e.done)
		}
		for _, lives := range []*Lives{&l, &fresh} {
			lives.Begin()
			for _, e := range open {
				lives.Open(e.kind, e.done)
			}
		}
		for range 10 {
			e := draw()
			mean, price := l.Left(e.kind, e.done)
			if m, p := fresh.Left(e.kind, e.done); mean != m || price != p {
				t.Fatalf("kind %s after %d ms: %d ms at %d, and %d at %d to one who asks for the first time", e.kind, e.done, mean, price, m, p)
			}
		}
	}
}

// TestOpenOfAKind: tasks of a kind that run on say that those of this kind are longer.
func TestOpenOfAKind(t *testing.T) {
	left := func(open string) int64 {
		var l Lives
		for i := range 40 {
			l.End([]string{"a", "b"}[i%2], []int64{minute, 50 * hour}[i%2])
		}
		l.Begin()
		for range 20 {
			l.Open(open, 10*hour)
		}
		mean, _ := l.Left("a", 0)
		return mean
	}
	if of, other := left("a"), left("b"); of < 2*other {
		t.Errorf("%d ms are left where twenty of the kind run on, %d where they are of another", of, other)
	}
}

// TestBeyondAllThatEnded: of a task that has run for longer than all is left as long again,
// and what they took on average.
func TestBeyondAllThatEnded(t *testing.T) {
	var l Lives
	for range 5 {
		l.End("", 1000*hour)
	}
	l.Begin()
	if mean, _ := l.Left("", 2000*hour); math.Abs(float64(mean)-3000*hour) > 300*hour {
		t.Errorf("%v h are left, want about 3000", float64(mean)/hour)
	}
}

// TestAlike: how far apart ends of one kind are, over how far apart kinds are, from 1/64 to 64.
func TestAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for n := range 40 {
		var l Lives
		of := map[string][]float64{}
		var all []float64
		for range 2 + n/4 {
			kind, at := strconv.Itoa(rng.IntN(3)), 20+rng.IntN(40)
			l.End(kind, edges[at])
			of[kind], all = append(of[kind], float64(at)), append(all, float64(at))
		}
		total := spread(all) / float64(len(all)-1)
		within, free := total/2, 1.0 // one that is half way
		for _, ends := range of {
			within, free = within+spread(ends), free+float64(len(ends)-1)
		}
		want := 1.0
		if within = min(total, within/free); total > 0 {
			want = max(1.0/64, within/max(total-within, total/64))
		}
		if got := l.alike(); !near(got, want) {
			t.Fatalf("%v: all others count like %v of a kind, want %v", of, got, want)
		}
	}
}

// spread is the sum of the squared distances from the mean.
func spread(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
