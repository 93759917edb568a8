package pace_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/pace"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// task is a profile of which the description alone is known.
func task(tb testing.TB, family profile.Family, precision profile.Precision, batch int) *profile.Profile {
	tb.Helper()
	spec := profile.Spec{
		Model:    profile.Model{Name: "net", Family: family},
		Training: profile.Training{BatchSize: batch, Precision: precision},
	}
	p, err := profile.New(spec, profile.Trace{}, profile.GPUModel{})
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

func gpu(tb testing.TB, name string) *profile.GPUModel {
	tb.Helper()
	g, ok := profile.LookupGPU(name)
	if !ok {
		tb.Fatalf("GPU %q is not in the catalogue", name)
	}
	return &g
}

func fitted(tb testing.TB) *pace.Predictor {
	tb.Helper()
	m, err := pretrained.Pace()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// models are the fitted predictor and the prior, which must agree on what everybody knows.
func models(tb testing.TB) map[string]*pace.Predictor {
	tb.Helper()
	return map[string]*pace.Predictor{"fitted": fitted(tb), "prior": {}}
}

// TestKnownOrders: whatever the family, the precision and the batch.
func TestKnownOrders(t *testing.T) {
	orders := [][]string{
		{"GB300-288GB", "B200", "H200", "H100 SXM", "A100-80GB", "V100-SXM2-32GB", "T4", "K80"},
		{"GB200", "B300", "H200", "H100-NVL-94GB", "H100 PCIe", "A100-40GB", "V100-PCIe-16GB", "P100-PCIe-16GB", "M60"},
		{"H100-SXM5-80GB", "A100-80GB", "A40", "A10", "A16"},
		{"A100-80GB", "A100-40GB", "A30", "T4", "P4"},
		{"L40S", "A10", "T4"},
		{"RTX PRO 6000", "RTX 5090", "RTX 4090", "RTX 3090", "RTX 2080 Ti", "GTX 1080 Ti", "GTX 1070"},
		{"RTX 5090", "RTX 5080", "RTX 5070 Ti", "RTX 5070", "RTX 5060 Ti"},
		{"RTX 6000 Ada", "RTX A6000", "RTX A5000", "RTX A4000", "RTX A2000"},
		{"TITAN RTX", "TITAN Xp", "GTX TITAN X"},
		{"Quadro RTX 8000", "Quadro RTX 5000", "Quadro RTX 4000"},
		{"P100-PCIe-16GB", "P40", "P4"},
	}
	for name, m := range models(t) {
		for family := range profile.Families {
			for precision := range profile.Precisions {
				for _, batch := range []int{1, 16, 4096} {
					p := task(t, profile.Family(family), profile.Precision(precision), batch)
					for _, order := range orders {
						for i := range order[1:] {
							e := m.Ratio(p, gpu(t, order[i]), gpu(t, order[i+1]))
							if !(e.Value > 1) {
								t.Errorf("%s: %v, %v, batch %d: %s is %.3f of %s", name, profile.Family(family), profile.Precision(precision), batch, order[i], e.Value, order[i+1])
							}
						}
					}
				}
			}
		}
	}
}

// TestTotalOrder: the whole catalogue stands on one scale, between 0 and the
// reference, and ratios are those of paces.
func TestTotalOrder(t *testing.T) {
	p := task(t, profile.Transformer, profile.Mixed, 32)
	for name, m := range models(t) {
		reference := gpu(t, m.Reference())
		if e := m.Pace(p, reference); e.Value != 1 || e.Lo != 1 || e.Hi != 1 {
			t.Errorf("%s: pace of the reference is %+v", name, e)
		}
		cards := profile.GPUs()
		for i := range cards {
			e := m.Pace(p, &cards[i])
			if !(e.Value > 0 && e.Value <= 1) || e.Lo > e.Value || e.Hi < e.Value {
				t.Errorf("%s: %s: %+v", name, cards[i].Name, e)
			}
			if r := m.Ratio(p, &cards[i], &cards[0]); i > 0 && !(math.Abs(r.Value*m.Pace(p, &cards[0]).Value/e.Value-1) <= 1e-9) {
				t.Errorf("%s: %s: ratio %v does not agree with pace %v", name, cards[i].Name, r.Value, e.Value)
			}
		}
	}
}

// TestBetterCardIsNeverSlower: a card that is no worse in any rate.
func TestBetterCardIsNeverSlower(t *testing.T) {
	m, cards := fitted(t), profile.GPUs()
	peaks := func(g *profile.GPUModel) [4]float64 {
		return [4]float64{g.BandwidthBytesPerSec, g.FP32, max(g.FP32, g.TF32), max(g.FP32, g.BF16)}
	}
	for family := range profile.Families {
		for _, precision := range []profile.Precision{profile.FP32, profile.Mixed} {
			p := task(t, profile.Family(family), precision, 8)
			for i := range cards {
				for j := range cards {
					a, b := peaks(&cards[i]), peaks(&cards[j])
					better := true
					for k := range a {
						better = better && a[k] >= b[k]
					}
					if e := m.Ratio(p, &cards[i], &cards[j]); better && e.Value < 1-1e-12 {
						t.Errorf("%v, %v: %s is %v of %s", profile.Family(family), precision, cards[i].Name, e.Value, cards[j].Name)
					}
				}
			}
		}
	}
}

// TestSlicesAreSlower: a whole card is faster than each of its slices, and larger
// slices are no slower.
func TestSlicesAreSlower(t *testing.T) {
	mig, err := pretrained.MIGSpeed()
	if err != nil {
		t.Fatal(err)
	}
	m := fitted(t)
	for _, card := range []string{"A30", "A100-40GB", "A100-80GB", "H100-SXM5-80GB", "H200", "B200"} {
		whole, p := gpu(t, card), task(t, profile.CNN, profile.Mixed, 64)
		full := m.Pace(p, whole)
		before := 0.0
		for _, slice := range whole.MIG {
			e, err := m.Slice(p, whole, slice, mig)
			if err != nil {
				t.Fatal(err)
			}
			largest := slice.Compute == whole.MIG[len(whole.MIG)-1].Compute
			if e.Value < before || (!largest && e.Value >= full.Value) || (largest && !(math.Abs(e.Value-full.Value) <= 1e-9)) || e.Lo > e.Value || e.Hi < e.Value {
				t.Errorf("%s %s: %+v after %v, whole %v", card, slice.Name, e, before, full.Value)
			}
			before = e.Value
		}
		if _, err := m.Slice(p, whole, profile.MIGProfile{Name: "9g", Compute: 9, Size: 9}, mig); err == nil {
			t.Errorf("%s: a slice larger than the card has a pace", card)
		}
	}
}

// sliceSays is a model that says one thing of every slice.
type sliceSays predict.Estimate

func (s sliceSays) Speed(*profile.Profile, *profile.GPUModel, profile.MIGProfile) (predict.Estimate, error) {
	return predict.Estimate(s), nil
}

// TestSliceIsAsSureAsTheWeaker: the pace on a slice is the product, and no surer than
// either of the two that it rests on.
func TestSliceIsAsSureAsTheWeaker(t *testing.T) {
	m, a100, p := fitted(t), gpu(t, "A100-40GB"), task(t, profile.CNN, profile.FP32, 64)
	whole := m.Pace(p, a100)
	for _, says := range []predict.Estimate{
		{Value: 0.5, Lo: 0.4, Hi: 0.6, Confidence: 0.5, Source: predict.Source{Kind: predict.Prior, Distance: whole.Source.Distance + 3}},
		{Value: 0.5, Lo: 0.5, Hi: 0.5, Confidence: 0.99, Source: predict.Source{Kind: predict.Measured}},
	} {
		e, err := m.Slice(p, a100, a100.MIG[0], sliceSays(says))
		if err != nil || !(math.Abs(e.Value/(whole.Value*says.Value)-1) <= 1e-12) || e.Confidence != min(whole.Confidence, says.Confidence) ||
			e.Source.Kind != min(whole.Source.Kind, says.Source.Kind) || e.Source.Distance != max(whole.Source.Distance, says.Source.Distance) || e.Value-e.Lo < whole.Value/2-whole.Lo/2 {
			t.Errorf("%+v beside %+v: %+v, %v", says, whole, e, err)
		}
		// Relative errors of the card and of the slice are independent: their squares add up.
		square := func(ratio float64) float64 { return math.Pow(math.Log(ratio), 2) }
		if got, want := square(e.Value/e.Lo), square(whole.Value/whole.Lo)+square(says.Value/says.Lo); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("below: %v, want %v", got, want)
		}
		if got, want := square(e.Hi/e.Value), square(whole.Hi/whole.Value)+square(says.Hi/says.Value); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("above: %v, want %v", got, want)
		}
	}
}

