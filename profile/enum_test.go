package profile

import (
	"encoding"
	"fmt"
	"strings"
	"testing"
)

// enums lists every enumeration with a maker for its values.
var enums = map[string]struct {
	count int
	make  func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer)
}{
	"Mechanism": {Mechanisms, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return Mechanism(i), new(Mechanism), Mechanism(i)
	}},
	"LayerKind": {LayerKinds, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return LayerKind(i), new(LayerKind), LayerKind(i)
	}},
	"Family": {Families, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return Family(i), new(Family), Family(i)
	}},
	"Precision": {Precisions, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return Precision(i), new(Precision), Precision(i)
	}},
	"Optimizer": {Optimizers, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return Optimizer(i), new(Optimizer), Optimizer(i)
	}},
	"Parallelism": {Parallelisms, func(i int) (encoding.TextMarshaler, encoding.TextUnmarshaler, fmt.Stringer) {
		return Parallelism(i), new(Parallelism), Parallelism(i)
	}},
}

func TestEnumTextRoundTrip(t *testing.T) {
	for name, enum := range enums {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for i := range enum.count {
				value, into, printed := enum.make(i)
				text, err := value.MarshalText()
				if err != nil {
					t.Fatal(err)
				}
				if string(text) != printed.String() || len(text) == 0 || seen[string(text)] {
					t.Errorf("%d: text %q, String %q, seen %t", i, text, printed, seen[string(text)])
				}
				seen[string(text)] = true
				for _, form := range []string{string(text), strings.ToUpper(string(text))} {
					if err := into.UnmarshalText([]byte(form)); err != nil {
						t.Fatal(err)
					}
					if got := fmt.Sprint(into); got != string(text) {
						t.Errorf("%q: got %q", form, got)
					}
				}
			}
		})
	}
}

func TestEnumOutOfRange(t *testing.T) {
	for name, enum := range enums {
		for _, i := range []int{-1, enum.count, 1 << 30} {
			value, into, printed := enum.make(i)
			if _, err := value.MarshalText(); err == nil {
				t.Errorf("%s: value %d was written", name, i)
			}
			if !strings.Contains(printed.String(), "(") {
				t.Errorf("%s: value %d prints as %q", name, i, printed)
			}
			if err := into.UnmarshalText([]byte("no such thing")); err == nil || !strings.Contains(err.Error(), "known are") {
				t.Errorf("%s: got %v, want an error that lists what is known", name, err)
			}
			if _, _, zero := enum.make(0); fmt.Sprint(into) != zero.String() {
				t.Errorf("%s: what cannot be read is %v, want %v", name, into, zero)
			}
		}
	}
}

func TestOptimizerNames(t *testing.T) {
	for _, text := range []string{"adamw", "AdamW", "ADAMW", "NAdam", "adam"} {
		var o Optimizer
		if err := o.UnmarshalText([]byte(text)); err != nil || o != Adam {
			t.Errorf("%s: got %v, %v", text, o, err)
		}
	}
}

func ExampleParseMechanism() {
	m, err := ParseMechanism("MPS")
	fmt.Println(m, err)
	_, err = ParseMechanism("magic")
	fmt.Println(err)
	// Output:
	// mps <nil>
	// profile: unknown mechanism "magic"; known are exclusive, time-slicing, mps, mig
}
