package predict_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// A process that only opened a CUDA context tells what this machine costs.
func ExampleHostFromProbe() {
	host, err := predict.HostFromProbe("node7", "2.4.1+cu121", 4*profile.MiB, 524*profile.MiB)
	fmt.Printf("%s: %v %v\n", host.Name, host.Context, err)
	// Output:
	// node7 2.4.1+cu121: 520 MiB <nil>
}

func TestHostFromProbeFaults(t *testing.T) {
	for _, c := range []struct {
		name, stack   string
		before, after profile.Bytes
	}{
		{"no stack", " ", 0, profile.GiB},
		{"fell", "2.4", 2 * profile.GiB, profile.GiB},
		{"same", "2.4", profile.GiB, profile.GiB},
		{"negative", "2.4", -1, profile.GiB},
		{"too much", "2.4", 0, math.MaxInt64},
		{"a byte too much", "2.4", 0, predict.MaxContext + 1},
	} {
		if h, err := predict.HostFromProbe("n", c.stack, c.before, c.after); err == nil {
			t.Errorf("%s: %+v, want an error", c.name, h)
		}
	}
}

func TestHostFromProbeLargest(t *testing.T) {
	if h, err := predict.HostFromProbe("n", "2.4", 1, predict.MaxContext+1); err != nil || h.Context.Or(0) != predict.MaxContext {
		t.Errorf("%+v, %v: want the largest context", h, err)
	}
}

// TestSourceKindText: every kind has a name that is read back, and nothing else has.
func TestSourceKindText(t *testing.T) {
	for kind, name := range map[predict.SourceKind]string{predict.Prior: "prior", predict.Fitted: "fitted", predict.Measured: "measured"} {
		text, err := kind.MarshalText()
		var back predict.SourceKind = -1
		if err != nil || string(text) != name || back.UnmarshalText(text) != nil || back != kind {
			t.Errorf("%v: %q, %v, read back as %v", kind, text, err, back)
		}
	}
	for _, kind := range []predict.SourceKind{predict.Prior - 1, predict.Measured + 1} {
		if text, err := kind.MarshalText(); err == nil {
			t.Errorf("%d is written as %q", int(kind), text)
		}
		var back predict.SourceKind
		if err := back.UnmarshalText([]byte(kind.String())); err == nil {
			t.Errorf("%q is read as %v", kind.String(), back)
		}
	}
}