// TestComparison: its Value is that of the estimate, of any two cards, and nothing where it
// was not made by a Predictor.
func TestComparison(t *testing.T) {
	m, p := fitted(t), task(t, profile.CNN, profile.FP32, 16)
	cards := []*profile.GPUModel{gpu(t, "A100-40GB"), gpu(t, "T4"), gpu(t, m.Reference()), {Name: "unknown"}}
	for _, a := range cards {
		for _, b := range cards {
			c := m.Compare(a, b)
			if e := c.Estimate(p); c.Value(p) != e.Value || e != m.Ratio(p, a, b) || (e.Value == 1) != (a == b) {
				t.Errorf("%s over %s: value %v, estimate %+v", a.Name, b.Name, c.Value(p), e)
			}
		}
	}
	var none pace.Comparison
	if none.Value(p) != 0 || none.Estimate(p) != (predict.Estimate{}) {
		t.Errorf("of nothing: %v, %+v", none.Value(p), none.Estimate(p))
	}
	if other := m.Clone(); !m.Equal(m) || m.Equal(other) {
		t.Error("a clone is not the same predictor")
	}
}

// TestByAnyName: the card that a scheduler knows by NVML's name and memory is the
// catalogue's.
func TestByAnyName(t *testing.T) {
	m, p := fitted(t), task(t, profile.CNN, profile.FP32, 64)
	want := m.Pace(p, gpu(t, "A100-80GB"))
	for _, name := range []string{"NVIDIA A100-SXM4-80GB", "a100", "A100"} {
		if got := m.Pace(p, &profile.GPUModel{Name: name, Memory: 80 * profile.GiB}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestUnknownCard: from its figures where it has any, else a wide guess.
func TestUnknownCard(t *testing.T) {
	m, p := fitted(t), task(t, profile.CNN, profile.FP32, 64)
	own := *gpu(t, "A100-40GB")
	own.Name = "Accelerator 9000"
	like := m.Pace(p, gpu(t, "A100-40GB"))
	if got := m.Pace(p, &own); got != like {
		t.Errorf("by figures: %+v, want %+v", got, like)
	}
	for _, g := range []*profile.GPUModel{nil, {}, {Name: "Accelerator 9000"}, {Name: "odd", FP32: math.NaN(), BandwidthBytesPerSec: math.Inf(1)}} {
		e := m.Pace(p, g)
		if e.Source.Kind != predict.Prior || !(e.Value > 0.01 && e.Value < 1) || e.Hi/e.Lo < 30 {
			t.Errorf("%+v: %+v", g, e)
		}
	}
}

// TestIdleTaskCaresLess: what keeps the GPU busy half of the time gains less from
// a faster one, and what never does gains nothing.
func TestIdleTaskCaresLess(t *testing.T) {
	m, a100 := fitted(t), gpu(t, "A100-40GB")
	ratio := func(busy float64) float64 {
		spec := profile.Spec{Model: profile.Model{Name: "net", Family: profile.CNN}, Training: profile.Training{BatchSize: 64}}
		p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(busy)}}}, *a100)
		if err != nil {
			t.Fatal(err)
		}
		return m.Ratio(&p, gpu(t, "H100-SXM5-80GB"), a100).Value
	}
	full, half, none := ratio(1), ratio(0.5), ratio(0)
	// Amdahl: the half that the GPU does is full times as fast.
	if want := 1 / (0.5 + 0.5/full); full < 1.3 || !(math.Abs(half-want) <= 1e-9) || !(math.Abs(none-1) <= 1e-9) {
		t.Errorf("H100 over A100: %v busy, %v half, %v never; want half %v", full, half, none, want)
	}
}

