package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
)

// writeFC writes n made-up dense networks in the layout of Horus's set.
func writeFC(t *testing.T, dir, name string, n int) {
	t.Helper()
	var file strings.Builder
	file.WriteString("peak_mem_mib,neurons_per_layer,n_layers,horus_estimate_mib\n")
	for i := range n {
		width, layers := 100+50*(i%20), 1+i%7
		params := 784*width + (layers-1)*width*width
		fmt.Fprintf(&file, "%d,%d,%d,%d\n", 1400+params*20/(1<<20)+i%3, width, layers, params*128/(1<<20))
	}
	if err := os.WriteFile(filepath.Join(dir, name+".csv"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// decode reads what run printed.
func decode(t *testing.T, out []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for text := range strings.Lines(string(out)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

// number returns a metric of a line.
func number(t *testing.T, l map[string]any, key string) float64 {
	t.Helper()
	v, ok := l[key].(float64)
	if !ok {
		t.Fatalf("%v has no number %q", l, key)
	}
	return v
}

func TestCrossValidation(t *testing.T) {
	dir := t.TempDir()
	writeFC(t, dir, "memory_horus_fc_mnist", 120)
	var first, second, log bytes.Buffer
	if err := run([]string{"-train", dir}, &first, &log); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-train", dir, "-set", "memory_horus_fc_mnist"}, &second, &log); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs differ")
	}
	models := make(map[string]bool)
	for _, l := range decode(t, first.Bytes()) {
		for _, key := range []string{"set", "split", "model", "n", "mape_pct", "mae_gib", "under_pct", "under10_pct", "coverage_pct", "waste_pct"} {
			if _, ok := l[key]; !ok {
				t.Errorf("%v has no %q", l, key)
			}
		}
		models[fmt.Sprint(l["model"])] = true
		if l["model"] == "colloc" && number(t, l, "mape_pct") > 1 {
			t.Errorf("a made-up law is predicted badly: %v", l)
		}
	}
	if !models["colloc"] || !models["horus"] {
		t.Errorf("models %v, want colloc and horus", models)
	}
	if !strings.Contains(log.String(), "memory_cnn skipped") {
		t.Error("a missing file is not told")
	}
}

func TestTestFiles(t *testing.T) {
	train, test := t.TempDir(), t.TempDir()
	writeFC(t, train, "memory_horus_fc_mnist", 120)
	writeFC(t, test, "memory_horus_fc_mnist", 30)
	writeFC(t, test, "memory_horus_fc_mnist__wide", 20)
	writeFC(t, test, "memory_mlp__other", 20) // its training file is missing: not read
	var out, log bytes.Buffer
	if err := run([]string{"-train", train, "-test", test}, &out, &log); err != nil {
		t.Fatal(err)
	}
	n := make(map[string]float64)
	for _, l := range decode(t, out.Bytes()) {
		if l["model"] == "colloc" {
			n[fmt.Sprint(l["split"])] = number(t, l, "n")
		}
	}
	if n["test"] != 30 || n["wide"] != 20 || len(n) != 2 {
		t.Errorf("rows by split %v, want test 30 and wide 20", n)
	}
}

// writeCoRuns writes made-up co-runs of four models, ten batches each, in the layout of
// ReadCoRuns.
func writeCoRuns(t *testing.T, file string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("gpu,task_a,busy_a,speed_a,task_b,busy_b,speed_b\n")
	for i := range 60 {
		a, b := i%4, (i/4)%4
		fmt.Fprintf(&text, "RTX 3090,m%d,0.%d,0.%d,m%d,0.%d,0.%d\n", a, 30+10*a, 95-10*b, b, 30+10*b, 95-10*a)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOwnTable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.csv")
	writeCoRuns(t, file)
	var out, log bytes.Buffer
	if err := run([]string{"-set", file}, &out, &log); err != nil {
		t.Fatal(err)
	}
	mae := make(map[string]float64)
	for _, l := range decode(t, out.Bytes()) {
		if l["set"] != "mine" {
			t.Errorf("set %v, want mine", l["set"])
		}
		mae[fmt.Sprint(l["split"], " ", l["model"])] = number(t, l, "mae")
	}
	if len(mae) != 8 || !(mae["random colloc"] < mae["random pretrained"]) {
		t.Errorf("errors %v, want four models on two splits, and own rows to help", mae)
	}
}

// TestOnlineTestFiles: rows of the other file are scored, which rows of the first teach.
func TestOnlineTestFiles(t *testing.T) {
	train, test := t.TempDir(), t.TempDir()
	for dir, models := range map[string]int{train: 4, test: 6} {
		var text strings.Builder
		text.WriteString("gpu,model_a,batch_a,solo_a_steps_per_s,model_b,batch_b,solo_b_steps_per_s,norm_speed_a,norm_speed_b,feasible,job_a,job_b\n")
		for a := range models {
			for b := range a {
				fmt.Fprintf(&text, "v100,m%d,8,4,m%d,8,4,0.6,0.7,1,j%d,j%d\n", a, b, a, b)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "interference_gavel.csv"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, log bytes.Buffer
	if err := run([]string{"-train", train, "-test", test, "-online"}, &out, &log); err != nil {
		t.Fatal(err)
	}
	for _, l := range decode(t, out.Bytes()) {
		if l["model"] == "colloc" && number(t, l, "mae_after_0") > 0 && number(t, l, "regret_24") >= 0 {
			return
		}
	}
	t.Errorf("no error and regret of colloc in %s", out.String())
}

func TestBadInput(t *testing.T) {
	dir, more, empty := t.TempDir(), t.TempDir(), t.TempDir()
	writeFC(t, more, "memory_carma_real", 30)
	bad := "peak_mem_mib,neurons_per_layer,n_layers,horus_estimate_mib\n1500,100,3,20\n1500,wide,3,20\n"
	for _, file := range []string{filepath.Join(dir, "memory_horus_fc_mnist.csv"), filepath.Join(more, "memory_mlp.csv")} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no -train", nil, "-train"},
		{"no such folder", []string{"-train", filepath.Join(dir, "none")}, "none"},
		{"unknown set", []string{"-train", dir, "-set", "memory_mlp,nothing"}, `"nothing"`},
		{"unknown flag", []string{"-fast"}, "fast"},
		{"stray argument", []string{"-train", dir, "more"}, `"more"`},
		{"bad cell", []string{"-train", dir}, `memory_horus_fc_mnist.csv:3: column "neurons_per_layer"`},
		{"bad cell of what is fitted on, too", []string{"-train", more, "-set", "memory_carma_real"}, "memory_mlp.csv:3"},
		{"nothing there", []string{"-train", empty}, "nothing to evaluate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, log bytes.Buffer
			err := run(tt.args, &out, &log)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names %s", err, tt.want)
			}
			if out.Len() > 0 {
				t.Errorf("half-written output %q", out.String())
			}
		})
	}
}

func TestMilestone(t *testing.T) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		t.Skip("COLLOC_DATA is not set: set it to the folder with the measurement files to run this test")
	}
	if race.Enabled {
		t.Skip("fits 26 models on all rows: not with -race; go test without it runs this test")
	}
	var out, log bytes.Buffer
	if err := run([]string{"-train", data, "-set", "memory_mlp,memory_cnn"}, &out, &log); err != nil {
		t.Fatal(err)
	}
	limit := map[string]float64{"memory_mlp random": 0.7, "memory_mlp family": 1, "memory_cnn random": 6, "memory_cnn family": 8.5}
	for _, l := range decode(t, out.Bytes()) {
		key := fmt.Sprint(l["set"], " ", l["split"])
		if l["model"] != "colloc" {
			continue
		}
		if got := number(t, l, "mape_pct"); got > limit[key] {
			t.Errorf("%s: MAPE %.2f %%, want at most %v", key, got, limit[key])
		}
		if cover := number(t, l, "coverage_pct"); l["split"] == "random" && cover < 98 {
			t.Errorf("%s: coverage %.2f %%", key, cover)
		}
	}
}
