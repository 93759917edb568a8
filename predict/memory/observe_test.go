package memory

import (
	"bytes"
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestObserveBeatsNotObserving: a model that a law of its own governs is
// predicted better after each run that was seen.
func TestObserveBeatsNotObserving(t *testing.T) {
	m := fitMadeUp(t)
	odd := madeUp(40, profile.CNN, 21)
	for i := range odd {
		odd[i].Spec.Model.Name = "odd one"
		odd[i].Peak = profile.BytesOf(1.5e9 + 2*(float64(odd[i].Peak)-1.5e9))
	}
	miss := func() (sum float64) {
		for i := range odd[6:] {
			e, err := m.Peak(&odd[6+i].Spec, odd[6+i].Host)
			if err != nil {
				t.Fatal(err)
			}
			sum += math.Abs(math.Log(e.Value / float64(odd[6+i].Peak)))
		}
		return sum / float64(len(odd[6:]))
	}
	before := miss()
	for _, o := range odd[:6] {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	after := miss()
	if after > before/2 {
		t.Errorf("error %.3f before, %.3f after six observations", before, after)
	}
	e, err := m.Peak(&odd[39].Spec, odd[39].Host)
	if err != nil {
		t.Fatal(err)
	}
	if e.Source.Kind != predict.Measured {
		t.Errorf("source %v, want measured", e.Source.Kind)
	}
	var a, b bytes.Buffer
	if err := m.Save(&a); err != nil {
		t.Fatal(err)
	}
	back, err := Load(bytes.NewReader(a.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Save(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("what was learned is lost in a file")
	}
}

func TestObserveHost(t *testing.T) {
	m := fitMadeUp(t)
	for _, o := range madeUp(30, profile.MLP, 31) {
		o.Host.Name = "slim"
		o.Peak -= 900 * profile.MiB
		o.Spec.Model.Name = "" // nothing to remember but the host
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	fresh := madeUp(1, profile.MLP, 32)[0]
	slim, err := m.Peak(&fresh.Spec, predict.Host{Name: "slim"})
	if err != nil {
		t.Fatal(err)
	}
	lab, err := m.Peak(&fresh.Spec, predict.Host{Name: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	if got := lab.Value - slim.Value; !(math.Abs(got-900*float64(profile.MiB)) <= 100*float64(profile.MiB)) {
		t.Errorf("the context differs by %v, want 900 MiB", profile.BytesOf(got))
	}
}

func TestObserveCensored(t *testing.T) {
	m := fitMadeUp(t)
	o := madeUp(1, profile.CNN, 41)[0]
	e, err := m.Peak(&o.Spec, o.Host)
	if err != nil {
		t.Fatal(err)
	}
	o.Censored = true
	o.Peak = profile.BytesOf(e.Value / 2) // says nothing: predicted to be more
	if err := m.Observe(o); err != nil {
		t.Fatal(err)
	}
	same, err := m.Peak(&o.Spec, o.Host)
	if err != nil {
		t.Fatal(err)
	}
	if same != e {
		t.Error("an uninformative crash changed the prediction")
	}
	o.Peak = profile.BytesOf(e.Value * 1.5) // needs more than predicted
	if err := m.Observe(o); err != nil {
		t.Fatal(err)
	}
	more, err := m.Peak(&o.Spec, o.Host)
	if err != nil {
		t.Fatal(err)
	}
	if more.Value <= e.Value {
		t.Errorf("a crash at 1.5 times the prediction leaves it at %v", more.Value)
	}
	if err := m.Observe(Observation{Spec: o.Spec}); err == nil {
		t.Error("a peak of zero: no error")
	}
}

func TestTogether(t *testing.T) {
	var obs []TogetherObservation
	for i := range 199 { // beyond the sum by 0 to 198 MiB
		obs = append(obs, TogetherObservation{Solo: 4 * profile.GiB, Together: 4*profile.GiB + profile.Bytes(i)*profile.MiB})
	}
	m, err := FitTogether(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Margin(2, 0.1); err != nil || got != 179*profile.MiB {
		t.Errorf("margin %v, %v; want 179 MiB", got, err)
	}
	if got, err := m.Margin(3, 0.1); err != nil || got != 2*179*profile.MiB {
		t.Errorf("margin of three %v, %v", got, err)
	}
	if got, err := m.Margin(1, 0.1); err != nil || got != 0 {
		t.Errorf("margin of one %v, %v", got, err)
	}
	var zero Together
	tight, err := zero.Margin(2, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	if safe, err := zero.Margin(2, 0.01); err != nil || safe <= tight {
		t.Errorf("without data: %v at 20 %%, %v at 1 %%, %v", tight, safe, err)
	}
	for _, bad := range [][]TogetherObservation{nil, {{Solo: 0, Together: 1}}, {{Solo: 1, Together: 0}}, {{Solo: 1, Together: -1}}, {{Solo: profile.MaxCount + 1, Together: 1}}, {{Solo: 1, Together: profile.MaxCount + 1}}} {
		if _, err := FitTogether(bad, nil); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if _, err := m.Margin(2, math.NaN()); err == nil {
		t.Error("risk NaN: no error")
	}
}

// TestTogetherIsStored saves a memory model with its margin and loads it.
func TestTogetherIsStored(t *testing.T) {
	margin, err := FitTogether([]TogetherObservation{{Solo: 100, Together: 130}, {Solo: 100, Together: 110}},
		&TogetherOptions{Provenance: predict.Provenance{Data: "two pairs"}})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := (&Predictor{together: margin}).Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.Together().Margin(2, 0.4)
	if want, _ := margin.Margin(2, 0.4); err != nil || got != want || loaded.Together().Provenance().Data != "two pairs" {
		t.Errorf("margin %v of %+v, %v; want %v", got, loaded.Together().Provenance(), err, want)
	}
	if got, err := new(Predictor).Together().Margin(2, 0.2); err != nil || got != 500*profile.MiB {
		t.Errorf("without data: %v, %v", got, err)
	}
}
