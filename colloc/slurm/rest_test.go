package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

const secret = "eyJhbGciOiJIUzI1NiJ9.secret"

// restd answers as slurmrestd does and keeps the requests.
type restd struct {
	answers map[string]string // by method and path
	status  map[string]int
	seen    []string
	bodies  []string
	headers []http.Header
}

func (d *restd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.Path
	body, _ := io.ReadAll(r.Body)
	d.seen, d.bodies, d.headers = append(d.seen, key), append(d.bodies, string(body)), append(d.headers, r.Header)
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	if to := d.answers["redirect "+key]; to != "" {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return
	}
	if s := d.status[key]; s != 0 {
		w.WriteHeader(s)
	}
	_, _ = io.WriteString(w, d.answers[key])
}

func TestREST(t *testing.T) {
	d := &restd{answers: map[string]string{
		"GET /slurm/v0.0.38/jobs":        string(answer(t, "22.05/squeue.json")),
		"GET /slurm/v0.0.38/nodes":       string(answer(t, "22.05/sinfo.json")),
		"GET /slurm/v0.0.38/partitions":  `{"partitions": [{"name": "main", "flags": ["default"], "state": "UP", "max_time_limit": 2880, "maximum_nodes_per_job": 4}, {"name": "old", "state": "DOWN", "max_time_limit": null}]}`,
		"POST /slurm/v0.0.38/job/submit": `{"errors": [{"error_code": 2042, "error": "Job held"}], "job_id": 12}`,
		"DELETE /slurm/v0.0.38/job/3":    `{"errors": []}`,
		"DELETE /slurm/v0.0.38/job/4":    `{"errors": [{"error_code": 2017, "error": "Invalid job id specified"}]}`,
		"DELETE /slurm/v0.0.38/job/5":    `{"errors": [{"error_code": 2002, "error": "Access/permission denied"}]}`,
	}, status: map[string]int{"DELETE /slurm/v0.0.38/job/4": http.StatusInternalServerError, "DELETE /slurm/v0.0.38/job/5": http.StatusInternalServerError}}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no unix sockets here: ", err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}}
	server.Start()
	defer server.Close()
	c := NewClient(Config{REST: &REST{Address: "unix:" + socket}, Runner: &fake{}})
	jobs, err := c.Jobs(t.Context())
	if err != nil || len(jobs) != 11 {
		t.Errorf("%d jobs, %v; want 11", len(jobs), err)
	}
	if nodes, err := c.Nodes(t.Context()); err != nil || len(nodes) != 2 {
		t.Errorf("%d nodes, %v; want 2", len(nodes), err)
	}
	partitions, err := c.Partitions(t.Context())
	if diff := cmp.Diff([]site.Partition{{Name: "main", Default: true, MaxTime: 48 * time.Hour, MaxNodes: 4}, {Name: "old", Down: true}}, partitions); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	job := &script.Job{Request: script.Request{Name: "x", NodeList: "g1", Gres: []site.Gres{{Name: "shard", Type: "a100i1", Count: 4}}, Time: 90 * time.Second, Memory: profile.GiB}, Body: "true\n"}
	if id, err := c.Submit(t.Context(), job, &SubmitOptions{Hold: true}); err != nil || id != 12 {
		t.Errorf("job %d, %v; want 12", id, err)
	}
	if err := c.Cancel(t.Context(), 4, 3); err != nil { // one that is gone is cancelled
		t.Error(err)
	}
	if err := c.Cancel(t.Context(), 5, 3); !errors.Is(err, site.ErrPermission) {
		t.Errorf("a job of somebody else: got %v, want ErrPermission", err)
	}
	var sent struct {
		Script string
		Job    map[string]any
	}
	if err := json.Unmarshal([]byte(d.bodies[3]), &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "x", "nodelist": "g1", "gres": "shard:a100i1:4", "time_limit": 2.0, "memory_per_node": 1024.0, "hold": true,
		"current_working_directory": "/", "environment": map[string]any{"PATH": searchPath},
	}
	if diff := cmp.Diff(want, sent.Job); diff != "" || !strings.HasSuffix(sent.Script, "\ntrue\n") {
		t.Errorf("script %q, job (-want +got):\n%s", sent.Script, diff)
	}
	for _, h := range d.headers {
		if h.Get("X-SLURM-USER-TOKEN") != "" || h.Get("X-SLURM-USER-NAME") != "" {
			t.Error("a token was sent that nobody gave")
		}
	}
}

