package measured_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/measured"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// folder holds a day of two trainings that nobody ran.
func folder() fstest.MapFS {
	return fstest.MapFS{
		"solo_a100.csv":       {Data: []byte("workload,gpus,batch_size,end_to_end_s,peak_memory_mib,sm_active,sm_occupancy,dram_active,gpu_busy\nnet_cifar_bs32,1,32,600,1000,.25,.125,.0625,.5\n")},
		"day_monday.csv":      {Data: []byte("job,arrival_s,workload\n0,0,net_cifar_bs32\n1,60,net_cifar_bs32\n")},
		"runs_a100.csv":       {Data: []byte("day,policy,makespan_s,mean_jct_s,mean_wait_s,mean_execution_s,out_of_memory,energy_j\nmonday,exclusive,681,621,0,621,0,1\n")},
		"runs_a100__more.csv": {Data: []byte("day,policy,makespan_s,mean_jct_s,mean_wait_s,mean_execution_s,out_of_memory,energy_j\nmonday,horus,681,621,0,621,0,1\n")},
	}
}

// A day that ran on three A100 is played as it ran: each training takes the 600 s that it
// took alone and 21 s that a start costs.
func Example() {
	days, err := measured.Open(folder())
	if err != nil {
		fmt.Println(err)
		return
	}
	m := measured.Machine{Truth: sim.Constant{1, 0.75}}
	r, err := days[0].Play(context.Background(), m, m.Policies()[0], 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(days[0].Name, r.Makespan, measured.Execution(r), days[0].Runs[0].Makespan)
	// Output: monday 11m21s 10m21s 11m21s
}

// TestOpen: further parts are read, parts may lie in two folders, and what is missing is said.
func TestOpen(t *testing.T) {
	days, err := measured.Open(folder())
	if err != nil || len(days) != 1 || len(days[0].Tasks) != 2 || len(days[0].Runs) != 2 {
		t.Fatalf("days %+v, %v", days, err)
	}
	held := fstest.MapFS{"day_tuesday__held.csv": folder()["day_monday.csv"]}
	if days, err = measured.Open(folder(), held); err != nil || len(days) != 2 || days[1].Name != "tuesday" || days[1].Runs != nil {
		t.Errorf("days of two folders %+v, %v", days, err)
	}
	if _, err := measured.Open(held); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without trainings alone: %v", err)
	}
	none := folder()
	delete(none, "day_monday.csv")
	if _, err := measured.Open(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without days: %v", err)
	}
	bad := folder()
	bad["runs_a100.csv"] = &fstest.MapFile{Data: []byte("x\n")}
	if days, err := measured.Open(bad); err == nil || days != nil {
		t.Errorf("a broken file: %v, %v", days, err)
	}
}

// TestMachine: what a machine adds may be left out or be more: cores that eight trainings share, a
// start that costs nothing, lengths that nobody knows.
func TestMachine(t *testing.T) {
	days, err := measured.Open(folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		machine measured.Machine
		want    time.Duration
	}{
		{measured.Machine{Startup: -1}, 11 * time.Minute},
		{measured.Machine{Startup: -1, Cores: 7}, 20*time.Minute + 0*time.Second}, // both are half as fast for 540 s, and then the second for itself
		{measured.Machine{Startup: -1, Cores: -1, Unknown: true}, 11 * time.Minute},
	} {
		tt.machine.Truth = sim.Constant{1}
		r, err := days[0].Play(t.Context(), tt.machine, tt.machine.Policies()[0], 0)
		if err != nil || r.Makespan.Round(time.Second) != tt.want {
			t.Errorf("%+v: %v, %v; want %v", tt.machine, r.Makespan, err, tt.want)
		}
	}
	if _, err := days[0].Play(t.Context(), measured.Machine{Truth: sim.Constant{math.NaN()}}, measured.Policy{Policy: policy.FIFO{}}, 0); err == nil {
		t.Error("a truth of NaN is none")
	}
}

// TestDays: the days of AEGIS come out as they were measured: exclusive runs within 1 %, Horus' and
// Lucid's within 7 %, AEGIS' within 10 %, by makespan and by mean completion time, over ten
// repetitions whose lengths differ by 2 %.
func TestDays(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("set COLLOC_DATA to the folder with the measured data to run this test")
	}
	days, err := measured.Open(os.DirFS(filepath.Join(dir, "aegis")))
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := pretrained.Interference()
	if err != nil {
		t.Fatal(err)
	}
	m := measured.Machine{Truth: speed.By{Model: speed.Fitted{Interference: fitted}, Mechanism: profile.TimeSlice}}
	played := 0
	const n = 10
	for i := range days {
		for _, p := range m.Policies() {
			for _, run := range days[i].Runs {
				if run.Policy != p.Name {
					continue
				}
				played++
				var makespan, jct float64
				for seed := range uint64(n) {
					r, err := days[i].Play(t.Context(), m, p, seed)
					if err != nil {
						t.Fatal(err)
					}
					makespan, jct = makespan+r.Makespan.Seconds()/n, jct+r.MeanJCT.Seconds()/n
				}
				bound := map[string]float64{"exclusive": 0.01, "horus": 0.07, "lucid": 0.07}[p.Name]
				if bound == 0 {
					bound = 0.1
				}
				off := max(math.Abs(makespan/run.Makespan.Seconds()-1), math.Abs(jct/run.MeanJCT.Seconds()-1))
				if off > bound {
					t.Errorf("%s, %s: makespan %.0f and mean JCT %.0f s, measured %.0f and %.0f: off by %.1f %%", days[i].Name, p.Name, makespan, jct, run.Makespan.Seconds(), run.MeanJCT.Seconds(), 100*off)
				}
			}
		}
	}
	if played != 6*len(days) {
		t.Errorf("%d runs of %d days were played, want six of each", played, len(days))
	}
}
