package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOutcome(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]Outcome{
		"ok":      {Took: 3 * time.Second},
		"code":    {Exit: 7, Took: 1},
		"signal":  {Exit: -1, Signal: 9, Took: time.Hour},
		"no time": {Exit: 2},
		"dropped": {Exit: 1, Took: time.Second, Dropped: 5 << 30},
		"error":   {Exit: -1, Err: "the command does not start: 5 reasons"},
	} {
		stem := filepath.Join(dir, name)
		if _, ok := ReadExit(stem); ok {
			t.Errorf("%s: an outcome before there is one", name)
		}
		if err := writeExit(stem, want); err != nil {
			t.Fatal(err)
		}
		if got, ok := ReadExit(stem); !ok || got != want {
			t.Errorf("%s: read %+v, want %+v", name, got, want)
		}
	}
	stem := filepath.Join(dir, "error of a long run")
	if err := writeExit(stem, Outcome{Err: "it is so", Dropped: 5}); err != nil {
		t.Fatal(err)
	}
	if o, ok := ReadExit(stem); !ok || o.Err != "it is so" {
		t.Errorf("read %+v", o)
	}
	for o, want := range map[Outcome]bool{{Exit: -1, Signal: 9}: true, {Exit: 137}: true, {Exit: -1, Signal: 15}: false, {Exit: 9}: false, {}: false} {
		if o.Killed() != want {
			t.Errorf("%v: killed %v", &o, !want)
		}
	}
	for text, want := range map[string]Outcome{ // of an older version, and of nobody
		"exit 3":      {Exit: 3},
		"exit 3 -5":   {Exit: 3},
		"exit 3 7 -5": {Exit: 3, Took: 7},
		"exit x":      {Exit: -1, Err: "unreadable exit record exit x"},
	} {
		stem := filepath.Join(dir, strings.ReplaceAll(text, " ", "_"))
		if err := os.Symlink(text, stem+exitEnd); err != nil {
			t.Fatal(err)
		}
		if got, ok := ReadExit(stem); !ok || got != want {
			t.Errorf("%q: read %+v, want %+v", text, got, want)
		}
	}
}

func TestClaim(t *testing.T) {
	long := strings.Repeat("node", 20)
	whole := Claim{Process: Process{4194303, 9999999999}, Space: Space{"0123456789", long}, Key: "abcdef0123"}
	if text := whole.String(); len(text) >= 60 {
		t.Errorf("%q takes a block of the disk", text)
	}
	whole.Space.Host = long[:maxHost]
	for text, want := range map[string]Claim{
		whole.String(): whole,
		"12 34":        {Process: Process{12, 34}}, // of an older version
		"12 34 - - -":  {Process: Process{12, 34}},
		"12 34 a":      {Process: Process{12, 34}, Space: Space{ID: "a"}},
	} {
		if got, err := parseClaim(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	if c, err := parseClaim("rubbish"); err == nil {
		t.Errorf("rubbish is %+v", c)
	}
}
