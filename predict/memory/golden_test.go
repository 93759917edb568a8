package memory

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestGolden: what is fitted to data and learned after stays as it was, to four digits,
// unless somebody means it and has seen what examples/evaluate says of the change.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	tell := func(name string, m *Predictor, obs []Observation) {
		for _, o := range obs {
			e, err := m.Peak(&o.Spec, o.Host)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Reserve(&o.Spec, o.Host, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %.4g %.4g %.4g %.4g %v\n", name, e.Value, e.Lo, e.Hi, float64(r), e.Source.Kind)
		}
	}
	fit := func(obs []Observation) *Predictor {
		m, err := Fit(obs, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	mixed := append(madeUp(120, profile.MLP, 1), madeUp(120, profile.CNN, 2)...)
	for i := range mixed {
		o := &mixed[i]
		if i%7 == 0 { // ran out of memory
			o.Censored, o.Peak = true, o.Peak*3/4
		}
		if i%5 == 0 {
			o.Host = predict.Host{Name: "told", Context: profile.Some(profile.Bytes(1.4e9))}
		}
		if i%11 == 0 { // wild
			o.Peak = o.Peak * 3 / 2
		}
	}
	m := fit(mixed)
	fresh := append(madeUp(4, profile.MLP, 3), madeUp(4, profile.CNN, 4)...)
	tell("fitted", m, fresh)
	for i := range fresh {
		fresh[i].Host.Name = "another"
		for range 2 {
			if err := m.Observe(fresh[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	tell("learned", m, fresh)
	for _, o := range familiesApart(1, 3, 0) { // layers without a fit
		o.Spec.Model.Family = profile.Transformer
		tell("prior", m, []Observation{o})
	}
	stranger := familiesApart(7, 1, 0.02)[6]
	stranger.Spec.Model.Architecture = "none"
	for _, groups := range []int{5, 12} {
		apart := familiesApart(groups, 10, 0.03)
		tell(fmt.Sprintf("of %d families", groups), fit(apart), append(apart[:3:3], stranger))
	}
	var traced []Observation
	for i, o := range madeUp(90, profile.MLP, 6) {
		forward := o.Peak / 2
		o.Spec.Model.Layers = nil
		if i%3 != 1 {
			o.Spec.Traced.AfterForward = profile.Some(forward)
		}
		if i%3 != 2 {
			o.Spec.Traced.AfterBackward = profile.Some(forward * profile.Bytes(10+i%2) / 10)
		}
		traced = append(traced, o)
	}
	tell("traced", fit(traced), traced[:6])
	for n := 1; n <= 4; n++ {
		host, err := m.Calibrate("mine", fresh[:n])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "context by %d: %.4g\n", n, float64(host.Context.Or(0)))
	}
	golden.Check(t, "golden.txt", out.String())
}
