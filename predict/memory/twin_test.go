package memory

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// slow is a Predictor that keeps all that it was told and goes through it again for every
// answer. What the fit says of a task it takes from a model that learns nothing.
type slow struct {
	fit  *Predictor
	all  []Observation
	then []known // of each, what was known before
}

func (s *slow) observe(o *Observation) {
	s.then = append(s.then, s.ask(&o.Spec, o.Host, len(s.all)))
	s.all = append(s.all, *o)
}

// known is what a slow model makes of its observations for one task.
type known struct {
	chosen
	host   float64 // the context, and whether anything tells it
	told   bool
	runs   int
	offset float64
	scores []float64 // of the part of the task
	peak   float64   // the prediction, without what was measured of the task
	rest   float64
	around float64 // the spread
	seen   Seen
}

func sameTask(a, b *profile.Spec) bool {
	if a.Model.Name == "" && !slices.Equal(a.Model.Layers, b.Model.Layers) {
		return false
	}
	return sameModel(a, b) && a.Training.BatchSize == b.Training.BatchSize && a.Training.Checkpointing == b.Training.Checkpointing
}

func sameModel(a, b *profile.Spec) bool {
	return a.Model.Name == b.Model.Name && a.Dataset.Name == b.Dataset.Name && a.Training.Precision == b.Training.Precision && a.Training.Optimizer == b.Training.Optimizer
}

// ask answers for a task on a host after the first n observations.
func (s *slow) ask(spec *profile.Spec, on predict.Host, n int) known {
	k := known{chosen: s.fit.choose(spec)}
	k.scores = slices.Clone(k.chosen.scores.Scores)
	k.host = k.context
	for _, h := range s.fit.hosts {
		if h.Name == on.Name {
			k.told = true
			if h.Context > 0 {
				k.host = h.Context
			}
		}
	}
	var most, died, assumed float64 // of deaths that were measured, and of others
	for i := range n {
		o := &s.all[i]
		if sameTask(&o.Spec, spec) {
			peak := float64(o.Peak)
			switch {
			case o.Assumed && (o.Offer <= o.Peak || 1.25*peak < float64(o.Offer)):
				assumed = max(assumed, 1.25*peak)
			case o.Assumed:
				assumed = max(assumed, float64(o.Offer))
			case o.Censored:
				most, died = max(most, peak), max(died, 1.1*peak)
			default:
				k.seen.Peak, assumed, died = max(k.seen.Peak, o.Peak), 0, 0
			}
		}
		if o.Assumed {
			continue
		}
		then := &s.then[i]
		if o.Censored && then.peak >= float64(o.Peak) {
			continue
		}
		if then.part == k.part && then.kind == predict.Fitted && then.chosen.scores == k.chosen.scores && then.chosen.scores != &then.part.Strange {
			k.scores = append(k.scores, math.Log(float64(o.Peak)/then.peak)/then.around)
		}
		off, context := max(-2*float64(profile.GiB), min(2*float64(profile.GiB), float64(o.Peak)-then.peak)), then.host
		_, measured := o.Host.Context.Get()
		if !measured && o.Host.Name != "" && !o.Censored {
			context += off
			if then.told {
				context = then.host + off/float64(s.rows(o.Host.Name, i)+3)
			}
			context = max(1, context)
			if o.Host.Name == on.Name {
				k.host, k.told = context, true
			}
		}
		if spec.Model.Name != "" && sameModel(&o.Spec, spec) && then.rest > 0 {
			need := max(float64(o.Peak)-context, then.rest/8)
			full := then.offset*weightOf(then.runs) + max(-2, min(2, math.Log(need/then.rest)))
			k.offset = (k.offset*float64(k.runs) + full) / float64(k.runs+1)
			k.runs++
		}
	}
	if c, ok := on.Context.Get(); ok {
		k.host, k.told = float64(c), true
	}
	k.rest = k.chosen.rest * math.Exp(k.offset*weightOf(k.runs))
	k.peak = k.host + k.rest
	k.around = k.spread
	if k.runs > 0 {
		k.around = max(k.spread/math.Sqrt(float64(1+k.runs)), min(k.spread, 0.005))
	}
	k.seen.Reached, k.seen.Raised, k.seen.Runs, k.seen.Factor = profile.BytesOf(most), profile.BytesOf(max(assumed, died)), k.runs, math.Exp(k.offset*weightOf(k.runs))
	k.seen.Least = max(k.seen.Reached, k.seen.Raised, profile.BytesOf(1.02*float64(k.seen.Peak)))
	return k
}

