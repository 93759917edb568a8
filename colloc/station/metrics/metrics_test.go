package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/metrics"
	"example.com/colloc/profile"
)

// busy is a station with a bit of everything, and what nobody else may see.
func busy() api.State {
	now := time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)
	return api.State{
		At: now, Since: now.Add(-time.Hour), Version: "v1", Draining: true, Warnings: []api.Warning{{At: now, Text: "secret text"}},
		GPUs: []api.GPU{
			{Index: 0, ID: "GPU-a", Memory: 40, Usable: 38, Reserved: 20, Used: profile.Some[profile.Bytes](17), Busy: profile.Some(0.5), Jobs: []string{"1", "2"}},
			{Index: 1, ID: "GPU-b", Memory: 40, Usable: 38, Lost: true, Drained: true},
		},
		Users: []api.User{
			{Name: "ann", UID: 1, Share: 0.5, Had: 0.75, Count: api.Count{Queued: 5, Held: 2, Running: 1, Failed: 4}, GPUSeconds: 90, SavedSeconds: -3, WaitSeconds: 12, Started: 6, OutOfMemory: 7, Overruns: 8},
			{Name: "b\xff\"\n", UID: 2},
			{Name: "ann", UID: 3},
		},
		Active: []api.Job{
			{ID: "1", User: "ann", Name: "secret name", Command: []string{"secret"}, Dir: "/secret", Predicted: profile.Some(0.8), Speed: profile.Some(0.7)},
			{ID: "2", User: "ann"},
		},
		Queue: []api.Job{
			{ID: "3", Held: true, Submitted: now.Add(-time.Hour)},
			{ID: "4", Submitted: now.Add(-time.Minute)},
			{ID: "5", Submitted: now.Add(-time.Second)},
		},
	}
}

func scrape(t *testing.T, s api.State, err error) string {
	t.Helper()
	w := httptest.NewRecorder()
	var asked context.Context
	metrics.Handler(func(ctx context.Context) (api.State, error) { asked = ctx; return s, err }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if asked.Err() == nil {
		t.Error("what looks goes on after the answer")
	}
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestHandler(t *testing.T) {
	got := scrape(t, busy(), nil)
	for _, line := range []string{
		`colloc_station_up 1`, `colloc_station_info{version="v1"} 1`, `colloc_station_draining 1`, `colloc_station_warnings 1`, `colloc_station_oldest_wait_seconds 60`,
		`colloc_station_gpu_jobs{gpu="0",uuid="GPU-a"} 2`, `colloc_station_gpu_memory_bytes{gpu="0",uuid="GPU-a"} 40`, `colloc_station_gpu_usable_bytes{gpu="0",uuid="GPU-a"} 38`,
		`colloc_station_gpu_reserved_bytes{gpu="0",uuid="GPU-a"} 20`, `colloc_station_gpu_used_bytes{gpu="0",uuid="GPU-a"} 17`, `colloc_station_gpu_busy_ratio{gpu="0",uuid="GPU-a"} 0.5`,
		`colloc_station_gpu_lost{gpu="1",uuid="GPU-b"} 1`, `colloc_station_gpu_drained{gpu="1",uuid="GPU-b"} 1`, `colloc_station_gpu_lost{gpu="0",uuid="GPU-a"} 0`,
		`colloc_station_jobs{state="queued",uid="1",user="ann"} 3`, `colloc_station_jobs{state="held",uid="1",user="ann"} 2`, `colloc_station_jobs{state="running",uid="1",user="ann"} 1`,
		`colloc_station_jobs{state="failed",uid="1",user="ann"} 4`, `colloc_station_jobs{state="failed",uid="3",user="ann"} 0`,
		`colloc_station_user_share_ratio{uid="1",user="ann"} 0.5`, `colloc_station_user_had_ratio{uid="1",user="ann"} 0.75`, `colloc_station_gpu_seconds_total{uid="1",user="ann"} 90`,
		`colloc_station_gpu_saved_seconds{uid="1",user="ann"} -3`, `colloc_station_wait_seconds_total{uid="1",user="ann"} 12`, `colloc_station_started_total{uid="1",user="ann"} 6`,
		`colloc_station_out_of_memory_total{uid="1",user="ann"} 7`, `colloc_station_overruns_total{uid="1",user="ann"} 8`,
		`colloc_station_overruns_total{uid="2",user="b` + "\uFFFD" + `\"\n"} 0`,
		`colloc_station_job_speed_predicted_ratio{job="1",user="ann"} 0.8`, `colloc_station_job_speed_ratio{job="1",user="ann"} 0.7`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
	for _, text := range []string{"secret", `used_bytes{gpu="1"`, `busy_ratio{gpu="1"`, `job="2"`} {
		if strings.Contains(got, text) {
			t.Errorf("%s is shown", text)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Names are those that a station with a bit of everything has.
func TestNames(t *testing.T) {
	got := scrape(t, busy(), nil)
	for _, name := range metrics.Names() {
		if !strings.Contains(got, "\n"+name+"{") && !strings.Contains(got, "\n"+name+" ") {
			t.Errorf("%s is never shown", name)
		}
	}
	if shown := len(regexp.MustCompile(`(?m)^# TYPE `).FindAllString(got, -1)); shown != len(metrics.Names()) {
		t.Errorf("%d metrics are shown, %d have a name", shown, len(metrics.Names()))
	}
}

func TestNobodyAnswers(t *testing.T) {
	got := scrape(t, api.State{}, errors.New("no station"))
	if !strings.Contains(got, "colloc_station_up 0\n") || strings.Contains(got, "colloc_station_jobs") || strings.Contains(got, "draining") {
		t.Errorf("shown is %s", got)
	}
}
