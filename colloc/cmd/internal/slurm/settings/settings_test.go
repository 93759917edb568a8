package settings

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/taskfile"
)

// TestSound: what is wrong by itself is said before anything is asked of the cluster.
func TestSound(t *testing.T) {
	for _, tt := range []struct {
		s    Settings
		want string
	}{
		{Settings{Signal: "USR2", Limit: 3, Most: 4}, ""},
		{Settings{Signal: "KILL"}, "signal is \"KILL\": want one of USR1, "},
		{Settings{Limit: -1}, "limit is -1"},
		{Settings{Time: taskfile.Duration(-time.Hour)}, "time is -1h0m0s"},
		{Settings{Warn: taskfile.Duration(-time.Hour)}, "warn is -1h0m0s"},
		{Settings{Most: 5}, "most is 5"},
	} {
		if err := tt.s.Sound(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.s, err, tt.want)
		}
	}
}

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
