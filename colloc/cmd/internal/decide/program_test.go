package decide

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// served runs the command until stop is called, which returns its exit status and what it wrote
// as errors. first is its first line.
func served(t *testing.T, args ...string) (first string, stop func() (int, string)) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	in, out := io.Pipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, args, cli.Streams{Out: out, Err: &errs})
		_ = out.Close()
	}()
	line := make([]byte, 1000)
	n, _ := in.Read(line)
	return string(line[:n]), func() (int, string) {
		end()
		_, _ = io.Copy(io.Discard, in)
		return <-done, errs.String()
	}
}

// dir is a folder with a short name, for sockets.
func dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

// post posts to the server at a unix socket.
func post(t *testing.T, socket, path, body string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	answer, err := client.Post("http://colloc"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.Body.Close() != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	gpu = `{"event": "gpu_added", "card": {"id": "g", "model": "A100-40GB"}}`
	job = `{"event": "submitted", "task": {"id": "a", "reserved": "30GiB"}}, {"event": "submitted", "task": {"id": "b", "reserved": "30GiB"}}`
)

// A session goes on where it stood when the server was ended, and what was learned is kept.
func TestState(t *testing.T) {
	d := dir(t)
	socket, state, learned := filepath.Join(d, "s"), filepath.Join(d, "state"), filepath.Join(d, "learned")
	args := []string{"-socket", socket, "-state", state, "-learned", learned}
	_, stop := served(t, args...)
	if got := post(t, socket, "/v1/events", `{"at_ns": 5, "events": [`+gpu+`, `+job+`]}`); got != "{\"refused\":[]}\n" {
		t.Error(got)
	}
	if got := post(t, socket, "/v1/decide", `{"at_ns": 5}`); !strings.Contains(got, `"verb":"start","job":"a","run":1,"gpus":["g"]`) {
		t.Error(got)
	}
	if got := post(t, socket, "/v1/observe", `{"model": "A100-40GB", "members": [{"task": {"id": "a", "training": {"batch_size": 1}}, "peak": "2GiB"}]}`); got != "{}\n" {
		t.Error(got)
	}
	if status, errs := stop(); status != 0 {
		t.Fatal(status, errs)
	}
	if info, err := os.Stat(learned); err != nil || info.Size() == 0 {
		t.Error("nothing was learned:", err)
	}
	_, stop = served(t, args...)
	if got := post(t, socket, "/v1/events", `{"at_ns": 6, "events": [{"event": "started", "job": "a", "run": 1}, {"event": "ended", "job": "a", "run": 1, "how": "done"}]}`); got != "{\"refused\":[]}\n" {
		t.Error(got)
	}
	if got := post(t, socket, "/v1/decide", `{"at_ns": 6}`); !strings.Contains(got, `"verb":"start","job":"b","run":2`) {
		t.Error(got)
	}
	if status, errs := stop(); status != 0 {
		t.Fatal(status, errs)
	}
	if err := os.WriteFile(state, []byte(`{"version": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stop = served(t, args...)
	if status, errs := stop(); status != 2 || !strings.Contains(errs, "version is 99") {
		t.Error(status, errs)
	}
	_, stop = served(t, "-socket", socket, "-state", os.DevNull) // nor does it wait for a pipe
	if status, errs := stop(); status == 0 || !strings.Contains(errs, "invalid") {
		t.Error(status, errs)
	}
}

// Over TCP who has the token decides, and nobody else.
func TestToken(t *testing.T) {
	path := filepath.Join(dir(t), "token")
	first, stop := served(t, "-http", "127.0.0.1:0", "-token", path)
	defer stop()
	_, address, _ := strings.Cut(first, "http://")
	address, _, _ = strings.Cut(address, " ")
	token, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/decide", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Close = name, true
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.Body.Close() != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	for _, tt := range []struct {
		name, token string
		want        int
	}{
		{"localhost", "Bearer " + strings.TrimSpace(string(token)), 200},
		{"localhost", "Bearer guess", 403},
		{"localhost", "", 403},
		{"evil.example", "Bearer " + strings.TrimSpace(string(token)), 421},
	} {
		if got := ask(tt.name, tt.token); got != tt.want {
			t.Errorf("%q with %q: status %d, want %d", tt.name, tt.token, got, tt.want)
		}
	}
}

// TestTokenOnce: who asks for a token at the same time gets the same, and a file that is empty, as one who was killed leaves
// it, gets one.
func TestTokenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for range 20 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		tokens := make(chan string)
		for range 8 {
			go func() {
				token, err := readToken(path)
				if err != nil {
					t.Error(err)
				}
				tokens <- token
			}()
		}
		first := <-tokens
		for range 7 {
			if other := <-tokens; other != first {
				t.Fatalf("one has the token %q, another %q", first, other)
			}
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	token, err := readToken(path)
	text, wrong := os.ReadFile(path)
	if err != nil || wrong != nil || len(token) < 20 || string(text) != token+"\n" {
		t.Errorf("in place of nothing %q, the file has %q: %v, %v", token, text, err, wrong)
	}
}

// Wrong input is refused in a line, with status 2.
func TestWrong(t *testing.T) {
	d := dir(t)
	open, short := filepath.Join(d, "open"), filepath.Join(d, "short")
	for path, mode := range map[string]os.FileMode{open: 0o644, short: 0o600} {
		if err := os.WriteFile(path, []byte("secret"), mode); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string][]string{
		"no operands":     {"x"},
		"want 1 to":       {"-per-gpu", "0"},
		"below 1":         {"-headroom", "1"},
		"go together":     {"-http", ":0"},
		"other machines":  {"-http", "0.0.0.0:0", "-token", filepath.Join(d, "new")},
		"others may read": {"-http", ":0", "-token", open},
		"6 characters":    {"-http", ":0", "-token", short},
		"not defined":     {"-nonsense"},
		"-learned":        {"-socket", filepath.Join(d, "s"), "-learned", short},
	}
	if os.Geteuid() == 0 {
		theirs := filepath.Join(d, "theirs") // who put it there knows it
		if err := errors.Join(os.WriteFile(theirs, []byte(strings.Repeat("known ", 10)), 0o600), os.Chown(theirs, 54321, -1)); err != nil {
			t.Fatal(err)
		}
		cases["another user's"] = []string{"-http", ":0", "-token", theirs}
	}
	for want, args := range cases {
		var errs bytes.Buffer
		if status := run(t.Context(), args, cli.Streams{Out: io.Discard, Err: &errs}); status != 2 || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: status %d: %s", args, status, &errs)
		} else if !strings.Contains(errs.String(), want) {
			t.Errorf("%q: %s, want %q", args, &errs, want)
		}
	}
	var help bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, cli.Streams{Out: &help}); status != 0 || !strings.Contains(help.String(), "-token") {
		t.Errorf("help: %d %s", status, &help)
	}
}
