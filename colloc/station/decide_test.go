//go:build linux

package station

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"example.com/colloc/colloc/station/api"
)

// A station that was told so decides for other schedulers what its users ask, and learns
// from root alone; of who asks without a socket it learns nothing.
func TestDecide(t *testing.T) {
	const task = `{"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}`
	const fit = `{"task": ` + task + `, "gpu": {"id": "0", "model": "T4"}}`
	const observe = `{"model": "T4", "members": [{"task": ` + task + `, "peak": "1GiB"}]}`
	me := uint32(os.Geteuid())
	g := newRig(t, t.TempDir(), 1, func(c *Config) { c.Decide = true })
	for _, tt := range []struct {
		uid        uint32
		path, body string
		status     int
		what       string
	}{
		{me, "/v1/fit", fit, 200, ""},
		{me, "/v1/observe", observe, 200, ""},
		{me, "/v1/fit", `{"task": ` + task + `}`, 400, "not in the catalogue"},
		{me + 1, "/v1/fit", fit, 403, "alone"},
		{0, "/v1/observe", observe, 200, ""},
	} {
		if status, e := g.ask(t, tt.uid, http.MethodPost, tt.path, tt.body); status != tt.status || !strings.Contains(e.What, tt.what) {
			t.Errorf("%s of user %d: status %d, %+v, want %d with %q", tt.path, tt.uid, status, e, tt.status, tt.what)
		}
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", g.Socket())
	}}}
	defer client.CloseIdleConnections()
	answer, err := client.Post("http://station/v1/fit", "application/json", strings.NewReader(fit)) // on the socket
	if err != nil || answer.StatusCode != http.StatusOK || answer.Body.Close() != nil {
		t.Errorf("over the socket: %+v, %v", answer, err)
	}
	if status, e := g.ask(t, me, http.MethodGet, "/v1/fit", ""); status != 404 || e.Code != api.NotFound {
		t.Errorf("GET: status %d, %+v", status, e)
	}
	w := httptest.NewRecorder()
	g.Decider().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/observe", strings.NewReader(observe)))
	if w.Code != http.StatusForbidden {
		t.Errorf("observed by nobody: status %d: %s", w.Code, w.Body)
	}
	all := lab(t, 1, func(c *Config) { c.Decide = true })
	for body, want := range map[string]int{"/v1/fit " + fit: 200, "/v1/observe " + observe: 403} {
		path, body, _ := strings.Cut(body, " ")
		if status, e := all.ask(t, ann, http.MethodPost, path, body); status != want {
			t.Errorf("%s of a user of all: status %d, %+v, want %d", path, status, e, want)
		}
	}
	none := newRig(t, t.TempDir(), 1, nil)
	if status, e := none.ask(t, me, http.MethodPost, "/v1/fit", fit); status != 404 || !strings.Contains(e.Do, "-decide") || none.Decider() != nil {
		t.Errorf("without -decide: status %d, %+v", status, e)
	}
}
