package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCases measures every case, a good deal smaller, and asks LEMON if it is
// here.
func TestCases(t *testing.T) {
	from, err := sources("")
	if err != nil {
		t.Fatal(err)
	}
	rival, why := newLEMON(t.Context(), time.Minute)
	defer rival.close()
	if why != "" {
		t.Log("without LEMON:", why)
	}
	var out bytes.Buffer
	all := cases(from, 50)
	for _, c := range all {
		if err := c.measure(t.Context(), 1, rival, &writer{Writer: &out}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if took, err := arrivals(&from[1], 4, 10); err != nil || took <= 0 {
		t.Errorf("an arrival takes %v, %v", took, err)
	}
	if rows := strings.Count(out.String(), "\n"); rows != len(all) {
		t.Errorf("%d rows for %d cases:\n%s", rows, len(all), out.String())
	}
}

func TestRun(t *testing.T) {
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
		{"no data", []string{"-data", "testdata"}, 1, "interference_lucid.csv"},
		{"one case", []string{"-case", "exact pairs/random/n=100", "-quick", "-repeats", "1", "-lemon", "0"}, 0, "exact pairs/random/n=1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(t.Context(), test.args, &out, &errs); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if got := out.String() + errs.String(); !strings.Contains(got, test.want) {
				t.Errorf("%q is not in\n%s", test.want, got)
			}
		})
	}
}

func TestMeasured(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("interference_lucid.csv", "job_a,job_b,norm_speed_a,norm_speed_b\nx,x,0.5,0.5\nx,y,0.75,1\n")
	write("interference_gavel.csv", "gpu,job_a,job_b,norm_speed_a,norm_speed_b\np100,x,x,0.1,0.1\nv100,x,x,0.5,0.5\n")
	from, err := sources(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(from) != 3 || from[1].speeds[0][1] != 0.75 || from[1].speeds[1][0] != 1 || from[2].speeds[0][0] != 0.5 {
		t.Errorf("got %+v", from)
	}
	if y := from[1].speeds[1][1]; !(y > 0) {
		t.Errorf("the pair that was not measured has speed %v", y)
	}
	for _, text := range []string{"", "job_a,job_b\n", "job_a,job_b,norm_speed_a,norm_speed_b\n", "a\"b"} {
		write("interference_lucid.csv", text)
		if _, err := sources(dir); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
