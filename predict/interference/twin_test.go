package interference

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/profile"
)

// TestDriftTwin: what is remembered of measurements and their intervals is what weighing all of
// them anew gives: each counts by its share when it came, and less with every later one.
func TestDriftTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d drift
		var outside, off []float64
		all := rapid.IntRange(0, 70).Draw(t, "measurements")
		half, lean := rapid.Float64Range(0.1, 2).Draw(t, "half"), rapid.Float64Range(-3, 3).Draw(t, "lean")
		for range all {
			err := half * (lean + rapid.Float64Range(-2, 2).Draw(t, "error"))
			d.add(err, half)
			d.add(err, 0) // says nothing
			miss := 0.0
			if math.Abs(err) > half {
				miss = 1
			}
			outside, off = append(outside, miss), append(off, max(-3, min(3, err/half)))
		}
		misses, bias := 0.0, 0.0
		for i := range outside {
			share := 1 / float64(min(i+1, 32))
			for later := i + 1; later < len(outside); later++ {
				share *= 1 - 1/float64(min(later+1, 32))
			}
			misses, bias = misses+share*outside[i], bias+share*off[i]
		}
		if d.Seen != all || !(math.Abs(d.Misses-misses) <= 1e-9) || !(math.Abs(d.Bias-bias) <= 1e-9) {
			t.Fatalf("%+v; weighed anew: %d seen, misses %v, bias %v", d, all, misses, bias)
		}
		if near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }; near(math.Abs(bias), 0.5) || near(misses, 0.2) || near(misses, 0.1) {
			return // rounding decides
		}
		for _, confidence := range []float64{0.9, 0.95} {
			fault := DriftFault("")
			switch {
			case all < 16:
			case bias > 0.5:
				fault = SlowerThanPredicted
			case bias < -0.5:
				fault = FasterThanPredicted
			case misses > 2*(1-confidence):
				fault = OutsideIntervals
			}
			want := Drift{Observations: all, Misses: d.Misses, Bias: d.Bias, Fault: fault, Alarm: fault != ""}
			if got := d.told(confidence); got != want {
				t.Fatalf("told %+v, want %+v", got, want)
			}
		}
		without := 0.0 // any one of the last 32
		if all > 0 {
			without = math.Abs(bias) - 3/float64(min(all, 32))
		}
		if got, want := d.doubts(), all >= 16 && without > 0.5; got != want && !(math.Abs(without-0.5) < 1e-9) {
			t.Fatalf("doubted: %v; a bias of %v of %d, %v without the furthest", got, bias, all, without)
		}
	})
}

// TestAdaptTwin: intervals of types that were met since the fit become wider by each that is
// missed and narrower by the others, and never narrower than was calibrated nor wider than
// the most; lower ends go by misses below alone, within their own bounds.
func TestAdaptTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d drift
		risk := rapid.SampledFrom([]float64{0.05, 0.1}).Draw(t, "risk")
		wider, nearer, lean := 0.0, 0.0, rapid.Float64Range(-1, 1).Draw(t, "lean")
		for range rapid.IntRange(0, 60).Draw(t, "measurements") {
			err := lean + rapid.Float64Range(-2, 2).Draw(t, "error")
			slower, faster := rapid.Float64Range(0.5, 2).Draw(t, "below"), rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "above")
			level := rapid.IntRange(0, familiarities-1).Draw(t, "level")
			d.adapt(err, slower, faster, risk, level)
			if level == 0 || level >= 7 || faster == 0 {
				continue
			}
			step := [2]float64{-0.1 * risk, -0.05 * risk}
			if err > slower {
				step[0], step[1] = step[0]+0.1, step[1]+0.1
			} else if err < -faster {
				step[0] += 0.1
			}
			wider, nearer = max(0, min(math.Log(3), wider+step[0])), max(-3, min(0, nearer+step[1]))
		}
		if !(math.Abs(d.Wider-wider) <= 1e-9) || !(math.Abs(d.Nearer-nearer) <= 1e-9) {
			t.Fatalf("wider by %v, nearer by %v, want %v and %v", d.Wider, d.Nearer, wider, nearer)
		}
		for level := range familiarities {
			want := 1.0
			if level > 0 && level < 7 {
				want = math.Exp(wider)
			}
			if got := d.factor(level); !(math.Abs(got-want) <= 1e-9) {
				t.Fatalf("familiarity %d: times %v, want %v", level, got, want)
			}
		}
	})
}

// TestServerLawTwin: a server takes longer by what the other uses while it answers, and leaves it
// its GPU when it rests, and a part when it answers.
func TestServerLawTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(t, "mechanism")
		w := serverLawOf(mech)
		var server, other load
		server.serves = rapid.Float64Range(0.01, 1).Draw(t, "answers")
		server.sm = rapid.Float64Range(0, 1).Draw(t, "of the GPU")
		other.sm = rapid.SampledFrom([]float64{0, 0.02, 0.3, 1}).Draw(t, "the other's")
		busy := min(1, server.sm/server.serves)
		longer := w.stretched(&server, &other)
		if want := 1 + w.stretch*busy*other.sm; !(math.Abs(longer-want) <= 1e-12) {
			t.Fatalf("%v times as long, want %v", longer, want)
		}
		answers := min(1, server.serves*longer)
		room := max(0, w.room-w.give*busy/longer)
		want := 1.0
		if other.sm > 0 {
			want = 1 - answers + answers*min(1, room/other.sm)
		}
		if got := w.leaves(&server, &other, longer); !(math.Abs(got-want) <= 1e-12) {
			t.Fatalf("leaves a speed of %v, want %v", got, want)
		}
	})
}
