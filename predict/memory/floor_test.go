package memory

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestFloors: whatever was seen in whatever order, a reservation is never below
// the largest peak and the largest level that did not suffice, at once.
func TestFloors(t *testing.T) {
	fit := fitMadeUp(t)
	rapid.Check(t, func(t *rapid.T) {
		m := fit.Clone()
		spec := drawSpec(t)
		spec.Model.Name = rapid.SampledFrom([]string{"", "net"}).Draw(t, "name")
		if rapid.Bool().Draw(t, "no layers") {
			spec.Model.Layers = nil
		}
		risk := rapid.SampledFrom([]float64{1e-6, 0.01, 0.5}).Draw(t, "risk")
		var least profile.Bytes
		for range rapid.IntRange(1, 6).Draw(t, "observations") {
			o := Observation{Spec: spec, Peak: profile.Bytes(rapid.Int64Range(1, 1e12).Draw(t, "peak"))}
			o.Censored = rapid.Bool().Draw(t, "died")
			o.Assumed = o.Censored && rapid.Bool().Draw(t, "assumed")
			before, err := m.Reserve(&spec, predict.Host{}, risk)
			if err != nil {
				t.Fatal(err)
			}
			if o.Assumed = o.Assumed && before <= profile.MaxCount/2; o.Assumed {
				o.Peak = before
			}
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
			after, err := m.Reserve(&spec, predict.Host{}, risk)
			if err != nil {
				t.Fatal(err)
			}
			if o.Assumed && after <= before {
				t.Fatalf("a death with %v set aside: %v are reserved next", before, after)
			}
			if !o.Assumed {
				least = max(least, o.Peak)
			}
			if after < least || m.Least(&spec) < least {
				t.Fatalf("reserved %v, least %v, after %v was seen", after, m.Least(&spec), least)
			}
			e, err := m.Peak(&spec, predict.Host{})
			if err != nil || e.Value < float64(least) || e.Hi < e.Value || e.Lo > e.Value {
				t.Fatalf("estimate %+v, %v, after %v was seen", e, err, least)
			}
		}
	})
}

// TestFloorRaisedUntilMeasured: a death without a known peak counts until a run
// ends; a level that did not suffice stays.
func TestFloorRaisedUntilMeasured(t *testing.T) {
	var m Predictor
	spec := profile.Spec{Training: profile.Training{BatchSize: 8}}
	for _, o := range []struct {
		peak             profile.Bytes
		censored, assume bool
		want             profile.Bytes
	}{
		{4 * profile.GiB, true, true, 5 * profile.GiB},
		{5 * profile.GiB, true, true, profile.BytesOf(6.25 * float64(profile.GiB))},
		{2 * profile.GiB, false, false, profile.BytesOf(2.04 * float64(profile.GiB))},
		{3 * profile.GiB, true, false, profile.BytesOf(3.3 * float64(profile.GiB))},
		{2 * profile.GiB, false, false, 3 * profile.GiB},
	} {
		if err := m.Observe(Observation{Spec: spec, Peak: o.peak, Censored: o.censored, Assumed: o.assume}); err != nil {
			t.Fatal(err)
		}
		if got := m.Least(&spec); got != o.want {
			t.Errorf("after %+v: %v", o, got)
		}
	}
	other := spec
	other.Training.BatchSize = 16
	if got := m.Least(&other); got != 0 {
		t.Errorf("another batch: %v", got)
	}
	if err := m.Observe(Observation{Spec: spec, Peak: 1, Assumed: true}); err == nil {
		t.Error("assumed and not censored: no error")
	}
}

