//go:build unix

package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/station/notify"
	"example.com/colloc/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Prepare()
	os.Exit(m.Run())
}

func message() notify.Message {
	return notify.Message{At: time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC), Kind: "finished", Text: "$(touch x) `y` \"", Job: "7", User: "ann", State: "failed"}
}

// A command gets the message as it is, and words in it are no commands.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	send, err := notify.Command("/bin/sh", "-c", `cat > "$0"`, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	var got notify.Message
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || got != message() {
		t.Errorf("%v, %+v", err, got)
	}
	if send, err = notify.Command("/bin/sh", "-c", "exit 3"); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), message()); err == nil || !strings.Contains(err.Error(), "/bin/sh: exit status 3") {
		t.Errorf("a command that fails: %v", err)
	}
	for _, argv := range [][]string{nil, {"/nowhere"}, {file}} { // the last may not be run
		if _, err := notify.Command(argv...); err == nil {
			t.Errorf("%q is no error", argv)
		}
	}
}

// A command that hangs is ended with its children: one of them holds a pipe open, which
// ends when it does.
func TestCommandHangs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	send, err := notify.Command("/bin/sh", "-c", `sleep 1000 > "$0" & wait`, pipe)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- send(ctx, message()) }()
	f, err := os.Open(pipe) // once the child has opened it, too
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	stop()
	if err := <-done; err == nil {
		t.Error("a command that was ended is no error")
	}
	if err := f.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the child goes on: %v", err)
	}
}

// A command that leaves a process behind, which keeps what is written to it and does not read
// it, holds up nobody.
func TestCommandLeaves(t *testing.T) {
	send, err := notify.Command("/bin/sh", "-c", "exec 3<&0; setsid sleep 1000 >/dev/null 2>&1 & exit 0")
	if err != nil {
		t.Fatal(err)
	}
	m := message()
	m.Text = strings.Repeat("x", 1<<20) // more than a pipe holds
	done := make(chan error, 1)
	go func() { done <- send(t.Context(), m) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("half a message is no error")
		}
	case <-time.After(5 * time.Minute):
		t.Error("the delivery does not end")
	}
}

// A webhook gets the message as JSON, one after the other on one connection; what it answers
// beyond success is an error, and nobody follows it elsewhere.
func TestWebhook(t *testing.T) {
	var got notify.Message
	asked := 0
	var from, kind string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if from == "" {
			from = r.RemoteAddr
		} else if r.RemoteAddr != from {
			t.Errorf("request %d comes from %s, the one before from %s", asked, r.RemoteAddr, from)
		}
		kind = r.Header.Get("Content-Type")
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&got) != nil:
			w.WriteHeader(http.StatusBadRequest)
		default:
			_, _ = w.Write(make([]byte, 1<<15)) // which nobody reads
		}
	}))
	t.Cleanup(server.Close)
	send, err := notify.Webhook(server.URL)
	if err == nil {
		err = send(t.Context(), message())
	}
	if err == nil {
		err = send(t.Context(), message())
	}
	if err != nil || got != message() || kind != "application/json" {
		t.Errorf("%v, %+v of type %s", err, got, kind)
	}
	from = "" // it has connections of its own
	away, err := notify.Webhook(server.URL + "/away")
	if err != nil {
		t.Fatal(err)
	}
	if err := away(t.Context(), message()); err == nil || asked != 3 {
		t.Errorf("a redirect: %v after %d requests", err, asked)
	}
	server.Close()
	if err := away(t.Context(), message()); err == nil || strings.Contains(err.Error(), "away") {
		t.Errorf("where nobody listens: %v, want an error without the address, which may hold a secret", err)
	}
	for _, address := range []string{"", "ftp://host/", "host", "http://", "http://%zz/"} {
		if _, err := notify.Webhook(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// Nobody waits for a delivery that hangs; what is too much is dropped and counted.
func TestFull(t *testing.T) {
	begun := make(chan struct{}, 1)
	var failed []error
	n := notify.New(func(ctx context.Context, _ notify.Message) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, func(err error) { failed = append(failed, err) })
	if !n.Tell(message()) {
		t.Error("the first message is dropped")
	}
	<-begun
	tell := func(user string, want int) {
		t.Helper()
		m := message()
		m.User = user
		for i := range want {
			if !n.Tell(m) {
				t.Fatalf("message %d of %q is dropped", i, user)
			}
		}
		if n.Tell(m) {
			t.Errorf("of %q one too many is taken", user)
		}
	}
	for _, user := range []string{"ann", "bob", "cat"} {
		tell(user, notify.WaitingOfOne)
	}
	tell("dan", 0)                // what is left is for those of no user:
	tell("", notify.WaitingOfOne) // a GPU is lost
	if n.Dropped() != 5 {
		t.Errorf("%d dropped, want one each", n.Dropped())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	n.Close(ctx)
	if len(failed) != 1 || !errors.Is(failed[0], context.Canceled) || n.Dropped() != 5+notify.Waiting {
		t.Errorf("errors %v, %d dropped", failed, n.Dropped())
	}
	if n.Tell(message()) {
		t.Error("a message is taken after Close")
	}
	n.Close(t.Context()) // does nothing
}

// What a delivery was given ends with it.
func TestDelivery(t *testing.T) {
	var before context.Context
	held := 0
	n := notify.New(func(ctx context.Context, _ notify.Message) error {
		if before != nil && before.Err() == nil {
			held++
		}
		before = ctx
		return errors.New("not this time") // which nobody wants to know
	}, nil)
	for range 3 {
		n.Tell(message())
	}
	n.Close(t.Context())
	if before == nil || held > 0 || n.Dropped() != 0 {
		t.Errorf("%d contexts outlive their deliveries, %d messages are dropped", held, n.Dropped())
	}
}

// A message reaches whoever the Send knows.
func Example() {
	n := notify.New(func(_ context.Context, m notify.Message) error { // or Command or Webhook
		fmt.Println(m.User, m.Text)
		return nil
	}, nil)
	n.Tell(notify.Message{Kind: "finished", User: "ann", Text: "job 7 failed"})
	n.Close(context.Background())
	// Output: ann job 7 failed
}
