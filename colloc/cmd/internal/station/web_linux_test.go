package station

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A daemon shows itself to its machine, and not what people run.
func TestWeb(t *testing.T) {
	l := &lab{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l.daemon = l.command("serve", "-dir", filepath.Join(l.dir, "state"), "-fake-gpus", filepath.Join(l.dir, "gpus.json"), "-watch", "20ms", "-http", "127.0.0.1:0", "-decide")
	l.daemon.Stderr = os.Stderr
	out, err := l.daemon.StdoutPipe()
	if err == nil {
		err = l.daemon.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	second, err := lines.ReadString('\n')
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(first)
	if err != nil || base == "" || !strings.Contains(second, "listening on") {
		t.Fatalf("the daemon says %q and %q, %v", first, second, err)
	}
	l.say(0, "submit", "-name", "visible", "-mem", "1GiB", "--", "sh", "-c", "exec sleep 1000 # confidential")
	l.until("1", "running")
	for path, want := range map[string]string{"/": "visible", "/metrics": `colloc_station_gpu_jobs{gpu="0",uuid="GPU-fake-0"} 1`} {
		if status, body := fetch(t, base+path, ""); status != 200 || !strings.Contains(body, want) || strings.Contains(body, "confidential") || strings.Contains(body, "sleep") {
			t.Errorf("%s: status %d with %s", path, status, body)
		}
	}
	if status, body := fetch(t, base, "example.com"); status != http.StatusMisdirectedRequest || strings.Contains(body, "visible") {
		t.Errorf("by another name: status %d with %s", status, body)
	}
	if status, _ := fetch(t, base+"/v1/state", ""); status != http.StatusNotFound {
		t.Errorf("the API over TCP: status %d", status)
	}
	const task = `{"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}`
	for body, want := range map[string]int{"fit " + `{"task": ` + task + `, "gpu": {"id": "0", "model": "T4"}}`: 200, "observe " + `{"model": "T4", "members": [{"task": ` + task + `}]}`: 403} {
		name, body, _ := strings.Cut(body, " ")
		answer, err := http.Post(base+"/v1/"+name, "application/json", strings.NewReader(body)) //nolint:noctx // the test ends it
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("%s over TCP: status %d, %v, want %d", name, answer.StatusCode, err, want)
		}
	}
	l.say(0, "cancel", "1")
	l.say(1, "wait", "1")
	if got := l.say(0, "account"); !strings.HasPrefix(got, "user,jobs,") || !strings.Contains(got, ",1,0,0,1,") {
		t.Errorf("account prints %q", got)
	}
	if got := l.say(2, "account", "-from", "2026-02-30"); !strings.Contains(got, "2026-02-30") {
		t.Errorf("account of no date prints %q", got)
	}
	if got := l.say(2, "account", "-from", "9999-01-01"); !strings.Contains(got, "before now") {
		t.Errorf("account of the future prints %q", got)
	}
	if err := l.kill(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// fetch asks for a page, of a host by another name if there is one.
func fetch(t *testing.T, address, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// What is not loopback is refused.
func TestWebAddresses(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "example.com:0", "192.0.2.1:0", "localhost.example.com:0", "nonsense"} {
		if _, err := (&web{address}).open("/nowhere", nil, io.Discard); err == nil {
			t.Errorf("-http %s is taken", address)
		}
	}
}
