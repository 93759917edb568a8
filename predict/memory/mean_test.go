package memory

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// TestFewWildRows: a tenth of the rows that say a multiple of the truth moves neither
// what is predicted of the others nor the error that the fit says it has.
func TestFewWildRows(t *testing.T) {
	obs := madeUp(190, profile.CNN, 71) // too few for trees: the terms alone
	for i := range obs {
		if i%10 == 0 {
			obs[i].Peak *= 5
		}
	}
	sorted, err := sortByPart(obs)
	if err != nil {
		t.Fatal(err)
	}
	rows := sorted.rows[profile.CNN]
	var p part
	off, err := p.fitTerms(rows, allowedTerms(int(profile.CNN)))
	if err != nil {
		t.Fatal(err)
	}
	if off < 0.015 || off > 0.035 { // of noise of 3 % the median is 2 %
		t.Errorf("the median error is said to be %v, want about 0.02", off)
	}
	var bias, n float64
	for i := range rows {
		if i%10 != 0 {
			bias, n = bias+math.Log(p.total(&rows[i], false)/rows[i].peak), n+1
		}
	}
	if bias /= n; !(math.Abs(bias) <= 0.015) {
		t.Errorf("wild rows shift the prediction by %.3f in the logarithm", bias)
	}
}

// TestMeasuredContexts: rows whose host's context was measured say nothing of the
// context of the others.
func TestMeasuredContexts(t *testing.T) {
	const slim = profile.GiB / 2
	obs := madeUp(190, profile.CNN, 72)
	for i := range obs {
		if i%3 != 0 {
			obs[i].Peak += slim - profile.BytesOf(1.5e9)
			obs[i].Host = predict.Host{Context: profile.Some(slim)}
		}
	}
	m, err := Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := &obs[1].Spec
	measured, err := m.Peak(spec, predict.Host{Context: profile.Some(slim)})
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.Peak(spec, predict.Host{Name: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := other.Value-measured.Value, 1.5e9-float64(slim); !(math.Abs(got-want) <= 0.1e9) {
		t.Errorf("the contexts differ by %v, want %v", profile.BytesOf(got), profile.BytesOf(want))
	}
}

// TestTracedIsFinite: whatever a shape-only run tells, its description is numbers.
func TestTracedIsFinite(t *testing.T) {
	for _, forward := range []profile.Opt[profile.Bytes]{{}, profile.Some[profile.Bytes](0), profile.Some(profile.GiB)} {
		for _, backward := range []profile.Opt[profile.Bytes]{{}, profile.Some[profile.Bytes](0), profile.Some(profile.GiB), profile.Some(profile.TiB)} {
			spec := &profile.Spec{Training: profile.Training{BatchSize: 8}}
			spec.Traced.AfterForward, spec.Traced.AfterBackward = forward, backward
			var d task
			d.describeTraced(spec)
			for j, v := range d.x {
				if !num.Finite(v) {
					t.Errorf("after the forward pass %v, the backward %v: feature %d is %v", forward, backward, j, v)
				}
			}
		}
	}
}

// TestTheSurerPart: of a task that two parts know the one answers that has to reserve
// less beyond what it predicts, whether its spread or its scores say so.
func TestTheSurerPart(t *testing.T) {
	spec := &madeUp(1, profile.CNN, 73)[0].Spec
	spec.Traced.AfterForward, spec.Traced.AfterBackward = profile.Some(profile.GiB), profile.Some(2*profile.GiB)
	of := func(spread, score float64) *part {
		p := &part{Coef: []float64{1e9, 1, 1}, Flat: spread, Groups: manyGroups}
		p.Scores = conformal.New([]float64{-score, -score, score, score})
		return p
	}
	for _, tt := range []struct {
		name            string
		layered, traced *part
		want            bool // of the traced
	}{
		{"small spread, large scores", of(0.01, 3), of(0.1, 1), false},
		{"large spread, large scores", of(0.1, 10), of(0.1, 1), true},
		{"large spread, small scores", of(0.1, 0.1), of(0.02, 2), false},
	} {
		m := &Predictor{traced: tt.traced}
		m.parts[profile.CNN] = tt.layered
		if c := m.choose(spec); (c.part == tt.traced) != tt.want {
			t.Errorf("%s: the traced part answers: %v", tt.name, !tt.want)
		}
	}
}

// TestStrangersSpread: what trees say of the size of errors is believed of what is
// known, and half as far of strangers.
func TestStrangersSpread(t *testing.T) {
	var d task
	x, y := make([][]float64, 40), make([]float64, 40)
	for i := range x {
		x[i], y[i] = make([]float64, featureCount), math.Log(0.04)
	}
	p := part{Flat: 0.01, Form: logSpread, Spread: trees.Fit(x, y, nil, trees.Options{Rounds: 50, Depth: 1, Rate: 0.5, MinLeaf: 5})}
	if known, stranger := p.spreadFor(&d, false), p.spreadFor(&d, true); !(math.Abs(known-0.04) <= 1e-4) || !(math.Abs(stranger-0.02) <= 1e-4) {
		t.Errorf("spread %v of the known, %v of strangers, want 0.04 and 0.02", known, stranger)
	}
}

// TestScoresAreBounded: errors beyond so many are not kept.
func TestScoresAreBounded(t *testing.T) {
	m := fitMadeUp(t)
	scores := &m.parts[profile.CNN].Scores
	rng := rand.New(rand.NewPCG(74, 1))
	for len(scores.Scores) < mostScores-1 {
		scores.Scores = append(scores.Scores, rng.NormFloat64())
	}
	*scores = conformal.New(scores.Scores)
	o := madeUp(1, profile.CNN, 75)[0]
	for range 3 {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(scores.Scores); n != mostScores {
		t.Errorf("%d scores are kept, want %d", n, mostScores)
	}
}

// TestFiles: of each value of a file it is known which others it may have; what is taken predicts.
func TestFiles(t *testing.T) {
	obs := madeUp(leastRows+3, profile.CNN, 77)
	m, err := Fit(obs[:leastRows], nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range obs[leastRows:] {
		o := obs[leastRows+i]
		o.Host.Name, o.Censored = string(rune('a'+i)), i == 2
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	m.hosts = []host{{Name: "a", Context: 1 << 20, Rows: 1}, {Name: "b", Rows: 1}}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	golden.Leaves(t, "files.txt", [][]byte{file.Bytes()}, []string{"-11", "-10", "-1", "0", "0.5", "1", "10", "11", "1000000000000000", "1000000000000001", "4611686018427387904", "4611686018427387905"}, nil, func(doc []byte) bool {
		m, err := Load(bytes.NewReader(doc))
		if err != nil {
			return false
		}
		if e, err := m.Peak(&obs[0].Spec, obs[0].Host); err != nil || !(e.Value >= 0 && e.Lo <= e.Value && e.Value <= e.Hi) {
			t.Errorf("%+v, %v, of\n%s", e, err, doc)
		}
		return true
	})
}

// TestStrangersAtAPrice: where architectures need alike, a stranger's reservation holds
// for the one in a hundred of them that needs most; where they are far apart that would
// waste too much, and it holds for fewer.
func TestStrangersAtAPrice(t *testing.T) {
	for _, tt := range []struct{ step, least, most float64 }{{0.1, 1.1, 1.2}, {4, 2, 4.5}} {
		obs := familiesApart(5, 30, tt.step)
		m, err := Fit(obs, nil)
		if err != nil {
			t.Fatal(err)
		}
		spec := &obs[10].Spec
		spec.Model.Architecture = "another"
		e, err := m.Peak(spec, predict.Host{Name: "made up"})
		if err != nil {
			t.Fatal(err)
		}
		reserved, err := m.Reserve(spec, predict.Host{Name: "made up"}, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		if more := float64(reserved) / e.Value; more < tt.least || more > tt.most {
			t.Errorf("each needs %v more than the one before: %v times the prediction is reserved, want %v to %v", tt.step, more, tt.least, tt.most)
		}
	}
}

// TestFitTraced: tasks of which only a shape-only run is known are fitted by it, with one
// figure of two where the other is missing.
func TestFitTraced(t *testing.T) {
	rng := rand.New(rand.NewPCG(76, 1))
	draw := func(kind int) Observation {
		forward := float64(profile.GiB) * (0.2 + 8*rng.Float64())
		growth := 0.3 * forward * rng.Float64()
		if kind > 0 {
			growth = 0 // one figure tells no growth
		}
		o := Observation{Spec: profile.Spec{Model: profile.Model{Name: "traced"}, Training: profile.Training{BatchSize: 8 << rng.IntN(4)}}, Host: predict.Host{Name: "lab"}}
		if kind != 1 {
			o.Spec.Traced.AfterForward = profile.Some(profile.BytesOf(forward))
		}
		if kind != 2 {
			o.Spec.Traced.AfterBackward = profile.Some(profile.BytesOf(forward + growth))
		}
		o.Peak = profile.BytesOf((1.5e9 + 1.2*forward + 2*growth) * math.Exp(0.01*rng.NormFloat64()))
		return o
	}
	var obs []Observation
	for i := range 150 {
		obs = append(obs, draw(i%3))
	}
	m, err := Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		o := draw(i % 3)
		o.Spec.Model.Name = ""
		e, err := m.Peak(&o.Spec, o.Host)
		if err != nil {
			t.Fatal(err)
		}
		if off := e.Value/float64(o.Peak) - 1; !(math.Abs(off) <= 0.06) || e.Source.Kind != predict.Fitted {
			t.Errorf("%+v: %+v, was %v", o.Spec.Traced, e, o.Peak)
		}
	}
}

// TestFloorsTellTasksApart: a name, a batch and what is recomputed tell tasks apart, layers
// and traces only where there is no name, and the number of parameters where there is
// nothing else.
func TestFloorsTellTasksApart(t *testing.T) {
	base := profile.Spec{Model: profile.Model{Layers: []profile.Layer{{Kind: profile.Linear, Params: 9, Activations: 3}}}, Training: profile.Training{BatchSize: 8}}
	with := func(change func(s *profile.Spec)) uint64 {
		s := base
		s.Model.Layers = append([]profile.Layer(nil), base.Model.Layers...)
		change(&s)
		return floorKey(&s, 0)
	}
	same := with(func(*profile.Spec) {})
	for name, key := range map[string]uint64{
		"batch":       with(func(s *profile.Spec) { s.Training.BatchSize = 16 }),
		"checkpoints": with(func(s *profile.Spec) { s.Training.Checkpointing = true }),
		"parameters":  with(func(s *profile.Spec) { s.Model.Layers[0].Params++ }),
		"kind":        with(func(s *profile.Spec) { s.Model.Layers[0].Kind = profile.Conv }),
		"outputs":     with(func(s *profile.Spec) { s.Model.Layers[0].Activations++ }),
		"traced":      with(func(s *profile.Spec) { s.Traced.AfterForward = profile.Some(profile.GiB) }),
		"name":        with(func(s *profile.Spec) { s.Model.Name = "net" }),
	} {
		if key == same {
			t.Errorf("tasks of another %s share a floor", name)
		}
	}
	named := func(s *profile.Spec) { s.Model.Name = "net" }
	if with(named) != with(func(s *profile.Spec) { named(s); s.Model.Layers[0].Params++ }) {
		t.Error("layers tell a named task from itself")
	}
	bare := profile.Spec{Training: profile.Training{BatchSize: 8}}
	if floorKey(&bare, 1) == floorKey(&bare, 2) || floorKey(&base, 1) != floorKey(&base, 2) {
		t.Error("the parameters that are known count where nothing else does, and only there")
	}
}
