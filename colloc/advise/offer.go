package advise

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Offer is a kind of GPU that the task could run on instead.
type Offer struct {
	// GPU is the product, see [profile.LookupGPU].
	GPU profile.GPUModel
	// Price is that of one GPU for one hour, in the currency of the
	// [ScalingPoint]s; 0 is unknown.
	Price float64
}

// measured is a kind of GPU that the task's throughput is known of.
type measured struct {
	gpu    profile.GPUModel
	choice ScalingChoice
}

// compare adds the offers to the choices that were measured: those of a kind that
// was measured stay as they are, others are predicted by the Planner's paces from
// the measured kind that tells most about them.
func (v *view) compare(choices []ScalingChoice) []ScalingChoice {
	if len(v.o.Offers) == 0 {
		return choices
	}
	known := v.measured(choices)
	if len(known) == 0 {
		v.warn("offers are not compared: no throughput was measured on a GPU of the catalogue; give Scaling, or a profile with the step time on one GPU")
		return choices
	}
	if len(choices) == 0 {
		choices = append(choices, known[0].choice)
	}
	for i := range v.o.Offers {
		o := &v.o.Offers[i]
		switch {
		case slices.ContainsFunc(choices, func(c ScalingChoice) bool { return same(c.GPU, &o.GPU) }): // measured, or offered twice
		case !(o.Price >= 0 && o.Price <= maxThroughput):
			v.warn("offer %d (%s) is not compared: price is %v, want 0 or more", i, o.GPU.Name, o.Price)
		case v.reserved > 0 && o.GPU.Memory > 0 && v.reserved > colloc.Usable(o.GPU.Memory, v.config.Headroom.Or(0)):
			v.warn("offer %d (%s) is not compared: the task reserves %v, which does not fit", i, o.GPU.Name, v.reserved)
		default:
			choices = append(choices, v.predict(o, known))
		}
	}
	order(choices)
	return choices
}

// same reports whether a type's name is that of a product.
func same(name string, gpu *profile.GPUModel) bool {
	return (&profile.GPUModel{Name: name}).Canonical() == gpu.Canonical()
}

// measured lists what paces can be told from: the choices of kinds that the
// catalogue knows or, if nothing was measured for [ChooseGPUs], the profile's own.
func (v *view) measured(choices []ScalingChoice) []measured {
	var known []measured
	for _, c := range choices {
		if gpu, ok := profile.LookupGPU(c.GPU); ok {
			known = append(known, measured{gpu, c})
		}
	}
	step, ok := v.p.Vector.Get(profile.MedianStepTime)
	t := &v.p.Spec.Training
	if len(choices) > 0 || !ok || step <= 0 || t.GPUs > 1 || v.p.GPU.Name == "" {
		return known
	}
	one := ScalingChoice{GPU: v.p.GPU.Name, GPUs: 1, Throughput: float64(max(1, t.BatchSize)) / step, Speedup: 1, Efficiency: 1}
	for i := range v.o.Offers {
		if o := &v.o.Offers[i]; same(one.GPU, &o.GPU) && o.Price > 0 && o.Price <= maxThroughput {
			one.Cost = o.Price / one.Throughput
		}
	}
	return append(known, measured{v.p.GPU, one})
}

// predict takes as many GPUs of an offer as of the measured kind from which its
// throughput has the narrowest interval, and lets them scale alike.
func (v *view) predict(o *Offer, known []measured) ScalingChoice {
	width := func(e predict.Estimate) float64 { return math.Log(e.Hi / e.Lo) }
	var best predict.Estimate
	var from *ScalingChoice
	for i := range known {
		e := v.config.Pace.Ratio(v.p, &o.GPU, &known[i].gpu)
		if from == nil || width(e) < width(best) {
			best, from = e, &known[i].choice
		}
	}
	for _, x := range []*float64{&best.Value, &best.Lo, &best.Hi} {
		*x *= from.Throughput
	}
	return ScalingChoice{
		GPU: o.GPU.Name, GPUs: from.GPUs, Throughput: best.Value, Speedup: from.Speedup, Efficiency: from.Efficiency,
		Cost: o.Price * float64(from.GPUs) / best.Value, Predicted: profile.Some(best), From: from.GPU,
	}
}

// order sorts by cost if all are known, else by throughput.
func order(choices []ScalingChoice) {
	priced := !slices.ContainsFunc(choices, func(c ScalingChoice) bool { return !(c.Cost > 0) })
	slices.SortStableFunc(choices, func(a, b ScalingChoice) int {
		if priced {
			return cmp.Compare(a.Cost, b.Cost)
		}
		return cmp.Compare(b.Throughput, a.Throughput)
	})
}
