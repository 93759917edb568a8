package profile

import (
	"encoding/json"
	"fmt"
	"math"
)

// Vector holds the features of one task with a mask of what is missing. It is
// a plain value: copy it, compare it with ==, use it as a map key.
type Vector struct {
	values [FeatureCount]float64
	known  [(FeatureCount + 63) / 64]uint64
}

// Get returns the value of f and whether it is known.
func (v *Vector) Get(f Feature) (float64, bool) {
	if int(f) >= FeatureCount || v.known[f/64]&(1<<(f%64)) == 0 {
		return 0, false
	}
	return v.values[f], true
}

// Either returns the value of a, or, where that is not known, that of b: a
// profiler's counter and its coarser kin, as SM active and GPU busy. It returns
// false where neither is known.
func (v *Vector) Either(a, b Feature) (float64, bool) {
	if x, ok := v.Get(a); ok {
		return x, true
	}
	return v.Get(b)
}

// Or returns the value of f, or missing if it is not known.
func (v *Vector) Or(f Feature, missing float64) float64 {
	if x, ok := v.Get(f); ok {
		return x
	}
	return missing
}

// Equal reports whether v and other know the same features with the same values,
// as == does. go-cmp asks it.
func (v Vector) Equal(other Vector) bool { return v == other }

// Set stores a value. It returns an error, and stores nothing, for a feature
// that does not exist and for a value that is not finite or out of the
// feature's range.
func (v *Vector) Set(f Feature, x float64) error {
	if int(f) >= FeatureCount {
		return fmt.Errorf("profile: feature %d does not exist", f)
	}
	info := f.Info()
	if math.IsNaN(x) || math.IsInf(x, 0) || x < info.Lo || (info.Hi > 0 && x > info.Hi) {
		return fmt.Errorf("profile: feature %s is %v, want %v", info.Name, x, info.rangeText())
	}
	v.values[f] = x
	v.known[f/64] |= 1 << (f % 64)
	return nil
}

// Clear makes f missing.
func (v *Vector) Clear(f Feature) {
	if int(f) < FeatureCount {
		v.values[f] = 0
		v.known[f/64] &^= 1 << (f % 64)
	}
}

func (i FeatureInfo) rangeText() string {
	if i.Hi > 0 {
		return fmt.Sprintf("%v to %v", i.Lo, i.Hi)
	}
	return fmt.Sprintf("a number from %v on", i.Lo)
}

// vectorJSON is the file form: the version and the known features by name.
type vectorJSON struct {
	Version  int                `json:"version"`
	Features map[string]float64 `json:"features"`
}

// MarshalJSON writes the version and the known features by name, in
// alphabetical order.
func (v Vector) MarshalJSON() ([]byte, error) {
	out := vectorJSON{Version: VectorVersion, Features: make(map[string]float64)}
	for f := Feature(0); int(f) < FeatureCount; f++ {
		if x, ok := v.Get(f); ok {
			out.Features[f.String()] = x
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, now or in an earlier version:
// features that version did not know are missing. A later version, an unknown
// feature and a value out of range are errors.
func (v *Vector) UnmarshalJSON(data []byte) error {
	var in vectorJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("profile: vector: %w", err)
	}
	if in.Version < 1 || in.Version > VectorVersion {
		return fmt.Errorf("profile: vector: version %d, want 1 to %d", in.Version, VectorVersion)
	}
	var out Vector
	for name, x := range in.Features {
		f, ok := FeatureByName(name)
		if !ok {
			return fmt.Errorf("profile: vector: unknown feature %q", name)
		}
		if err := out.Set(f, x); err != nil {
			return err
		}
	}
	*v = out
	return nil
}
