package dataset

import (
	"bytes"
	"fmt"
	"log"
	"reflect"
	"strings"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// A researcher's own measurements become a model.
func ExampleReadCoRuns() {
	table := strings.NewReader(`gpu,task_a,busy_a,speed_a,task_b,busy_b,speed_b
RTX 3090,bert,0.95,0.55,dcgan,0.60,0.62
RTX 3090,bert,0.95,0.82,pointnet,0.12,0.90
RTX 3090,dcgan,0.60,0.85,pointnet,0.12,
`)
	coRuns, err := ReadCoRuns("mine.csv", table)
	if err != nil {
		log.Fatal(err)
	}
	model, err := interference.Fit(coRuns, nil)
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	beside, err := model.Values(&gpu, profile.TimeSlice, coRuns[0].Set, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(coRuns), "co-runs; bert beside dcgan is slowed down:", beside[0] < 0.8)
	// Output:
	// 3 co-runs; bert beside dcgan is slowed down: true
}

const coRunHead = "gpu,mechanism,task_a,batch_a,sm_a,memory_mib_a,speed_a,rate_a,solo_rate_a,group_a,task_b,speed_b,group_b,task_c,speed_c,group_c\n"

func TestReadCoRuns(t *testing.T) {
	got, err := ReadCoRuns("x", strings.NewReader(coRunHead+
		"T4,,a,8,0.5,1024,0.9,,,fa,b,,fb,,,\n"+
		"T4,mps,a,8,0.5,1024,,0.375,0.5,,b,0.5,,c,0.25,\n"+
		"Own Card,time-slicing,a,,,,,,,,b,1.5,,,,\n"+
		"T4,,a,,,,,9007199254740992,9007199254740992,,b,2,,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	some := func(v float64) profile.Opt[float64] { return profile.Some(v) }
	for i, want := range []interference.Observation{
		{GPU: "T4", Mechanism: profile.TimeSlice, Speeds: []profile.Opt[float64]{some(0.9), {}}, Groups: []string{"fa", "fb"}},
		{GPU: "T4", Mechanism: profile.MPS, Speeds: []profile.Opt[float64]{some(0.75), some(0.5), some(0.25)}},
		{GPU: "Own Card", Mechanism: profile.TimeSlice, Speeds: []profile.Opt[float64]{{}, some(1.5)}},
		{GPU: "T4", Mechanism: profile.TimeSlice, Speeds: []profile.Opt[float64]{some(1), some(predict.MostSpeed)}},
	} {
		want.Set = got[i].Set
		if !reflect.DeepEqual(got[i], want) || len(want.Set) != len(want.Speeds) {
			t.Errorf("row %d: %+v, want %+v", i, got[i], want)
		}
	}
	a := got[0].Set[0]
	peak, _ := a.Vector.Get(profile.PeakMemory)
	sm, _ := a.Vector.Get(profile.MeanSMActive)
	if a != got[1].Set[0] || a == got[2].Set[0] || a.Spec.Training.BatchSize != 8 || peak != float64(profile.GiB) || sm != 0.5 {
		t.Errorf("task a: %+v, peak %v, sm %v", a.Spec, peak, sm)
	}
	if batch := got[0].Set[1].Spec.Training.BatchSize; batch != 1 {
		t.Errorf("a task of no batch has one of %d", batch)
	}
	if _, ok := got[0].Set[1].Vector.Get(profile.MeanSMActive); ok {
		t.Error("task b: a use that nobody wrote")
	}
}

// TestReadCoRunsFaults: every fault names the line and the column.
func TestReadCoRunsFaults(t *testing.T) {
	const good = "T4,,a,8,0.5,1024,0.9,,,,b,0.8,,,,\n"
	for row, want := range map[string]string{
		",,a,,,,0.9,,,,b,0.8,,,,\n":               `x:3: column "gpu"`,
		"T4,mig,a,,,,0.9,,,,b,0.8,,,,\n":          `x:3: column "mechanism"`,
		"T4,,a,1.5,,,0.9,,,,b,0.8,,,,\n":          `x:3: column "batch_a"`,
		"T4,,a,,1.01,,0.9,,,,b,0.8,,,,\n":         `x:3: column "sm_a"`,
		"T4,,a,,50,,0.9,,,,b,0.8,,,,\n":           `x:3: column "sm_a"`,
		"T4,,a,,,-1,0.9,,,,b,0.8,,,,\n":           `x:3: column "memory_mib_a"`,
		"T4,,a,,,,0,,,,b,0.8,,,,\n":               `x:3: column "speed_a"`,
		"T4,,a,,,,ninety,,,,b,0.8,,,,\n":          `x:3: column "speed_a"`,
		"T4,,a,,,,,30,,,b,0.8,,,,\n":              `x:3: column "solo_rate_a"`,
		"T4,,a,,,,,30,0,,b,0.8,,,,\n":             `x:3: column "solo_rate_a"`,
		"T4,,a,,,,,9007199254740994,1,,b,1,,,,\n": `x:3: column "rate_a": "9007`,
		"T4,,a,,,,0.5,30,40,,b,0.8,,,,\n":         `x:3: column "rate_a"`,
		"T4,,a,,,,0.9,,,,,,,,,\n":                 `x:3: column "task_b"`,
		"T4,,a,,,,,,,,b,,,,,\n":                   `x:3: column "speed_a"`,
		"T4,,a,,,,0.9,,,fa,b,0.8,,,,\n":           `x:3: column "group_a"`,
		"T4,,a,,,,0.9,,,fa,b,0.8,,c,0.7,\n":       `x:3: column "group_a": 1 of 3`,
		"T4,,a\n":                                 "x: record on line 3",
		"\"T4,,a,,,,0.9,,,,b,0.8,,,,\n":           "x: parse error on line 3, column 28",
		"T4,,a,9e15,,,0.9,,,,b,0.8,,,,\n":         `x:3: column "task_a"`,
		"T4,,a,,,,0.9,,,,b,99,,,,\n":              `x:3: column "speed_b"`,
		"T4,exclusive,a,,,,0.9,,,,b,0.8,,,,\n":    `x:3: column "mechanism"`,
	} {
		if _, err := ReadCoRuns("x", strings.NewReader(coRunHead+good+row)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", row, err, want)
		}
	}
	for name, text := range map[string]string{"empty": "", "no rows": coRunHead, "no task": "gpu,task_a,speed_a\nT4,a,1\n"} {
		if _, err := ReadCoRuns("x", strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestReadCoRunsShares: every share of a GPU is between 0 and 1.
func TestReadCoRunsShares(t *testing.T) {
	for _, column := range []string{"sm_b", "dram_b", "busy_b", "mem_busy_b"} {
		for share, ok := range map[string]bool{"0": true, "1": true, "1.001": false, "-0.001": false} {
			_, err := ReadCoRuns("x", strings.NewReader("gpu,task_a,speed_a,task_b,"+column+"\nT4,a,0.9,b,"+share+"\n"))
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), `x:2: column "`+column+`"`) {
				t.Errorf("%s = %s: %v", column, share, err)
			}
		}
	}
}

// FuzzReadCoRuns: what is read can be learned from.
func FuzzReadCoRuns(f *testing.F) {
	f.Add([]byte(coRunHead + "T4,mps,a,8,0.5,1024,,30,40,,b,0.5,,c,0.25,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadCoRuns("x", bytes.NewReader(data))
		if err != nil {
			return
		}
		for i, o := range rows[:min(len(rows), 20)] {
			if err := new(interference.Predictor).Observe(o); err != nil {
				t.Errorf("row %d: %v", i, err)
			}
		}
	})
}
