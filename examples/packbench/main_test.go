package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
)

func TestSmallest(t *testing.T) {
	got := smallest("goos: linux\nBenchmarkX/a-2 \t 1\t 300 ns/op\t 0.5 gap_pct\nBenchmarkX/a-2 \t 1\t 200 ns/op\t 0.7 gap_pct\nBenchmarkY\nPASS\n")
	if len(got) != 2 || got["ns/op"] != 200 || got["gap_pct"] != 0.5 {
		t.Errorf("got %v", got)
	}
}

func TestJudge(t *testing.T) {
	pairs := promise{time: 1500 * time.Microsecond, gap: 1}
	for _, test := range []struct {
		name    string
		promise promise
		figures map[string]float64
		want    string
	}{
		{"in time", pairs, map[string]float64{"ns/op": 1234567, "gap_pct": 1}, "1.234ms <1.5ms gap 1.0000 % <=1 % met"},
		{"late", pairs, map[string]float64{"ns/op": 1.5e6}, "1.5ms <1.5ms missed"},
		{"a gap", pairs, map[string]float64{"ns/op": 1e6, "gap_pct": 1.1}, "1ms <1.5ms gap 1.1000 % <=1 % missed"},
		{"memory", promise{time: time.Second, bytes: 1 << 30}, map[string]float64{"ns/op": 1e6, "B/op": 1 << 31}, "1ms <1s 2 GiB <1 GiB missed"},
		{"no promise", promise{}, map[string]float64{"ns/op": 1e6, "gap_pct": 3, "B/op": 5}, "1ms gap 3.0000 %"},
		{"another", promise{}, map[string]float64{"ns/op": 1e6, "ratio": 31.26}, "1ms 31.3 times as long"},
		{"skipped", promise{}, nil, "does not run here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			row, missed := test.promise.judge(test.figures)
			if got := strings.Join(strings.Fields(row), " "); got != test.want || missed != strings.HasSuffix(test.want, "missed") {
				t.Errorf("got %q, missed %t; want %q", got, missed, test.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	t.Chdir("../..") // of the module
	for _, test := range []struct {
		name   string
		args   []string
		status int
		want   string // of both outputs
	}{
		{"help", []string{"-h"}, 0, "usage: packbench"},
		{"argument", []string{"x"}, 2, "want no arguments"},
		{"repeats", []string{"-repeats", "0"}, 2, "-repeats from 1"},
		{"flag", []string{"-nonsense"}, 2, "flag provided but not defined"},
		{"no data", []string{"-data", "testdata", "-case", "exact pairs/lucid/n=100"}, 1, "interference_lucid.csv"},
	} {
		t.Run(test.name, func(t *testing.T) { runs(t, test.args, test.status, test.want) })
	}
}

// TestCases compiles and runs two cases.
func TestCases(t *testing.T) {
	if race.Enabled {
		t.Skip("compiles the packages without the race detector, for a minute of a CPU")
	}
	t.Chdir("../..") // of the module
	runs(t, []string{"-case", "exact pairs/random/n=100", "-quick", "-repeats", "1"}, 0, " of 2 met")
}

// runs runs the program and compares its status and a part of both outputs.
func runs(t *testing.T, args []string, status int, want string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), args, &out, &errs); got != status {
		t.Errorf("status %d, want %d", got, status)
	}
	if got := out.String() + errs.String(); !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}
