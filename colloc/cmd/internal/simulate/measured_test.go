package simulate

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMeasured: a folder of measured days is played, measured beside simulated, and as others would
// have run them.
func TestMeasured(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"solo_a100.csv":  "workload,gpus,batch_size,end_to_end_s,peak_memory_mib,sm_active,sm_occupancy,dram_active,gpu_busy\nnet_cifar_bs32,1,32,600,1000,.25,.125,.0625,.5\n",
		"day_monday.csv": "job,arrival_s,workload\n0,0,net_cifar_bs32\n1,60,net_cifar_bs32\n",
		"runs_a100.csv":  "day,policy,makespan_s,mean_jct_s,mean_wait_s,mean_execution_s,out_of_memory,energy_j\nmonday,exclusive,681,621,0,621,0,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-published", dir}, &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exclusive        makespan, s       681", "unknown         colloc", "slowdowns x 2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	out.Reset()
	day := []string{"-trace", filepath.Join(dir, "day_monday.csv"), "-gpus", "2xA100-40GB", "-policies", "fifo,colloc", "-unknown-lengths", "-bound"}
	if err := run(t.Context(), day, &out, &bytes.Buffer{}); err != nil || !strings.Contains(out.String(), "2 tasks on 2 GPUs; truth: speeds of described tasks") || !strings.Contains(out.String(), "above what no policy comes below (fifo ") {
		t.Errorf("a day as a trace: %v\n%s", err, &out)
	}
	if err := os.Remove(filepath.Join(dir, "solo_a100.csv")); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-published", dir}, &out, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "solo_a100.csv") {
		t.Errorf("without trainings alone: %v", err)
	}
}