// TestSmallBatchFillsLess: the gain from a faster card grows with the batch of a CNN.
func TestSmallBatchFillsLess(t *testing.T) {
	m := fitted(t)
	ratio := func(batch int) float64 {
		return m.Ratio(task(t, profile.CNN, profile.FP32, batch), gpu(t, "A100-40GB"), gpu(t, "T4")).Value
	}
	if !(ratio(8) < 0.9*ratio(64)) || ratio(64) != ratio(512) || ratio(1) != ratio(8) {
		t.Errorf("A100 over T4: %v at 1, %v at 8, %v at 64, %v at 512", ratio(1), ratio(8), ratio(64), ratio(512))
	}
	unknown := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "net", Family: profile.CNN}}}
	if got := m.Ratio(unknown, gpu(t, "A100-40GB"), gpu(t, "T4")).Value; got != ratio(64) {
		t.Errorf("A100 over T4 is %v where the batch is not known, want %v as of a full one", got, ratio(64))
	}
}

func TestPaceAllocatesNothing(t *testing.T) {
	m, p := fitted(t), task(t, profile.CNN, profile.Mixed, 32)
	for _, card := range []*profile.GPUModel{gpu(t, "A100"), {Name: "NVIDIA A100-SXM4-40GB", Memory: 40 * profile.GiB}} {
		for range 2 {
			if n := testing.AllocsPerRun(100, func() { _ = m.Pace(p, card) }); n != 0 {
				t.Errorf("%s: %v allocations", card.Name, n)
			}
			if err := m.Observe(pace.Observation{Profile: p, GPU: *card, Throughput: 100}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func BenchmarkPace(b *testing.B) {
	m, p, a100 := fitted(b), task(b, profile.CNN, profile.Mixed, 32), gpu(b, "A100")
	for b.Loop() {
		_ = m.Pace(p, a100)
	}
}

func ExamplePredictor_Pace() {
	m, err := pretrained.Pace()
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := profile.Spec{
		Model:    profile.Model{Name: "resnet50", Family: profile.CNN},
		Training: profile.Training{BatchSize: 64, Precision: profile.Mixed},
	}
	p, err := profile.New(spec, profile.Trace{}, profile.GPUModel{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"H100 SXM", "A100", "Tesla T4"} {
		card, _ := profile.LookupGPU(name)
		e := m.Pace(&p, &card)
		fmt.Printf("%s: %.2f of a %s (%v)\n", card.Name, e.Value, m.Reference(), e.Source.Kind)
	}
	// Output:
	// H100-SXM5-80GB: 0.52 of a GB300-288GB (fitted)
	// A100-40GB: 0.23 of a GB300-288GB (fitted)
	// T4: 0.07 of a GB300-288GB (fitted)
}
