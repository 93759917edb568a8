package decide

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/decide"
)

// The client in Python asks all four questions over a unix socket, and says why it is
// refused.
func TestClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := decide.Handler(decide.Config{Planner: planner})
	if err != nil {
		t.Fatal(err)
	}
	var observed atomic.Int64
	socket := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/observe" {
			observed.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	out, err := exec.CommandContext(t.Context(), python, "-B", "colloc_client.py", socket).CombinedOutput()
	const want = `fit: True and fits
best: GPU 1
plan: GPU 0 ['old', 'new']
plan: GPU 1 ['third']
invalid: gpu.model: "Voodoo" is not in the catalogue: describe it in gpu_model: {"name": ..., "memory_bytes": ...}
`
	if err != nil || string(out) != want || observed.Load() != 1 {
		t.Errorf("%v, %d observations: it printed\n%s\nwant\n%s", err, observed.Load(), out, want)
	}
}

// serve answers at a unix socket until the test is over.
func serve(t *testing.T, h http.Handler) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server := httptest.NewUnstartedServer(h)
	_ = server.Listener.Close() // the one over TCP
	socket = filepath.Join(dir, "s")
	if server.Listener, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	return socket
}
