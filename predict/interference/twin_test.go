package interference

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict/internal/lsq"
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

// TestTrialsTwin: of each set of named tasks trials tell the median of the newest five speeds of each type, and of no
// other set; what is known of none is none.
func TestTrialsTwin(t *testing.T) {
	named := func(name string) *profile.Profile {
		return &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: name}}}
	}
	kinds := []*profile.Profile{named("a"), named("b"), named("c"), named("d"), named(""), nil}
	set := rapid.SliceOfN(rapid.SampledFrom(kinds), 2, 4)
	letters := func(set []*profile.Profile) string {
		var all []string
		for _, p := range set {
			if p == nil || p.Spec.Model.Name == "" {
				return ""
			}
			all = append(all, p.Spec.Model.Name)
		}
		slices.Sort(all)
		return strings.Join(all, "")
	}
	rapid.Check(t, func(t *rapid.T) {
		var all []*Observation
		for range rapid.SampledFrom([]int{0, 1, 2, 12, 30}).Draw(t, "co-runs") {
			o := &Observation{Set: set.Draw(t, "set")}
			for range o.Set {
				v := profile.Opt[float64]{}
				if rapid.IntRange(0, 3).Draw(t, "measured") > 0 {
					v = profile.Some(float64(rapid.IntRange(1, 8).Draw(t, "speed")) / 8)
				}
				o.Speeds = append(o.Speeds, v)
			}
			all = append(all, o)
		}
		told := map[string]map[string][]float64{} // by set and type: the newest first
		for _, o := range slices.Backward(all) {
			key := letters(o.Set)
			sums, counts := map[string]float64{}, map[string]float64{}
			for i, v := range o.Speeds {
				if speed, ok := v.Get(); ok && key != "" {
					sums[o.Set[i].Spec.Model.Name] += speed
					counts[o.Set[i].Spec.Model.Name]++
				}
			}
			if len(counts) > 0 && told[key] == nil {
				told[key] = map[string][]float64{}
			}
			for name, n := range counts {
				told[key][name] = append(told[key][name], sums[name]/n)
			}
		}
		speedOf := func(key, name string) profile.Opt[float64] {
			v := slices.Clone(told[key][name])
			v = v[:min(len(v), 5)]
			if len(v) == 0 {
				return profile.Opt[float64]{}
			}
			slices.Sort(v)
			return profile.Some((v[(len(v)-1)/2] + v[len(v)/2]) / 2)
		}
		at := rapid.IntRange(0, len(all)).Draw(t, "of the fit")
		trials := trialsOf(all[:at], all[at:])
		if got := trials.None(); got != (len(told) == 0) {
			t.Fatalf("none: %v; %d sets were measured", got, len(told))
		}
		for _, p := range kinds {
			for _, q := range kinds {
				own, other := trials.With(p).Beside(q)
				var wantOwn, wantOther profile.Opt[float64]
				if key := letters([]*profile.Profile{p, q}); key != "" {
					wantOwn, wantOther = speedOf(key, p.Spec.Model.Name), speedOf(key, q.Spec.Model.Name)
				}
				if own != wantOwn || other != wantOther {
					t.Fatalf("%v beside %v: %v, %v; want %v, %v", p, q, own, other, wantOwn, wantOther)
				}
			}
		}
		asked := rapid.SliceOfN(rapid.SampledFrom(kinds), 2, 5).Draw(t, "asked")
		have := map[string]int{}
		for _, p := range asked {
			have[letters([]*profile.Profile{p})]++
		}
		var want, got []string
		for key := range told {
			needs := map[string]int{}
			for name := range strings.SplitSeq(key, "") {
				needs[name]++
			}
			fits := len(key) > 2
			for name, n := range needs {
				fits = fits && have[name] >= n
			}
			if fits {
				var speeds []profile.Opt[float64]
				for name := range strings.SplitSeq(key, "") {
					speeds = append(speeds, speedOf(key, name))
				}
				want = append(want, fmt.Sprint(key, speeds))
			}
		}
		trials.Larger(asked, func(places []int, speeds []profile.Opt[float64]) {
			var part []*profile.Profile
			for k, i := range places {
				if part = append(part, asked[i]); slices.Contains(places[:k], i) {
					t.Fatalf("places %v", places)
				}
			}
			got = append(got, fmt.Sprint(letters(part), speeds))
		})
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("of %v there were measured %v, want %v", asked, got, want)
		}
	})
}

