package profile

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Opt is a value of type T or the fact that it was not measured. The zero Opt
// is missing; a zero that was measured is Some(0).
//
// In JSON a missing value is null or, in a field tagged omitzero, absent.
type Opt[T any] struct {
	value T
	ok    bool
}

// Some returns an Opt that holds v.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, ok: true} }

// Get returns the value and whether there is one.
func (o Opt[T]) Get() (T, bool) { return o.value, o.ok }

// Or returns the value, or missing if there is none.
func (o Opt[T]) Or(missing T) T {
	if o.ok {
		return o.value
	}
	return missing
}

// IsZero reports whether the value is missing. encoding/json asks it for
// fields tagged omitzero.
func (o Opt[T]) IsZero() bool { return !o.ok }

// Equal reports whether both are missing or both hold the same value. go-cmp asks
// it. NaN equals nothing, as with ==.
func (o Opt[T]) Equal(other Opt[T]) bool { return reflect.DeepEqual(o, other) }

// String returns the value as fmt prints it, or "missing".
func (o Opt[T]) String() string {
	if !o.ok {
		return "missing"
	}
	return fmt.Sprint(o.value)
}

// MarshalJSON writes the value, or null if it is missing.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.ok {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value, or null as missing.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = Opt[T]{}
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}
