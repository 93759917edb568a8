package utilization

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestGolden: what is predicted before and after a fit, on known and unknown GPUs, and
// what a look of some seconds makes of it stays as it was, to four digits, unless somebody
// means it and has seen what examples/evaluate says of the change.
func TestGolden(t *testing.T) {
	obs := madeUpUse(t, 140, 5)
	for i := range obs {
		obs[i].Group = string(rune('a' + i%7))
		if i%2 == 0 {
			obs[i].Spec.Model.Family = profile.MLP
			obs[i].Use.DRAMActive = profile.Some(obs[i].Use.SMActive.Or(0) / 3)
		}
		if i%3 == 0 {
			layers := obs[i].Spec.Model.Layers
			obs[i].Spec.Model.Layers = append(layers, profile.Layer{Kind: profile.OtherLayer, Activations: int64(100 * i)}, profile.Layer{Kind: profile.Pool, Activations: int64(3000 - 20*i)})
		}
		if i%9 == 0 {
			obs[i].Use.GPUBusy = profile.Some(1.0) // at the end of what can be
		}
	}
	m, err := Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := madeUpUse(t, 4, 6)
	fresh[1].Spec.Model.Family = profile.MLP
	fresh[2].Spec.Training.Precision = profile.Mixed
	fresh[3].Spec.Model.Layers = append(fresh[3].Spec.Model.Layers, profile.Layer{Kind: profile.OtherLayer, Activations: 5000}, profile.Layer{Kind: profile.Dropout, Activations: 70_000})
	var out bytes.Buffer
	tell := func(e *predict.Estimate) {
		fmt.Fprintf(&out, " %.4g %.4g %.4g %v", e.Value, e.Lo, e.Hi, e.Source.Kind)
	}
	for name, p := range []*Predictor{{}, m} {
		for i := range fresh {
			for _, gpu := range []string{"A100-40GB", "T4", "V100-PCIe-16GB", "made up"} {
				model, _ := profile.LookupGPU(gpu)
				s, err := p.Solo(&fresh[i].Spec, &model)
				if err != nil {
					fmt.Fprintf(&out, "%d task %d on %s: %v\n", name, i, gpu, err)
					continue
				}
				fmt.Fprintf(&out, "%d task %d on %s:", name, i, gpu)
				for _, e := range []*predict.Estimate{&s.SMActive, &s.SMOccupancy, &s.DRAMActive, &s.GPUBusy} {
					tell(e)
				}
				fmt.Fprintln(&out)
			}
		}
	}
	golden.Check(t, "golden.txt", out.String())
}
