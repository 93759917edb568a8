package enum_test

import (
	"strings"
	"testing"

	"example.com/colloc/internal/enum"
)

type color int

// TestNames: what is written is read again; what has no name is neither written nor read, and changes nothing.
func TestNames(t *testing.T) {
	names := enum.Of("paint: color", "red", "green")
	for i := range names.Len() {
		text, err := names.Marshal(i)
		if err != nil || string(text) != names.Text(i) {
			t.Errorf("%d is written as %q, %v", i, text, err)
		}
		for _, form := range []string{string(text), " " + strings.ToUpper(string(text))} {
			got := color(-1)
			if err := enum.Parse(names, []byte(form), &got); err != nil || int(got) != i {
				t.Errorf("%q is read as %d, %v", form, got, err)
			}
		}
	}
	for _, i := range []int{-1, 2} {
		if text, err := names.Marshal(i); err == nil || !strings.HasPrefix(err.Error(), "paint: color ") {
			t.Errorf("%d is written as %q, %v", i, text, err)
		}
	}
	got := color(1)
	if err := enum.Parse(names, []byte("blue"), &got); err == nil || err.Error() != `paint: unknown color "blue"; known are red, green` || got != 1 {
		t.Errorf("blue is %d, %v", got, err)
	}
	if names.Text(2) != "color(2)" {
		t.Errorf("2 is %q", names.Text(2))
	}
}