// TestFitKeepsTrials: what was fitted is what was measured, too.
func TestFitKeepsTrials(t *testing.T) {
	m, tasks, obs := fittedWorld(t)
	own, _ := m.Trials(rtx3090(t), profile.TimeSlice).With(tasks[0]).Beside(tasks[1])
	if want := obs[1].Speeds[0]; own != want {
		t.Errorf("trials say %v, want %v", own, want)
	}
}

// TestNewPriorTwin: what is known of a mechanism is the mean of what all GPUs with rows say of it, each default counted as one
// more: of terms and of the intercept those whose rows have an observed use, of the other intercept those without one.
// An effect of which a GPU knows nothing is 0 there.
func TestNewPriorTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(t, "mechanism")
		slopes := defaultSlopes(mech)
		sum, count := map[string]float64{}, map[string]float64{"seen": 1, "unseen": 1}
		sum["unseen"] = unseenLoss
		for k, v := range slopes {
			sum[fmt.Sprint("term", k)] = v
		}
		var fitted []*regime
		known := 0.0
		for range rapid.IntRange(0, 4).Draw(t, "GPUs") {
			r := &regime{regimeKey: regimeKey{mechanism: rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(t, "of")}, roster: &roster{}, base: &lsq.Sums{}}
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "types") {
				r.roster = r.roster.with(taskType{model: name}, true)
			}
			columns := r.roster.columns()
			r.base.Grow(columns)
			r.base.N = float64(rapid.IntRange(0, 2).Draw(t, "rows"))
			saw := [2]bool{rapid.Bool().Draw(t, "use"), rapid.Bool().Draw(t, "no use")}
			for column, is := range map[int]bool{interceptColumn: saw[0], unseenColumn: saw[1]} {
				if is {
					r.base.H[lsq.PackedLen(column)+column] = 1
				}
			}
			r.post = &lsq.Posterior{}
			for range columns {
				r.post.Coef = append(r.post.Coef, rapid.Float64Range(-1, 1).Draw(t, "coefficient"))
			}
			fitted = append(fitted, r)
			if r.mechanism != mech || r.base.N == 0 {
				continue
			}
			known++
			if saw[0] {
				count["seen"]++
				sum["seen"] += r.post.Coef[interceptColumn]
				for k := range slopes {
					sum[fmt.Sprint("term", k)] += r.post.Coef[termColumns+k]
				}
			}
			if saw[1] {
				count["unseen"]++
				sum["unseen"] += r.post.Coef[unseenColumn]
			}
			for e, x := range r.roster.effects {
				sum["own "+x.String()] += r.post.Coef[effectColumns+2*e]
				sum["other "+x.String()] += r.post.Coef[effectColumns+2*e+1]
			}
		}
		prior := newPrior(mech, fitted)
		check := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-9) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		check("intercept", prior.mu[interceptColumn], sum["seen"]/count["seen"])
		check("intercept without use", prior.mu[unseenColumn], sum["unseen"]/count["unseen"])
		for k := range slopes {
			check("term", prior.mu[termColumns+k], sum[fmt.Sprint("term", k)]/count["seen"])
		}
		for e, x := range prior.roster.effects {
			if x.all {
				continue
			}
			check("own effect", prior.mu[effectColumns+2*e], sum["own "+x.String()]/known)
			check("effect on others", prior.mu[effectColumns+2*e+1], sum["other "+x.String()]/known)
		}
	})
}
