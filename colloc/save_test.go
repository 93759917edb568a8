package colloc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// lessons draws observations of tasks on GPUs that the pretrained models know, that
// they do not, and that nobody knows: speeds, peaks, deaths and throughputs.
type lessons struct {
	tasks []colloc.Task
	gpus  []profile.GPUModel
	rng   *rand.Rand
}

func newLessons(tb testing.TB, names int) *lessons {
	tb.Helper()
	l := &lessons{rng: rand.New(rand.NewPCG(19, 2))}
	for i := range names {
		name := fmt.Sprint("net", i)
		if i%5 == 4 {
			name = "ResNet-50" // like one of the fit
		}
		l.tasks = append(l.tasks, seen(tb, name, 0.1+0.8*l.rng.Float64(), 0.7*l.rng.Float64(), profile.BytesOf(float64(1+i%9)*float64(profile.GiB))))
		l.tasks[i].ID = fmt.Sprint("task", i)
	}
	for _, product := range []string{"RTX 3090", "A100-40GB", "V100-SXM2-16GB"} {
		l.gpus = append(l.gpus, gpuModel(tb, product))
	}
	l.gpus = append(l.gpus, profile.GPUModel{Name: "Own Card", Memory: 32 * profile.GiB})
	return l
}

func (l *lessons) next() colloc.Observation {
	o := colloc.Observation{GPU: l.gpus[l.rng.IntN(len(l.gpus))]}
	if l.rng.IntN(4) == 0 {
		o.Mechanism = profile.MPS
	}
	for range 1 + l.rng.IntN(3) {
		m := colloc.Measurement{Profile: l.tasks[l.rng.IntN(len(l.tasks))].Profile, Speed: profile.Some(0.3 + 0.7*l.rng.Float64())}
		switch l.rng.IntN(6) {
		case 0:
			m.Peak = profile.Some(profile.BytesOf(1e9 + 9e9*l.rng.Float64()))
		case 1:
			m.OutOfMemory = true
		}
		o.Members = append(o.Members, m)
	}
	if len(o.Members) == 1 {
		o.Members[0].Throughput = profile.Some(10 + 100*l.rng.Float64())
	}
	return o
}

func (l *lessons) teach(tb testing.TB, n int, planners ...*colloc.Planner) {
	tb.Helper()
	for range n {
		o := l.next()
		for _, p := range planners {
			if err := p.Observe(o); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// said is all that a Planner says of the tasks on the GPUs.
func (l *lessons) said(tb testing.TB, p *colloc.Planner) (all []any) {
	tb.Helper()
	add := func(v any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	var cards []colloc.GPU
	for i, model := range append(l.gpus, gpuModel(tb, "H100")) {
		for j := range 2 {
			g := colloc.GPU{ID: fmt.Sprint("g", i, j), Model: model, Mechanisms: []profile.Mechanism{profile.TimeSlice, profile.MPS}}
			if j == 1 {
				g.Residents = []colloc.Task{l.tasks[i]}
				g.Residents[0].ID = fmt.Sprint("resident", i)
			}
			cards = append(cards, g)
		}
	}
	for _, task := range l.tasks {
		_, reserved, err := p.Memory(task)
		add(reserved, err)
		add(p.Learned(task))
		for _, g := range cards {
			add(p.Fit(task, g))
			add(p.Score(task, g))
		}
		add(p.Judge(task, cards[1]))
	}
	plan, err := p.Plan(context.Background(), l.tasks, cards)
	add(*plan, err)
	add(p.Drift(), nil)
	return all
}

func save(tb testing.TB, p *colloc.Planner) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := p.Save(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveLoad: whatever a Planner was told and fitted, one that is loaded from its
// file says the same to the last bit, and goes on learning the same.
func TestSaveLoad(t *testing.T) {
	l := newLessons(t, 8)
	config := colloc.Config{MaxSet: 3}
	p := newPlanner(t, config)
	q := p
	refit := func() {
		for _, p := range []*colloc.Planner{p, q} {
			if err := p.Refit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	type step struct {
		name string
		do   func()
	}
	steps := []step{
		{"new", func() {}},
		{"taught", func() { l.teach(t, race.Fewer(300), p, q) }},
		{"fitted anew", refit},
		{"taught more", func() { l.teach(t, 50, p, q) }},
		{"fitted anew again", refit},
	}
	if race.Enabled {
		steps = steps[:3] // the others do the same once more
	}
	for _, step := range steps {
		if step.do(); p == q { // before the first file
			q = newPlanner(t, config)
		}
		want := l.said(t, p)
		if got := l.said(t, q); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: what the loaded one learned since differs: %s", step.name, firstDifference(got, want))
		}
		file := save(t, p)
		loaded, err := colloc.Load(bytes.NewReader(file), config)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := l.said(t, loaded); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the loaded Planner differs: %s", step.name, firstDifference(got, want))
		}
		if !bytes.Equal(save(t, loaded), file) {
			t.Errorf("%s: the loaded Planner saves other bytes", step.name)
		}
		q = loaded
	}
}

func firstDifference(got, want []any) string {
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Sprintf("answer %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	return "none"
}

// TestShared: Planners learn from each other only if they are told to.
func TestShared(t *testing.T) {
	models := newPlanner(t, colloc.Config{}).Config()
	for _, together := range []bool{false, true} {
		config := colloc.Config{Memory: models.Memory, Interference: models.Interference, Pace: models.Pace, Shared: together}
		a, b := newPlanner(t, config), newPlanner(t, config)
		l := newLessons(t, 8)
		before := l.said(t, b)
		l.teach(t, 20, a)
		if same := reflect.DeepEqual(l.said(t, b), before); same == together {
			t.Errorf("Shared %v: the other Planner says the same: %v", together, same)
		}
	}
}

// TestLoadFaults: models beside the file, and what is no file.
func TestLoadFaults(t *testing.T) {
	file := save(t, newPlanner(t, colloc.Config{}))
	for name, c := range map[string]colloc.Config{
		"models twice": {Interference: &interference.Predictor{}},
		"bad risk":     {Risk: 2},
	} {
		if _, err := colloc.Load(bytes.NewReader(file), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, text := range map[string]string{"empty": "", "half": string(file[:len(file)/2]), "other": "{}\n"} {
		if _, err := colloc.Load(strings.NewReader(text), colloc.Config{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := newPlanner(t, colloc.Config{}).Save(full{}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	if err := (&colloc.Planner{}).Save(io.Discard); err == nil {
		t.Error("a Planner that was not made by New saves")
	}
	if _, err := (&colloc.Planner{}).Learned(colloc.Task{}); err == nil || (&colloc.Planner{}).Drift() != nil {
		t.Error("a Planner that was not made by New learned")
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// BenchmarkSave and BenchmarkLoad: 10,000 co-runs of 50 names on four products.
func BenchmarkSave(b *testing.B) {
	p := experienced(b)
	for b.Loop() {
		if err := p.Save(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(save(b, p))), "bytes")
}

func BenchmarkLoad(b *testing.B) {
	file := save(b, experienced(b))
	for b.Loop() {
		if _, err := colloc.Load(bytes.NewReader(file), colloc.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

func experienced(b *testing.B) *colloc.Planner {
	b.Helper()
	p := newPlanner(b, colloc.Config{})
	newLessons(b, 50).teach(b, 10_000, p)
	return p
}
