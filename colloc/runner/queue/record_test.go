package queue

import (
	"slices"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// TestStates: a task that waits or runs goes on by itself, one that ended does not; each
// state has the name that records show.
func TestStates(t *testing.T) {
	for state, want := range map[State]struct {
		over bool
		name string
	}{
		Queued: {false, "queued"}, Starting: {false, "starting"}, Running: {false, "running"},
		Succeeded: {true, "succeeded"}, Failed: {true, "failed"}, Cancelled: {true, "cancelled"},
	} {
		if state.Over() != want.over || state.String() != want.name {
			t.Errorf("state %d is %q and over %v, want %q and %v", int(state), state, state.Over(), want.name, want.over)
		}
	}
	if got := State(-1).String(); got != "state(-1)" {
		t.Errorf("a state below all is %q", got)
	}
}

// TestDevices: a record names all GPUs of its run, also where only the first is told.
func TestDevices(t *testing.T) {
	for _, tt := range []struct {
		r    Record
		want []nvmlx.DeviceID
		on   string
	}{
		{Record{}, nil, ""},
		{Record{GPU: "a"}, []nvmlx.DeviceID{"a"}, "a"},
		{Record{GPUs: []nvmlx.DeviceID{"b"}}, []nvmlx.DeviceID{"b"}, "b"},
		{Record{GPU: "a", GPUs: []nvmlx.DeviceID{"a", "b"}}, []nvmlx.DeviceID{"a", "b"}, "a,b"},
	} {
		if got := tt.r.Devices(); !slices.Equal(got, tt.want) || tt.r.On() != tt.on {
			t.Errorf("%q and %v: %q, on %q; want %q", tt.r.GPU, tt.r.GPUs, got, tt.r.On(), tt.on)
		}
	}
	for gpus, want := range map[int]int{0: 1, 1: 1, 3: 3} {
		if got := (&Task{GPUs: gpus}).Width(); got != want {
			t.Errorf("a task of %d GPUs takes %d", gpus, got)
		}
	}
}

// TestOverrun: what a run uses beyond its reservation, which is nothing where nobody saw it.
func TestOverrun(t *testing.T) {
	for _, tt := range []struct {
		peak profile.Opt[profile.Bytes]
		want profile.Bytes
	}{
		{profile.Opt[profile.Bytes]{}, 0}, {profile.Some[profile.Bytes](7), 0}, {profile.Some[profile.Bytes](10), 0}, {profile.Some[profile.Bytes](13), 3},
	} {
		if r := (Record{Peak: tt.peak, Reserved: 10}); r.Overrun() != tt.want {
			t.Errorf("peak %v of 10 reserved: %d over, want %d", tt.peak, r.Overrun(), tt.want)
		}
	}
}