// TestFloorsAreStored: what was seen is known after reading, and a floor that cannot be is refused.
func TestFloorsAreStored(t *testing.T) {
	var m Predictor
	var full, again bytes.Buffer
	spec := profile.Spec{Model: profile.Model{Name: "net"}, Training: profile.Training{BatchSize: 8}}
	for _, died := range []bool{true, false, true} {
		if err := m.Observe(Observation{Spec: spec, Peak: 7 * profile.GiB, Censored: died}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Save(&full); err != nil {
		t.Fatal(err)
	}
	back, err := Load(bytes.NewReader(full.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := back.Least(&spec), m.Least(&spec); got != want || got < 7*profile.GiB {
		t.Errorf("read back: %v, want %v", got, want)
	}
	if err := back.Save(&again); err != nil || !bytes.Equal(again.Bytes(), full.Bytes()) {
		t.Errorf("reading and writing changes the file: %v", err)
	}
	bad := strings.Replace(full.String(), `"peak_bytes":`, `"peak_bytes":-`, 1)
	if _, err := Load(strings.NewReader(bad)); err == nil {
		t.Error("a negative floor: no error")
	}
}

// TestFloorsAreBounded: the task told of least recently is forgotten.
func TestFloorsAreBounded(t *testing.T) {
	var m Predictor
	spec := func(batch int) *profile.Spec {
		return &profile.Spec{Training: profile.Training{BatchSize: batch}}
	}
	for i := range mostFloors + 1 {
		m.learnFloor(&Observation{Spec: *spec(1 + i), Peak: profile.GiB})
		if i == 5 {
			m.learnFloor(&Observation{Spec: *spec(1), Peak: profile.GiB})
		}
	}
	if len(m.floors) != mostFloors || m.Least(spec(1)) == 0 || m.Least(spec(2)) != 0 || m.Least(spec(mostFloors+1)) == 0 {
		t.Errorf("%d floors; %v, %v", len(m.floors), m.Least(spec(1)), m.Least(spec(2)))
	}
}

// TestModelsAreBounded: the model told of least recently is forgotten, hosts beyond
// the bound are not learned.
func TestModelsAreBounded(t *testing.T) {
	var m Predictor
	spec := func(i int) *profile.Spec {
		return &profile.Spec{Model: profile.Model{Name: fmt.Sprint("net", i)}, Training: profile.Training{BatchSize: 1}}
	}
	tell := func(i int) { m.told++; m.learnModel(spec(i), 2e9, 1e9) }
	for i := range mostModels + 1 {
		tell(i)
		if i == 5 {
			tell(0)
		}
		m.learnHost(&predict.Host{Name: fmt.Sprint("host", i)}, 1e9, 1e6)
	}
	if len(m.learned) != mostModels || len(m.hosts) != mostHosts {
		t.Errorf("%d models and %d hosts, want %d and %d", len(m.learned), len(m.hosts), mostModels, mostHosts)
	}
	for i, runs := range map[int]int{0: 2, 1: 0, 2: 1, mostModels: 1} {
		if got := m.Seen(spec(i), 0); got.Runs != runs || (got.Factor > 1) != (runs > 0) {
			t.Errorf("model %d: %+v, want %d runs", i, got, runs)
		}
	}
}

// TestCloneLearnsAlone: neither sees what the other learns, and a clone saves the
// same bytes.
func TestCloneLearnsAlone(t *testing.T) {
	m := fitMadeUp(t)
	odd := madeUp(20, profile.CNN, 5)
	c := m.Clone()
	text := func(m *Predictor) string {
		var b bytes.Buffer
		if err := m.Save(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := text(m)
	if text(c) != before {
		t.Fatal("a clone saves other bytes")
	}
	for i := range odd {
		odd[i].Host.Name = "new"
		if err := c.Observe(odd[i]); err != nil {
			t.Fatal(err)
		}
	}
	if text(m) != before || text(c) == before {
		t.Error("the original learned, or the clone did not")
	}
	if got := c.Seen(&odd[3].Spec, 0); got.Peak < odd[3].Peak || got.Least < got.Peak {
		t.Errorf("seen %+v, want a peak of at least %v", got, odd[3].Peak)
	}
}
