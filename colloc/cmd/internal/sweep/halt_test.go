package sweep

import (
	"strings"
	"testing"
)

func TestParseHalt(t *testing.T) {
	for _, tt := range []struct {
		text     string
		now      bool
		failures int // of 30 tasks
		err      string
	}{
		{text: "never"},
		{text: "now", now: true, failures: 1},
		{text: "soon", failures: 1},
		{text: "soon,fail=3", failures: 3},
		{text: "now,fail=10%", now: true, failures: 3},
		{text: "soon,fail=11%", failures: 4},
		{text: "soon,fail=0.1%", failures: 1},
		{text: "later", err: "column 1"},
		{text: "now,done=1", err: "column 5: \"done=1\""},
		{text: "soon,fail=0", err: "column 11"},
		{text: "soon,fail=101%", err: "column 11"},
		{text: "soon,fail=NaN%", err: "column 11"},
	} {
		h, err := parseHalt(tt.text)
		if !failsWith(err, tt.err) || h.now != tt.now || h.failures(30) != tt.failures {
			t.Errorf("%q: %+v, %d of 30, %v", tt.text, h, h.failures(30), err)
		}
	}
}

// failsWith reports whether err is what text says: nothing, or an error with it.
func failsWith(err error, text string) bool {
	if text == "" || err == nil {
		return text == "" && err == nil
	}
	return strings.Contains(err.Error(), text)
}