func TestRESTLater(t *testing.T) {
	r := &REST{Version: "v0.0.42"}
	got, err := r.fields(&script.Request{NodeList: "g[1-2]", Nodes: 2, Gres: []site.Gres{{Name: "shard", Type: "a100", Count: 4}, {Name: "gpu", Type: "", Count: 1}}, Time: time.Hour, Memory: profile.MiB}, &SubmitOptions{After: []site.JobID{7}})
	want := jobFields{
		"required_nodes": []string{"g1", "g2"}, "nodes": "2", "tres_per_node": "gres/shard:a100:4,gres/gpu:1",
		"time_limit": wrapped(60), "memory_per_node": wrapped(1), "dependency": "afterany:7",
		"current_working_directory": "/", "environment": []string{"PATH=" + searchPath},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = r.fields(&script.Request{Time: math.MaxInt64, Memory: math.MaxInt64}, nil)
	want = jobFields{
		"time_limit": wrapped(153722868), "memory_per_node": wrapped(1 << 43),
		"current_working_directory": "/", "environment": []string{"PATH=" + searchPath},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("as much as there is: %v (-want +got):\n%s", err, diff)
	}
	got, err = r.fields(&script.Request{}, nil) // 0 would be no limit, or a job that may take no memory
	if diff := cmp.Diff(jobFields{"current_working_directory": "/", "environment": []string{"PATH=" + searchPath}}, got); err != nil || diff != "" {
		t.Errorf("nothing said: %v (-want +got):\n%s", err, diff)
	}
	if _, err := r.fields(&script.Request{Warn: time.Minute}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a signal: got %v, want ErrUnsupported", err)
	}
}

func TestRESTLaterPartitions(t *testing.T) {
	got, err := site.ParsePartitionsJSON([]byte(`{"partitions": [
		{"name": "main", "maximums": {"nodes": {"set": true, "infinite": false, "number": 4}, "time": {"set": false, "infinite": true, "number": 0}}, "partition": {"state": ["UP"]}},
		{"name": "old", "maximums": {"time": {"set": true, "infinite": false, "number": 60}}, "partition": {"state": ["DRAIN"]}}]}`))
	want := []site.Partition{{Name: "main", MaxNodes: 4}, {Name: "old", Down: true, MaxTime: time.Hour}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "{}", `{"partitions": [{}]}`} {
		if _, err := site.ParsePartitionsJSON([]byte(bad)); !errors.Is(err, site.ErrOutput) {
			t.Errorf("%q: got %v, want ErrOutput", bad, err)
		}
	}
}

func TestRESTFailures(t *testing.T) {
	const path = "/slurm/v0.0.38/jobs"
	tests := []struct {
		name, answer string
		status       int
		want         error
	}{
		{"not allowed", "Authentication failure: " + secret, http.StatusUnauthorized, site.ErrPermission},
		{"controller down", `{"errors": [{"error": "Unable to contact slurm controller (connect failure)", "error_code": 1}]}`, http.StatusInternalServerError, site.ErrNoCluster},
		{"behind a proxy", "Bad gateway", http.StatusBadGateway, site.ErrNoCluster},
		{"a page", "<html>", 0, site.ErrOutput},
		{"something else", `{"errors": [{"error_code": 9}]}`, http.StatusInternalServerError, site.ErrRefused},
		{"an error that is a success", `{"errors": [{"error": "Invalid user id ` + secret + `"}], "jobs": []}`, 0, site.ErrPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &restd{answers: map[string]string{"GET " + path: tt.answer}, status: map[string]int{"GET " + path: tt.status}}
			server := httptest.NewServer(d)
			defer server.Close()
			_, err := NewClient(Config{REST: &REST{Address: server.URL, User: "user", Token: secret}}).Jobs(t.Context())
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), "slurmrestd GET jobs") {
				t.Errorf("got %v, want %v that names the request", err, tt.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
				t.Errorf("the token is in %#v", err)
			}
			if h := d.headers[0]; h.Get("X-SLURM-USER-TOKEN") != secret || h.Get("X-SLURM-USER-NAME") != "user" {
				t.Errorf("headers %v lack the user and the token", h)
			}
		})
	}
}

func TestTokenStaysHidden(t *testing.T) {
	r := REST{Address: "http://host:6820", User: "user", Token: secret}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(Config{REST: &r})
	for _, s := range []string{string(text), fmt.Sprintf("%v %+v %#v %s %q %x", r, r, r, r.Token, r.Token, r.Token), fmt.Sprintf("%+v", *c.config.REST)} {
		if strings.Contains(s, "secret") || strings.Contains(s, fmt.Sprintf("%x", "secret")) {
			t.Errorf("the token is in %s", s)
		}
	}
	elsewhere := &restd{}
	other := httptest.NewServer(elsewhere)
	defer other.Close()
	d := &restd{answers: map[string]string{"redirect GET /slurm/v0.0.38/jobs": other.URL}}
	server := httptest.NewServer(d)
	defer server.Close()
	r.Address = server.URL
	if _, err := NewClient(Config{REST: &r}).Jobs(t.Context()); err == nil || len(elsewhere.seen) != 0 {
		t.Errorf("got %v, and %d requests followed the redirection", err, len(elsewhere.seen))
	}
	for _, address := range []string{"", "host", "ftp://host", "http://", "http://user:" + secret + "@host:port", "unix:/nonexistent/socket"} {
		r.Address = address
		if _, err := NewClient(Config{REST: &r}).Jobs(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error without the token", address, err)
		}
	}
}
