package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
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
	r := &report{Writer: &out}
	all := cases(from, 50)
	for _, c := range all {
		if err := c.measure(t.Context(), 1, rival, r); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := arrivals("arrival", &from[1], 4, 10, r); err != nil {
		t.Error(err)
	}
	if rows := strings.Count(out.String(), "\n"); rows != len(all)+1 {
		t.Errorf("%d rows for %d cases:\n%s", rows, len(all)+1, out.String())
	}
}

// stopped is a method that does not finish.
type stopped struct{ packer.Method }

func (s stopped) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	sol, err := s.Method.Pack(ctx, p)
	return sol, errors.Join(err, context.DeadlineExceeded)
}

func TestStopped(t *testing.T) {
	var out bytes.Buffer
	c := cases([]source{{name: "random"}}, 50)[0]
	c.method = stopped{solve.Greedy{}}
	if err := c.measure(t.Context(), 1, nil, &report{Writer: &out}); err != nil || !strings.Contains(out.String(), "no bound, stopped") || !strings.Contains(out.String(), "missed") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestReport(t *testing.T) {
	for _, test := range []struct {
		name       string
		took, most time.Duration
		also       []figure
		want       string
	}{
		{"no limit", time.Second, 0, []figure{{"gap 1 %", "", false}}, "row 1s gap 1 %"},
		{"in time", 1234 * time.Microsecond, 1500 * time.Microsecond, nil, "row 1.23ms <1.5ms met"},
		{"late", 12345 * time.Millisecond, time.Second, nil, "row 12.3s <1s missed"},
		{"figures", 999 * time.Nanosecond, time.Second, []figure{{"a 1", "<2", false}, {"b 3", "<3", true}}, "row 0.999µs <1s a 1, b 3 <2, <3 missed"},
		{"figure alone", 0, 0, []figure{{"a 1", "1", false}}, "row 0µs a 1 1 met"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			r := &report{Writer: &out}
			r.row("row", test.took, test.most, test.also, "", "")
			if got := strings.Join(strings.Fields(out.String()), " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
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
	write("interference_lucid.csv", "gpu,job_a,job_b,norm_speed_a,norm_speed_b\n3090,x,x,0.5,0.5\n3090,x,y,0.75,1\n")
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
	for _, text := range []string{"", "job_a,job_b\n", "gpu,job_a,job_b,norm_speed_a,norm_speed_b\n", "a\"b"} {
		write("interference_lucid.csv", text)
		if _, err := sources(dir); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
