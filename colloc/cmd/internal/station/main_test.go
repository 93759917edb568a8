package station

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/testbed"
)

// mainEnv makes the test binary the program.
const mainEnv = "COLLOC_STATION_MAIN"

func TestMain(m *testing.M) {
	testbed.Prepare()
	runner.Supervise()
	if os.Getenv(mainEnv) != "" || len(os.Args) > 1 && os.Args[1] == "burn" {
		program := Program()
		if os.Args[1] == "burn" {
			program = burn.Program()
		}
		os.Exit(program.Run(context.Background(), os.Args[2:], cli.OS()))
	}
	os.Exit(m.Run())
}

// call runs a subcommand in this process.
func call(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out, errs bytes.Buffer
	p := &program{streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, now: time.Now}
	status = p.run(tb.Context(), args)
	return status, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Setenv("COLLOC_STATION", "/nowhere/s.sock")
	for _, tt := range []struct {
		args   string
		status int
		text   string
	}{
		{"", 2, "usage: colloc station"},
		{"-h", 0, "colloc station submit"},
		{"help", 0, "colloc station submit"},
		{"sumbit", 2, `no command "sumbit"`},
		{"submit -h", 0, "-share"},
		{"submit", 2, "write it after --"},
		{"submit -f x -- y", 2, "want one of them"},
		{"submit -share maybe -- true", 2, `"maybe"`},
		{"submit -slowdown nan -- true", 2, "-slowdown NaN"},
		{"submit -slowdown inf -- true", 2, "-slowdown +Inf"},
		{"submit -n -1 -- true", 2, "for flag -n: want 1 to 100000"},
		{"submit -- no-such-program", 2, "does not exist"},
		{"submit -mem lots -- true", 2, "lots"},
		{"submit -p x -- true", 2, "x"},
		{"submit -- true", 1, "no station runs here"},
		{"list", 1, "no station runs here"},
		{"list extra", 2, `"extra"`},
		{"list -state lost", 2, "lost"},
		{"show", 2, "want ID"},
		{"logs 1 2", 2, `"2"`},
		{"cancel", 2, "want ID"},
		{"reserve -until soon 0", 2, "soon"},
		{"reserve -until 18:00", 2, "want GPU"},
		{"top -every 1ms", 2, "1ms"},
		{"serve -per-gpu 0", 2, "want 1 or more"},
		{"serve -share rarely", 2, "rarely"},
		{"serve -dir DIR -fake-gpus /nowhere", 2, "nowhere"},
		{"wait 1 -x", 2, "flags come first"},
		{"show 7 -json", 2, `"-json": flags come first: colloc station show [flags] ID`},
		{"submit -- true -x", 1, "no station"},
	} {
		status, stdout, stderr := call(t, strings.Fields(strings.ReplaceAll(tt.args, "DIR", t.TempDir()))...)
		if status != tt.status || !strings.Contains(stdout+stderr, tt.text) {
			t.Errorf("%q: status %d with %q, want %d with %q", tt.args, status, stdout+stderr, tt.status, tt.text)
		}
	}
}

// Each command explains itself and completes its flags.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		status, stdout, _ := call(t, c.name, "-h")
		if status != 0 || !strings.HasPrefix(stdout, "usage: colloc station "+c.name) {
			t.Errorf("%s -h: status %d with %q", c.name, status, stdout)
		}
		if f := flagsOf(c); f == nil || f.Lookup("socket") == nil || f.Lookup("json") == nil {
			t.Errorf("%s has no flags to complete", c.name)
		}
	}
	if _, stdout, _ := call(t, "submit", "-h"); strings.Contains(stdout, "epochs?") {
		t.Error("the help of submit shows the usual pattern of steps")
	}
}

// A user who has no account any more is named and left out, and keeps nothing from starting;
// a number is a user all the same.
func TestNoAccount(t *testing.T) {
	var o serving
	for _, err := range []error{o.limit("nobody-at-all:gpus=1"), o.weigh("nobody-at-all=2"), o.limit("54321:gpus=2"), o.weigh("54321=3")} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{`-limit: there is no user "nobody-at-all" here: this is left out`, `-weight: there is no user "nobody-at-all" here: this is left out`}
	if !slices.Equal(o.notes, want) || len(o.config.Limits) != 1 || o.config.Limits[54321].MaxGPUs != 2 || len(o.config.Weights) != 1 || o.config.Weights[54321] != 3 {
		t.Errorf("notes %q, limits %v, weights %v", o.notes, o.config.Limits, o.config.Weights)
	}
	for _, text := range []string{"nobody-at-all", "nobody-at-all:gpus=many"} {
		if o.limit(text) == nil {
			t.Errorf("-limit %s is taken", text)
		}
	}
}

func TestParseUntil(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"36h": "2026-03-16T03:09:00Z", "18:00": "2026-03-14T18:00:00Z", "9:30": "2026-03-15T09:30:00Z", "2026-04-01": "2026-04-01T00:00:00Z",
		"2026-04-01 12:30": "2026-04-01T12:30:00Z", "2026-04-01T12:30:00+02:00": "2026-04-01T12:30:00+02:00",
	} {
		if got, err := parseUntil(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "25:00", "tomorrow", "2026-13-01"} {
		if got, err := parseUntil(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A screen has no more lines and columns than the terminal.
func TestFrame(t *testing.T) {
	got := frame("one\ntwö three\nfour\n", 5, 2)
	if want := "\x1b[Hone\x1b[K\r\ntwö t\x1b[K\x1b[J"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
