package memory_test

import (
	"math"
	"strconv"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// TestFitTellsHostsApart: tasks of one law on two hosts, whose contexts are a gibibyte
// apart and not measured. Each host gets its own.
func TestFitTellsHostsApart(t *testing.T) {
	context := map[string]profile.Bytes{"many": 1500 * profile.MiB, "few": 500 * profile.MiB}
	observe := func(i int, host string) memory.Observation {
		width := int64(64 * (1 + i%23))
		o := memory.Observation{Host: predict.Host{Name: host}, Group: strconv.Itoa(i % 3)}
		o.Spec.Model = profile.Model{Family: profile.MLP, Architecture: "plain", Layers: []profile.Layer{
			{Kind: profile.Linear, Neurons: width, Params: width * 1000, Activations: width},
			{Kind: profile.Linear, Neurons: 10, Params: 10 * width, Activations: 10},
		}}
		o.Spec.Training = profile.Training{BatchSize: 1 << (i % 7), Optimizer: profile.Adam}
		o.Peak = context[host] + profile.Bytes(20*(width*1010))
		return o
	}
	var obs []memory.Observation
	for i := range 80 {
		obs = append(obs, observe(i, "many"))
	}
	for i := range 9 {
		obs = append(obs, observe(5*i, "few"))
	}
	m, err := memory.Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for host := range context {
		o := observe(11, host)
		e, err := m.Peak(&o.Spec, o.Host)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(e.Value/float64(o.Peak) - 1); off > 0.02 {
			t.Errorf("on %s %.0f bytes are predicted, %d were seen", host, e.Value, o.Peak)
		}
	}
}
