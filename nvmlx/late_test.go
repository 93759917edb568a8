package nvmlx_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
)

// TestSamplerFullReadingAfterLate: a full reading whose tick was skipped is made at the next
// one, and once.
func TestSamplerFullReadingAfterLate(t *testing.T) {
	clock := lateClock{&handClock{now: epoch}}
	var full, all []int // seconds
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
		second := int(clock.Now().Sub(epoch) / time.Second)
		if what&nvmlx.FieldPower != 0 {
			full = append(full, second)
		}
		if all = append(all, second); len(all) == 4 { // that of second 3 ends at 5.5: the full one of second 4 is skipped
			clock.advance(2500 * time.Millisecond)
		}
		if second == 12 {
			return nvmlx.Sample{}, io.EOF
		}
		return nvmlx.Sample{Device: id}, nil
	}}
	_, _, err := collect(t.Context(), src, nvmlx.SamplerConfig{
		Clock: clock, Slow: 4 * time.Second, Fast: time.Second, SlowFields: nvmlx.FieldPower, FastFields: nvmlx.FieldSMActive,
	})
	if want := []int{0, 5, 8, 12}; err != nil || !slices.Equal(full, want) {
		t.Errorf("full readings in seconds %v, %v; want %v", full, err, want)
	}
	if want := []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(all, want) {
		t.Errorf("readings in seconds %v, want %v", all, want)
	}
}
