package profile

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVectorMask(t *testing.T) {
	for f := Feature(0); int(f) < FeatureCount; f++ {
		var v Vector
		info := f.Info()
		if err := v.Set(f, info.Lo); err != nil {
			t.Fatal(err)
		}
		for g := Feature(0); int(g) < FeatureCount; g++ {
			if x, ok := v.Get(g); ok != (f == g) || ok && x != info.Lo {
				t.Errorf("set %v alone: %v is %v, %t", f, g, x, ok)
			}
		}
		if v.Or(f, -1) != info.Lo {
			t.Errorf("%v: Or gives %v", f, v.Or(f, -1))
		}
		v.Clear(f)
		if v != (Vector{}) || v.Or(f, -1) != -1 {
			t.Errorf("%v: not empty after Clear", f)
		}
	}
}

func TestVectorRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Feature
		x    float64
		want string
	}{
		{"NaN", MeanGPUBusy, math.NaN(), "mean_gpu_busy is NaN, want 0 to 1"},
		{"infinity", ParamCount, math.Inf(1), "want a number from 0 on"},
		{"minus infinity", ParamCount, math.Inf(-1), "params is -Inf"},
		{"negative", PeakMemory, -1, "peak_memory is -1"},
		{"per cent", MeanSMActive, 93, "mean_sm_active is 93"},
		{"a batch of nothing", BatchSize, 0, "batch is 0, want a number from 1 on"},
		{"no feature", Feature(FeatureCount), 1, "does not exist"},
		{"far from a feature", 255, 1, "does not exist"},
	} {
		v := Vector{}
		if err := v.Set(c.f, c.x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if v != (Vector{}) {
			t.Errorf("%s: something was stored", c.name)
		}
	}
	var v Vector
	v.Clear(255)
	if _, ok := v.Get(255); ok || v.Or(255, 3) != 3 || Feature(255).String() != "" || Feature(255).Info() != (FeatureInfo{}) {
		t.Error("feature 255 has something")
	}
}

func TestFeatureTable(t *testing.T) {
	names := map[string]bool{}
	for f := Feature(0); int(f) < FeatureCount; f++ {
		info := f.Info()
		if info.Name == "" || info.Unit == "" || info.Doc == "" || names[info.Name] || info.Lo < 0 || info.Hi != 0 && info.Hi <= info.Lo {
			t.Errorf("feature %d: %+v", f, info)
		}
		names[info.Name] = true
		if got, ok := FeatureByName(info.Name); !ok || got != f {
			t.Errorf("%s: found %v, %t", info.Name, got, ok)
		}
	}
	if _, ok := FeatureByName("no such thing"); ok {
		t.Error("found what does not exist")
	}
	if FeatureCount > int(noFeature) {
		t.Error("a feature does not fit into its type")
	}
}

// drawVector fills a random part of a vector with values in range.
func drawVector(t *rapid.T) Vector {
	var v Vector
	for f := Feature(0); int(f) < FeatureCount; f++ {
		if !rapid.Bool().Draw(t, "known") {
			continue
		}
		info := f.Info()
		hi := info.Hi
		if hi == 0 {
			hi = math.MaxFloat64
		}
		if err := v.Set(f, rapid.Float64Range(info.Lo, hi).Draw(t, info.Name)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestVectorJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawVector(t)
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Vector
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Fatalf("%s: got %+v, %v, want %+v", data, got, err, want)
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(data) {
			t.Fatalf("written twice: %s, %s, %v", data, again, err)
		}
	})
}

func TestVectorJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":99,"features":{}}`:                      "version 99",
		`{"features":{}}`:                                   "version 0",
		`{"version":1,"features":{"speed":1}}`:              `unknown feature "speed"`,
		`{"version":1,"features":{"mean_gpu_busy":1.5}}`:    "mean_gpu_busy is 1.5",
		`{"version":1,"features":{"mean_gpu_busy":"lots"}}`: "profile: vector",
		`{"version":4,"features":{}}`:                       "version 4, want 1 to 3",
		`{"version":1,"features":{"mean_gpu_busy":1e999}}`:  "profile: vector",
		`[]`: "profile: vector",
	} {
		v := Vector{}
		if err := json.Unmarshal([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if v != (Vector{}) {
			t.Errorf("%s: something was stored", text)
		}
	}
}

func FuzzVectorJSON(f *testing.F) {
	f.Add([]byte(`{"version":1,"features":{"layers":3,"mean_gpu_busy":0.5}}`))
	f.Add([]byte(`{"version":2,"features":{"layers":3}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again Vector
		if json.Unmarshal(data, &v) != nil {
			return
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil || v != again {
			t.Fatalf("%s: got %+v, %v, want %+v", out, again, err, v)
		}
	})
}

func ExampleVector() {
	var v Vector
	if err := v.Set(MeanGPUBusy, 0.75); err != nil {
		fmt.Println(err)
	}
	busy, ok := v.Get(MeanGPUBusy)
	fmt.Println(busy, ok, v.Or(MeanSMActive, -1))
	fmt.Println(v.Set(MeanSMActive, 75))
	// Output:
	// 0.75 true -1
	// profile: feature mean_sm_active is 75, want 0 to 1
}

func ExampleFeatureByName() {
	f, ok := FeatureByName("peak_memory")
	fmt.Println(f == PeakMemory, ok, f.Info().Unit, f.Info().Doc)
	// Output: true true B largest device memory in use, alone
}

// TestVectorVersion1 loads what version 1 wrote.
func TestVectorVersion1(t *testing.T) {
	var v Vector
	if err := json.Unmarshal([]byte(`{"version":1,"features":{"busy_power":0.5,"layers":3,"mean_gpu_busy":0.25}}`), &v); err != nil {
		t.Fatal(err)
	}
	wantFeatures(t, v, map[Feature]float64{BusyPower: 0.5, LayerCount: 3, MeanGPUBusy: 0.25})
	data, err := json.Marshal(v)
	if want := `{"version":3,"features":{"busy_power":0.5,"layers":3,"mean_gpu_busy":0.25}}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}

// TestFeatureOrder pins the indices of version 1, which fitted models store.
func TestFeatureOrder(t *testing.T) {
	if LayerCount != 0 || MeanGPUBusy != 18 || BusyPower != 29 || MeanMemory != 30 {
		t.Error("features were moved: append them")
	}
}

var update = flag.Bool("update", false, "write FEATURES.md again")

// TestFeatureDocument checks that FEATURES.md is what the table says; -update
// writes it.
func TestFeatureDocument(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Features of a profile.Vector, version %d\n\nGenerated from the code by `go test ./profile -run TestFeatureDocument -update`.\n", VectorVersion)
	b.WriteString("Every feature may be missing. Ranges are inclusive; means and percentiles are weighted by time.\n\n")
	b.WriteString("| index | name | unit | range | meaning |\n|---|---|---|---|---|\n")
	for f := Feature(0); int(f) < FeatureCount; f++ {
		info := f.Info()
		hi := "unbounded"
		if info.Hi > 0 {
			hi = fmt.Sprint(info.Hi)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %v to %s | %s |\n", f, info.Name, info.Unit, info.Lo, hi, info.Doc)
	}
	if *update {
		if err := os.WriteFile("FEATURES.md", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("FEATURES.md")
	if err != nil || string(got) != b.String() {
		t.Errorf("FEATURES.md is not what the table says (%v): run with -update", err)
	}
}

// TestEither: what is measured finely counts before what is measured coarsely.
func TestEither(t *testing.T) {
	var v Vector
	if x, ok := v.Either(MeanSMActive, MeanGPUBusy); ok {
		t.Errorf("of nothing %v", x)
	}
	for _, c := range []struct {
		f    Feature
		x    float64
		want float64
	}{{MeanGPUBusy, 0.9, 0.9}, {MeanSMActive, 0.4, 0.4}} {
		if err := v.Set(c.f, c.x); err != nil {
			t.Fatal(err)
		}
		if x, ok := v.Either(MeanSMActive, MeanGPUBusy); !ok || x != c.want {
			t.Errorf("%v, %t, want %v", x, ok, c.want)
		}
	}
}
