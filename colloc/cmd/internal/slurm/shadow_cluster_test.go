//go:build slurm

package slurm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/shadow/follow"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/internal/slurmtest"
)

// exporter answers as a Prometheus that dcgm-exporter with its HPC job mapping writes to: each of
// some jobs keeps its GPU busy for a fifth of the time.
func exporter(t *testing.T, jobs int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, err1 := strconv.ParseFloat(r.FormValue("start"), 64)
		end, err2 := strconv.ParseFloat(r.FormValue("end"), 64)
		if err1 != nil || err2 != nil {
			http.Error(w, "no times", http.StatusBadRequest)
			return
		}
		var series []string
		for job := range jobs {
			for metric, value := range map[string]int{"DCGM_FI_DEV_GPU_UTIL": 20, "DCGM_FI_DEV_FB_USED": 3000} {
				var points []string
				for at := start; at <= end; at++ {
					points = append(points, fmt.Sprintf(`[%f,"%d"]`, at, value))
				}
				series = append(series, fmt.Sprintf(`{"metric":{"__name__":%q,"gpu":"0","Hostname":"g1","hpc_job":"%d"},"values":[%s]}`, metric, job+1, strings.Join(points, ",")))
			}
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(series, ","))
	}))
	t.Cleanup(server.Close)
	return server
}

// TestClusterShadow: beside a real cluster that gives every job a GPU of its own, what could have
// shared is seen, and nothing is touched. Each round is a call of its own, as after a kill; in
// the middle a line is torn.
func TestClusterShadow(t *testing.T) {
	const jobs = 4
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, GPUs: 2})
	server := exporter(t, jobs)
	r := slurm.Exec{Conf: c.Conf}
	path := filepath.Join(t.TempDir(), "shadow.jsonl")
	args := []string{"shadow", "-journal", path, "-gpu", "a100=A100-40GB"}
	for i := range jobs {
		ask := []string{"--gres=gpu:1", "--gpus=1", "--gpus-per-task=1", "--gres=gpu:a100:1"}[i%4]
		c.Run("sbatch", ask, "-n1", "-J", fmt.Sprint("train", i), "-o", "/dev/null", "--wrap", "sleep 5")
	}
	rounds := 0
	slurmtest.Await(t, "all jobs are over, and were seen", func() bool {
		call(t, r, 0, append(args, "-n", "1", "-interval", "5s", "-prometheus", server.URL)...)
		if rounds++; rounds == 2 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"at":"2026-`); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return strings.TrimSpace(c.Run("squeue", "-h")) == ""
	})
	call(t, r, 0, append(args, "-n", "1", "-interval", "5s", "-prometheus", server.URL)...)
	out, _ := call(t, r, 0, append(args, "-report", "-json")...)
	var s follow.Summary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if s.Rounds != rounds+1 || s.Gain.Total.Jobs != jobs || s.Gain.Total.GPUs != 2 || s.Damage.Lines != 0 {
		t.Errorf("%d rounds, %d jobs on %d GPUs, %+v; want %d, %d, 2", s.Rounds, s.Gain.Total.Jobs, s.Gain.Total.GPUs, s.Damage, rounds+1, jobs)
	}
	if s.Gain.Known.Watched == 0 || s.Decisions.Started == 0 || s.Use.Seen > 0 && s.Use.MAE > 0.01 {
		t.Errorf("known %+v, decisions %+v, use %+v", s.Gain.Known, s.Decisions, s.Use)
	}
	if text, _ := call(t, r, 0, append(args, "-report")...); !strings.Contains(text, "deciding nothing") {
		t.Error(text)
	}
	if said := c.Run("scontrol", "-o", "show", "jobs"); strings.Count(said, "JobState=COMPLETED") != jobs || strings.Count(said, "JobId=") != jobs {
		t.Errorf("the jobs are not as they would be: %s", said)
	}
}
