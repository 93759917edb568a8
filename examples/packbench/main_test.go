package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/fleet"
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

// TestFleet replays a trace in openb's layout, of two machines, and the one that
// is made up.
func TestFleet(t *testing.T) {
	dir := t.TempDir()
	if _, err := newFleet(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a trace: %v", err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "traces", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,A\nn1,8000,1024,1,B\n")
	write("openb_pod_list_default.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"+
		"p0,1000,1,1,500,A|B,0,1\np1,500,1,0,0,,0,1\np2,4000,2,2,1000,A,0,1\n")
	for _, test := range []struct{ data, want string }{{dir, "95.3 +-0.5 %"}, {"", "allocated"}} {
		f, err := newFleet(test.data)
		if err != nil {
			t.Fatal(err)
		}
		if test.data == "" {
			f.pods = f.pods[:20]
		} else if p := f.pods[slices.IndexFunc(f.pods, func(d fleet.Demand) bool { return d.Share == 500 })]; p.CPU != 1000 || len(p.Types) != 2 || len(f.nodes) != 2 {
			t.Errorf("read %+v and %+v", f.nodes, p)
		}
		var out bytes.Buffer
		if err := f.measure(t.Context(), "replay", fleet.LeastFragmentation, 1, &report{Writer: &out}); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%v: no %q in %s", err, test.want, out.String())
		}
	}
	write("openb_pod_list_default.csv", "a,b\n")
	if _, err := newFleet(dir); err == nil {
		t.Error("no error from a trace of another layout")
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