// rows is of how many tasks the context of a host is, by the first n observations and the fit.
func (s *slow) rows(name string, n int) (rows int) {
	for _, h := range s.fit.hosts {
		if h.Name == name {
			rows = h.Rows
		}
	}
	for i := range n {
		o := &s.all[i]
		if _, measured := o.Host.Context.Get(); !measured && o.Host.Name == name && !o.Censored {
			rows++
		}
	}
	return rows
}

func weightOf(runs int) float64 { return float64(runs) / (float64(runs) + 0.5) }

// reserve is what is set aside at a risk, and the ends of the interval of 90 %.
func (k *known) reserve(risk float64) float64 {
	if k.part == &blindPrior && k.runs == 0 {
		if k.seen.Peak > 0 {
			return float64(k.seen.Least)
		}
		return math.MaxInt64
	}
	return max(float64(k.seen.Least), k.end(conformal.New(k.scores).Upper(risk))+k.doubt(400))
}

// doubt is what nobody knows of the host's stack, in MiB.
func (k *known) doubt(most float64) float64 {
	if k.told {
		return 0
	}
	return most * float64(profile.MiB)
}

func (k *known) end(score float64) float64 {
	fitted := k.context + k.rest
	return max(k.host/2, k.host-k.context+fitted*math.Exp(max(-10, min(10, score*k.around))))
}

// TestSlowTwin: whatever a model was told, it says what one does that goes through it all
// again: of tasks, their models at other batches, hosts and reservations.
func TestSlowTwin(t *testing.T) {
	fit := fitMadeUp(t)
	base := madeUp(3, profile.CNN, 61)
	rapid.Check(t, func(t *rapid.T) {
		var specs []profile.Spec
		for i, name := range []string{"net", "net", "other", ""} {
			spec := base[i%3].Spec
			spec.Model.Name = name
			if i == 1 {
				spec = specs[0]
				spec.Training.BatchSize *= 2
			}
			specs = append(specs, spec)
		}
		specs = append(specs, profile.Spec{Model: profile.Model{Name: "bare"}, Training: profile.Training{BatchSize: 4}})
		hosts := []predict.Host{{}, {Name: "lab"}, {Name: "new"}, {Name: "told", Context: profile.Some(profile.GiB)}}
		m, twin := fit.Clone(), &slow{fit: fit.Clone()}
		for n := range rapid.IntRange(1, 5).Draw(t, "observations") + 1 {
			for i := range specs {
				on := hosts[(i+n)%len(hosts)]
				want := twin.ask(&specs[i], on, n)
				e, err := m.Peak(&specs[i], on)
				if err != nil {
					t.Fatal(err)
				}
				near := func(what string, got, want float64) {
					t.Helper()
					if !(math.Abs(got-want) <= 1e-6*math.Abs(want)+2) {
						t.Fatalf("task %d on %+v after %d observations: %s %.0f, by all of them %.0f", i, on, n, what, got, want)
					}
				}
				value := max(want.peak, float64(want.seen.Peak), float64(want.seen.Reached))
				near("peak", e.Value, value)
				near("lower end", e.Lo, min(want.peak, max(want.held, want.end(conformal.New(want.scores).Lower(0.05))-want.doubt(1200))))
				high := max(want.peak, want.end(conformal.New(want.scores).Upper(0.05))+want.doubt(400))
				if want.part == &blindPrior && want.runs == 0 && want.seen.Peak == 0 {
					high = math.MaxInt64
				}
				near("upper end", e.Hi, max(high, value, float64(want.seen.Least)))
				for _, risk := range []float64{0.01, 0.3} {
					got, err := m.Reserve(&specs[i], on, risk)
					if err != nil {
						t.Fatal(err)
					}
					near("reservation", float64(got), want.reserve(risk))
				}
				seen := m.Seen(&specs[i], 0)
				near("factor in millionths", 1e6*seen.Factor, 1e6*want.seen.Factor)
				near("least", float64(seen.Least), float64(want.seen.Least))
				near("raised", float64(seen.Raised), float64(want.seen.Raised))
				if seen.Runs != want.seen.Runs || seen.Peak != want.seen.Peak || seen.Reached != want.seen.Reached {
					t.Fatalf("task %d: seen %+v, by all of them %+v", i, seen, want.seen)
				}
				kind := want.kind
				beyond := max(float64(want.seen.Peak), float64(want.seen.Reached))/want.peak - 1
				if want.runs > 0 || beyond > 1e-5 {
					kind = predict.Measured
				}
				if e.Source.Kind != kind && math.Abs(beyond) > 1e-5 { // rounding decides
					t.Fatalf("task %d: source %v, want %v", i, e.Source.Kind, kind)
				}
			}
			o := Observation{Spec: rapid.SampledFrom(specs).Draw(t, "task"), Host: rapid.SampledFrom(hosts).Draw(t, "host")}
			e, err := m.Peak(&o.Spec, o.Host)
			if err != nil {
				t.Fatal(err)
			}
			o.Peak = profile.BytesOf(e.Value * rapid.SampledFrom([]float64{0.06, 0.45, 0.9, 1.1, 2, 20}).Draw(t, "share of the prediction")) // none undoes another: rounding would decide who learns
			o.Censored = rapid.Bool().Draw(t, "died")
			if o.Assumed = o.Censored && rapid.Bool().Draw(t, "assumed"); o.Assumed {
				o.Offer = profile.BytesOf(float64(o.Peak) * rapid.SampledFrom([]float64{0, 1, 1.1, 2}).Draw(t, "share of the offer"))
			}
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
			twin.observe(&o)
		}
	})
}

