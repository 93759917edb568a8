package cli_test

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// TestExit: what is wrong is said once, without what a terminal would obey and without the middle of what is very long.
func TestExit(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, tt := range []struct {
		err    error
		status int
		want   []string
	}{
		{nil, 0, nil},
		{flag.ErrHelp, 0, nil},
		{errors.New("no disk"), 1, []string{"c: no disk\n"}},
		{cli.Usage("the word \x1b]0;title\a\x1b[2Jof a file"), 2, []string{"c: the word of a file\n"}},
		{cli.Usage("line 10: %s: no commands", long), 2, []string{"c: line 10: é", "é: no commands\n", " bytes are left out "}},
	} {
		var out bytes.Buffer
		if status := cli.Exit(&out, "c", tt.err); status != tt.status || len(tt.want) == 0 && out.Len() > 0 || out.Len() > 20<<10 {
			t.Errorf("%.50v: status %d, want %d; %d bytes", tt.err, status, tt.status, out.Len())
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%.50v: %.200q, want %q in it", tt.err, &out, want)
			}
		}
		if text := out.String(); strings.ToValidUTF8(text, "") != text || strings.Contains(text, "\x1b") {
			t.Errorf("%.50v: %.200q", tt.err, text)
		}
	}
}
