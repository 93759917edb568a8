//go:build linux

package station

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/nvmlx"
)

// sends is a request as a user whose body is being sent.
func (g *rig) sends(tb testing.TB, uid uint32, body io.Reader) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/jobs", body)
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r.WithContext(peer.With(tb.Context(), peer.User{UID: uid, GID: uid})))
	return w
}

// unread fails a test that reads a body before its turn.
type unread struct{ tb testing.TB }

func (u unread) Read([]byte) (int, error) {
	u.tb.Error("a body is read before its turn")
	return 0, io.EOF
}

// Of one user's submissions few are read at once, and more are refused unread; another
// user's and root's are answered meanwhile, and those that were begun are done in the end.
func TestFlood(t *testing.T) {
	const more = 20
	g := lab(t, 1, func(c *Config) { c.patience.body = 20 * time.Millisecond })
	g.turns.Drain(true)
	text, err := json.Marshal(api.Submission{Tasks: []api.Task{shell("/", "true")}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	var bodies []*io.PipeWriter
	for range maxRequests {
		body, to := io.Pipe()
		bodies = append(bodies, to)
		go func() { done <- g.sends(t, ann, body).Code }()
		if _, err := to.Write(text[:1]); err != nil { // returns once it is read
			t.Fatal(err)
		}
	}
	for range more {
		go func() { done <- g.sends(t, ann, unread{t}).Code }()
	}
	for range more {
		if code := <-done; code != http.StatusTooManyRequests {
			t.Errorf("beyond %d at once a submission gets %d", maxRequests, code)
		}
	}
	for _, uid := range []uint32{bob, 0} {
		if w := g.sends(t, uid, strings.NewReader(string(text))); w.Code != http.StatusOK {
			t.Errorf("user %d gets %d: %s", uid, w.Code, w.Body)
		}
	}
	for _, to := range bodies {
		if _, err := to.Write(text[1:]); err != nil {
			t.Error(err)
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	}
	for range bodies {
		if code := <-done; code != http.StatusOK {
			t.Errorf("a submission that was being read gets %d", code)
		}
	}
	if n := len(g.runner.Records()); n != maxRequests+2 {
		t.Errorf("%d jobs, want %d", n, maxRequests+2)
	}
}

// Clients that send half of a head, half of a body, or never read their answer lose their
// connections, each of them.
func TestHanging(t *testing.T) {
	const each = 10
	const short = 200 * time.Millisecond
	g := newRig(t, t.TempDir(), 1, func(c *Config) { c.patience.body, c.patience.read = short, short })
	hasty := newRig(t, t.TempDir(), 1, func(c *Config) { c.patience.header = short })
	dial := func(socket string) net.Conn {
		c, err := net.Dial("unix", socket)
		if err == nil {
			err = c.SetDeadline(time.Now().Add(5 * time.Minute))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for _, tt := range []struct {
		of         *rig
		text, want string
	}{
		{hasty, "GET /v1/state HTTP/1.1\r\nHost: sta", ""},
		{g, "POST /v1/jobs HTTP/1.1\r\nHost: station\r\nContent-Length: 1000\r\n\r\n{", "took too long to arrive"},
	} {
		var hanging []net.Conn
		for range each {
			c := dial(filepath.Join(tt.of.dir, "s"))
			if _, err := io.WriteString(c, tt.text); err != nil && tt.of != hasty { // which may have let go of it
				t.Fatal(err)
			}
			hanging = append(hanging, c)
		}
		for _, c := range hanging {
			got, err := io.ReadAll(c)
			if errors.Is(err, syscall.ECONNRESET) && tt.of == hasty { // it let go before all was sent
				err = nil
			}
			if err != nil || !strings.Contains(string(got), tt.want) {
				t.Errorf("after %.20q: %q, %v, want %q and the end", tt.text, got, err, tt.want)
			}
		}
	}
	held := shell("/", strings.Repeat("#", 1<<16))
	held.Held = true
	if code := g.sends(t, self(), strings.NewReader(submission(t, held, 1<<4))).Code; code != http.StatusOK {
		t.Fatal(code)
	}
	closed := make(chan bool, each)
	server := &http.Server{Handler: g.Handler(), ConnContext: ConnContext, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- true
		}
	}}
	socket := filepath.Join(g.dir, "other")
	l, err := Listen(socket, false)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	for range each {
		if _, err := io.WriteString(dial(socket), "GET /v1/jobs HTTP/1.1\r\nHost: station\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range each {
		<-closed // by the server: the clients read nothing and stay
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// submission is a request of so many tasks.
func submission(tb testing.TB, task api.Task, n int) string {
	tb.Helper()
	var in api.Submission
	for range n {
		in.Tasks = append(in.Tasks, task)
	}
	text, err := json.Marshal(in)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// What holds for one user holds for that user: jobs in the queue, and GPUs at once.
func TestUserLimits(t *testing.T) {
	g := lab(t, 2, func(c *Config) {
		c.PerGPU, c.Limits = 1, map[uint32]Limits{ann: {MaxQueued: 2}, bob: {MaxGPUs: 1}}
	})
	g.turns.Drain(true)
	task := shell("/", "exec sleep 1000")
	task.Env = append(task.Env, "COLLOC_TESTBED="+os.Getenv("COLLOC_TESTBED"))
	for _, tt := range []struct {
		uid  uint32
		n    int
		code int
	}{{ann, 3, http.StatusTooManyRequests}, {ann, 2, http.StatusOK}, {ann, 1, http.StatusTooManyRequests}, {bob, 3, http.StatusOK}} {
		if w := g.sends(t, tt.uid, strings.NewReader(submission(t, task, tt.n))); w.Code != tt.code {
			t.Errorf("%d jobs of user %d: %d %s, want %d", tt.n, tt.uid, w.Code, w.Body, tt.code)
		}
	}
	gang := task
	gang.GPUs = 2
	if w := g.sends(t, bob, strings.NewReader(submission(t, gang, 1))); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "-max-gpus") {
		t.Errorf("a job of 2 GPUs of a user who may have one: %d %s", w.Code, w.Body)
	}
	if err := g.Do(t.Context(), "hold", "1", "2"); err != nil {
		t.Fatal(err)
	}
	g.turns.Drain(false)
	g.running(t, "3")
	tick := time.NewTicker(10 * time.Millisecond) // what a job waits for is no event
	defer tick.Stop()
	for ; ; <-tick.C {
		j, err := g.Job(t.Context(), "4")
		if err != nil || j.State != runner.Queued {
			t.Fatalf("the second of one user on two GPUs is %v, %v, want it to wait", j.State, err)
		}
		if strings.Contains(j.Why, "1 GPUs, shared ones counted, of the 1") {
			break
		}
	}
	if err := g.Do(t.Context(), "release", "1"); err != nil {
		t.Fatal(err)
	}
	g.running(t, "1") // the other GPU is free for others
	if err := g.Do(t.Context(), "cancel", firstIDs(5)...); err != nil {
		t.Error(err)
	}
	g.over(t, firstIDs(5)...)
}

// On a full disk a submission is refused with that word, what runs goes on, and so does
// the station once there is room.
func TestDiskFull(t *testing.T) {
	if !testbed.Alone(t) {
		return
	}
	dir := t.TempDir()
	g := newRig(t, dir, 1, nil)
	gate := filepath.Join(dir, "gate")
	first := g.add(t, shell(dir, "while [ ! -e "+gate+" ]; do sleep 0.01; done"))[0]
	g.running(t, first)
	grow := func(most uint64) {
		t.Helper()
		var limit syscall.Rlimit
		err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
		limit.Cur = min(most, limit.Max)
		if err := errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)); err != nil {
			t.Fatal(err)
		}
	}
	grow(0)
	defer grow(1 << 62)
	_, err := g.Submit(t.Context(), shell(dir, "true"))
	if e := new(api.Error); !errors.As(err, &e) || e.Code != api.Unavailable || !strings.HasPrefix(e.What, "disk full: ") {
		t.Errorf("on a full disk: %v", err)
	}
	if j, err := g.Job(t.Context(), first); err != nil || j.State != runner.Running {
		t.Errorf("the job that ran is %v, %v", j.State, err)
	}
	grow(1 << 62)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, j := range g.over(t, first, g.add(t, shell(dir, "true"))[0]) {
		if j.State != runner.Succeeded {
			t.Errorf("job %s is %v: %s", j.ID, j.State, j.Err)
		}
	}
}

// Who waits for jobs looks at them in the user's turn, for the history on disk may be asked; another user does not wait.
func TestWaitTurn(t *testing.T) {
	s := &Station{requests: peer.NewTurns(1)}
	leave, err := s.requests.Take(t.Context(), peer.User{UID: ann})
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	look := func(int) (bool, error) { looks++; return true, nil }
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/wait", nil)
	if _, err := s.pass(r, peer.User{UID: ann}, look, 0, 3); err == nil || looks > 0 {
		t.Errorf("out of turn: %v after %d looks", err, looks)
	}
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/wait", nil)
	if n, err := s.pass(r, peer.User{UID: bob}, look, 0, 3); n != 3 || err != nil || looks != 3 {
		t.Errorf("another user: %v after %d looks, want 3", err, looks)
	}
	leave()
	if n, err := s.pass(r, peer.User{UID: ann}, look, 1, 3); n != 3 || err != nil || looks != 5 {
		t.Errorf("in turn: %d, %v after %d looks, want 3 after 5", n, err, looks)
	}
	look = func(i int) (bool, error) { return i < 1, nil }
	if n, err := s.pass(r, peer.User{UID: ann}, look, 0, 3); n != 1 || err != nil {
		t.Errorf("the first that is not over is %d, %v, want 1", n, err)
	}
}

// TestWarningsOfOne: who makes many warnings pushes out his own, and not what all should know.
func TestWarningsOfOne(t *testing.T) {
	s := &Station{config: Config{Everybody: true}}
	s.warn(time.Time{}, "GPU 0 is lost")
	for i := range 3 * maxWarnings {
		for _, uid := range []uint32{ann, bob} {
			s.warnOf(&runner.Event{Record: runner.Record{Task: runner.Task{ID: "1", Owner: &runner.Owner{UID: uid}}}}, "job "+strconv.Itoa(i))
		}
	}
	for _, u := range []peer.User{{UID: ann}, {UID: 0}} {
		want := 1 + maxOfUser
		if u.Root() {
			want += maxOfUser
		}
		if w := s.warningsFor(u); len(w) != want || w[0].Text != "GPU 0 is lost" || w[len(w)-1].Text != "job 149" {
			t.Errorf("user %d sees %d warnings, want %d: %+v", u.UID, len(w), want, w)
		}
	}
}

// TestNotOurs: root keeps no station where another user could put a link in the place of an output.
func TestNotOurs(t *testing.T) {
	dir := labFolder(t)
	own := filepath.Join(dir, "theirs")
	if err := errors.Join(os.Mkdir(own, 0o755), os.Mkdir(filepath.Join(own, "station"), 0o755), os.Chown(own, ann, ann)); err != nil { //nolint:gosec // of another user
		t.Skip("only root can make it another's: ", err)
	}
	link := filepath.Join(own, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{own, filepath.Join(own, "station"), filepath.Join(own, "new"), filepath.Join(link, "new")} {
		if s, err := New(t.Context(), Config{Config: runner.Config{Dir: bad, Source: struct{ nvmlx.Source }{}}, Everybody: true}); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s is taken: %v, %v", bad, s, err)
		}
		if l, err := Listen(filepath.Join(bad, "s"), true); err == nil {
			t.Errorf("a socket is made in %s: %v", bad, l.Addr())
		}
	}
}