// TestPointTwin: what a part says of a task is the sum of its terms and the residual, as its
// documentation has it, whatever the part and the task.
func TestPointTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		spec.Traced.AfterBackward = rapid.SampledFrom([]profile.Opt[profile.Bytes]{{}, profile.Some(profile.GiB), profile.Some(30 * profile.GiB)}).Draw(t, "backward")
		var d task
		if d.describe(&spec); rapid.Bool().Draw(t, "by its run") {
			d.describeTraced(&spec)
		}
		draw := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
		p := &part{Flat: draw("spread", 0.001, 1), Groups: rapid.SampledFrom([]int{1, manyGroups - 1, manyGroups}).Draw(t, "groups"), Coef: []float64{draw("context", 0, 4e9)}}
		for j := 1; j < d.n; j++ {
			p.Coef = append(p.Coef, draw("coefficient", 0, 3))
		}
		says := 0.0
		if rapid.Bool().Draw(t, "with a residual") {
			says = draw("residual", -2, 2)
			p.Residual = &trees.Ensemble{Columns: featureCount, Base: says}
		}
		for _, v := range d.x[:d.used] {
			low := v * draw("range from", 0, 2)
			p.Lo, p.Hi = append(p.Lo, low), append(p.Hi, low+1+math.Abs(v)*draw("range to", 0, 2))
		}
		stranger := rapid.Bool().Draw(t, "stranger")
		own := d.fixed
		for j := 1; j < d.n; j++ {
			own += p.Coef[j] * d.terms[j]
		}
		if stranger {
			says /= 2
		}
		want := point{context: p.Coef[0], rest: max((own+p.Coef[0])*math.Exp(says)-p.Coef[0], own/2), held: d.fixed, spread: p.Flat}
		if d.n == tracedTerms {
			want.held = d.terms[tracedForward]
		}
		batch := layeredBatch
		if d.n == tracedTerms {
			batch = tracedBatch
		}
		for j, v := range d.x[:d.used] {
			low, high := p.Lo[j], p.Hi[j]
			if j == batch && v > high && low > 0 {
				low, high, v = math.Log(low), math.Log(high), math.Log(v)
			}
			want.distance = max(want.distance, min(10, math.Abs(v-(low+high)/2)/((high-low)/2)))
		}
		far := want.distance
		if p.Groups >= 12 {
			far /= 2
		}
		want.spread *= max(1, min(3, far))
		if d.halved {
			want.spread = max(0.2, 2*want.spread)
		}
		want.spread = min(2, want.spread)
		got := p.at(&d, stranger)
		for what, v := range map[string][2]float64{
			"context": {got.context, want.context}, "rest": {got.rest, want.rest}, "held": {got.held, want.held},
			"spread": {got.spread, want.spread}, "distance": {got.distance, want.distance},
		} {
			if !(math.Abs(v[0]-v[1]) <= 1e-6*(1+math.Abs(v[1]))) {
				t.Fatalf("%s is %v, by its documentation %v", what, v[0], v[1])
			}
		}
	})
}

// TestContextIsAMedian: of what tasks used beyond their needs, those below the context and
// those above weigh at most half each, a task by how little it needs itself.
func TestContextIsAMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b beyond
		var over, weight []float64
		for range rapid.IntRange(1, 9).Draw(t, "tasks") {
			rest, more := rapid.Float64Range(0, 1e6).Draw(t, "needs"), rapid.Float64Range(1, 1e6).Draw(t, "beyond")
			b.add(rest+more, rest)
			over, weight = append(over, rest+more-rest), append(weight, 1/max(1, rest))
		}
		context := b.context()
		var below, above, all float64
		for i, w := range weight {
			all += w
			switch off := over[i] - context; {
			case off < -1e-3:
				below += w
			case off > 1e-3:
				above += w
			}
		}
		if below > all/2+1e-12 || above > all/2+1e-12 {
			t.Fatalf("context %v of %v, weights %v", context, over, weight)
		}
	})
}
