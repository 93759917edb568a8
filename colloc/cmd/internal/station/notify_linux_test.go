package station

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/colloc/station/notify"
	"example.com/colloc/internal/testbed"
)

// People are told how jobs end, by a command and by a webhook, and nothing of what they
// run.
func TestNotify(t *testing.T) {
	posted := make(chan notify.Message, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		posted <- m
	}))
	defer hook.Close()
	l := &lab{t: t, dir: t.TempDir()}
	told := filepath.Join(l.dir, "told")
	script := filepath.Join(l.dir, "tell")
	for name, text := range map[string]string{
		"gpus.json": `{"gpus": [{"name": "A100-40GB"}]}`,
		"tell":      "#!/bin/sh\ncat >>" + told + "\n",
		"hook":      hook.URL + "\n", // others see the arguments
	} {
		if err := testbed.Program(filepath.Join(l.dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	l.serve("-notify", script, "-webhook", filepath.Join(l.dir, "hook"))
	l.say(1, "submit", "-wait", "-name", "net", "-mem", "1GiB", "--", "sh", "-c", "echo CUDA secret; exit 3")
	m := <-posted
	if m.Job != "1" || m.Name != "net" || m.Kind != "failed" || !strings.Contains(m.Text, "job 1 (net) of") || !strings.Contains(m.Text, "exit code 3") {
		t.Errorf("posted %+v", m)
	}
	l.say(1, "submit", "-wait", "-share", "no", "--", "sh", "-c", "echo RuntimeError: CUDA out of memory of secret; exit 1")
	for m = range posted {
		if m.Kind == "failed" {
			break
		}
	}
	if !strings.Contains(m.Text, "out of memory") || strings.Contains(m.Text, "secret") || strings.Contains(m.Text, "exit code") {
		t.Errorf("posted %+v", m)
	}
	if err := l.kill(syscall.SIGTERM); err != nil { // after which all is told
		t.Errorf("SIGTERM: %v", err)
	}
	text, err := os.ReadFile(told)
	var same notify.Message
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err != nil || json.Unmarshal(lines[len(lines)-1], &same) != nil || same != m || strings.Contains(string(text), "secret") {
		t.Errorf("the command was told %s, %v, want %+v", text, err, m)
	}
	for flag, value := range map[string]string{"-webhook": "nowhere", "-notify": "/nonesuch"} {
		if out := l.say(2, "serve", "-dir", filepath.Join(l.dir, "state"), "-fake-gpus", filepath.Join(l.dir, "gpus.json"), flag, value); !strings.Contains(out, flag) {
			t.Errorf("%s %s: %s", flag, value, out)
		}
	}
}
