package settings

import (
	"testing"

	"example.com/colloc/colloc/slurm/site"
)

// TestBoth: what both constraints hold for, as Suits reads them.
func TestBoth(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a", "", "a"},
		{"", "b", "b"},
		{"a", "b", "a&b"},
		{"a|b&c", "d|e", "a&d|a&e|b&c&d|b&c&e"},
	} {
		if got := Both(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	s := &Settings{Constraint: Both("a|b", "c")}
	for features, want := range map[string]bool{"a": false, "c": false, "b": false} {
		if got := s.Suits(&site.Node{Features: []string{features}}); got != want {
			t.Errorf("%s: %t", features, got)
		}
	}
	if !s.Suits(&site.Node{Features: []string{"c", "b"}}) {
		t.Error("b and c do not suit")
	}
}
