package profile

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestOptZeroIsNotMissing(t *testing.T) {
	none, zero := Opt[float64]{}, Some(0.0)
	if none == zero {
		t.Error("a measured zero equals missing")
	}
	if _, ok := none.Get(); ok {
		t.Error("the zero Opt has a value")
	}
	if v, ok := zero.Get(); !ok || v != 0 {
		t.Error("a measured zero got lost")
	}
	if none.Or(7) != 7 || zero.Or(7) != 0 {
		t.Error("Or does not tell missing from zero")
	}
	if none.String() != "missing" || zero.String() != "0" {
		t.Errorf("got %v, %v", none, zero)
	}
}

func TestOptEqual(t *testing.T) {
	none := Opt[[]int]{} // ==, which cannot compare slices, would panic
	if !none.Equal(none) || none.Equal(Some([]int(nil))) || !Some([]int{1}).Equal(Some([]int{1})) || Some([]int{1}).Equal(Some([]int{2})) {
		t.Error("Equal does not tell values and missing apart")
	}
}

func TestOptJSON(t *testing.T) {
	type record struct {
		Plain  Opt[float64]       `json:"plain"`
		Absent Opt[float64]       `json:"absent,omitzero"`
		Zero   Opt[int64]         `json:"zero,omitzero"`
		Size   Opt[Bytes]         `json:"size,omitzero"`
		Step   Opt[time.Duration] `json:"step,omitzero"`
	}
	in := record{Zero: Some[int64](0), Size: Some(GiB), Step: Some(time.Millisecond)}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"plain":null,"zero":0,"size":1073741824,"step":1000000}`
	if string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
	out := record{Plain: Some(3.0)} // null must make it missing again
	if err := json.Unmarshal(data, &out); err != nil || out != in {
		t.Errorf("got %+v, %v, want %+v", out, err, in)
	}
	if err := json.Unmarshal([]byte(`{"zero":1.5}`), &out); err == nil {
		t.Error("a fraction was read into an int64")
	}
	if err := json.Unmarshal([]byte(`{"size":"1 MiB"}`), &out); err != nil || out.Size != Some(MiB) {
		t.Errorf("got %v, %v", out.Size, err)
	}
}

func ExampleOpt() {
	idle, unknown := Some(0.0), Opt[float64]{}
	_, ok := unknown.Get()
	fmt.Println(idle, unknown, unknown.Or(0.5), ok)
	// Output: 0 missing 0.5 false
}

func ExampleSome() {
	s := Sample{GPUBusy: Some(0.93)}
	data, err := json.Marshal(s)
	fmt.Println(string(data), err)
	// Output: {"gpu_busy":0.93} <nil>
}
