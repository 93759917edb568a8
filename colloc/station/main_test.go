//go:build linux

package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

func TestMain(m *testing.M) {
	testbed.Prepare()
	runner.Supervise()
	if len(os.Args) == 3 && os.Args[1] == "as-client" {
		os.Exit(beClient(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "train" {
		os.Exit(train(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "serve-lab" {
		fmt.Fprintln(os.Stderr, serveLab(os.Args[2])) // it ends by no other way
		os.Exit(1)
	}
	if len(os.Args) == 4 && os.Args[1] == "crowd" {
		os.Exit(crowd(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 4 && os.Args[1] == "hold" {
		os.Exit(hold(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}

// crowd makes connections, asks on each, prints how many were answered, and keeps them until
// the end of standard input.
func crowd(socket, text string) int {
	n, err := strconv.Atoi(text)
	answered := 0
	for range n {
		c, dialled := net.Dial("unix", socket)
		if dialled != nil {
			continue
		}
		_, wrote := io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: station\r\n\r\n")
		if _, read := c.Read(make([]byte, 1)); wrote == nil && read == nil {
			answered++
		}
	}
	fmt.Println(answered)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err != nil {
		return 1
	}
	return 0
}

// hold holds memory of a fake GPU until there is a file.
func hold(size, until string) int {
	n, err := profile.ParseBytes(size)
	if err == nil {
		_, err = fakegpu.Allocate(n)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	tick := time.NewTicker(5 * time.Millisecond)
	for {
		if _, err := os.Stat(until); err == nil {
			return 0
		}
		<-tick.C
	}
}

// rig is a station with fake GPUs that listens on a socket.
type rig struct {
	*Station
	*api.Client

	dir     string
	stop    func()
	clients map[uint32]*client // by user
}

// newRig starts a station in dir; adjust changes the rest of its configuration.
func newRig(tb testing.TB, dir string, gpus int, adjust func(*Config)) *rig {
	tb.Helper()
	file := filepath.Join(dir, "gpus.json")
	if err := os.WriteFile(file, []byte(`{"gpus": [`+strings.Repeat(`{"name": "A100-40GB"}, `, gpus-1)+`{"name": "A100-40GB"}]}`), 0o600); err != nil {
		tb.Fatal(err)
	}
	source, err := fakegpu.Open(file, filepath.Join(dir, "uses"))
	if err != nil {
		tb.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(file, 0o644), source.Share()); err != nil { //nolint:gosec // for tasks of other users
			tb.Fatal(err)
		}
	}
	c := Config{Config: runner.Config{
		Dir: filepath.Join(dir, "state"), Source: source, Env: source.Env(), Watch: 20 * time.Millisecond, Grace: time.Minute, Objective: profile.Some(1.0),
	}}
	c.patience = patience{header: 10 * time.Minute, body: 10 * time.Minute, read: 10 * time.Minute} // a busy machine is slow
	if adjust != nil {
		adjust(&c)
	}
	s, err := New(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := Listen(socket, c.Everybody)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- s.Serve(ctx, l) }()
	go func() { done <- s.Run(ctx) }()
	g := &rig{Station: s, Client: api.NewClient(socket), dir: dir}
	stopped := false
	g.stop = func() {
		if stopped {
			return
		}
		stopped = true
		g.Client.Close()
		cancel()
		for range 2 {
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				tb.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	}
	tb.Cleanup(g.stop)
	return g
}

// shell is a task that runs a script.
func shell(dir, script string) api.Task {
	return api.Task{Command: []string{script}, Shell: true, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Memory: 4 << 30}
}

// add submits tasks.
func (g *rig) add(tb testing.TB, tasks ...api.Task) []string {
	tb.Helper()
	ids, err := g.Submit(tb.Context(), tasks...)
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}

// over waits for jobs.
func (g *rig) over(tb testing.TB, ids ...string) []api.Job {
	tb.Helper()
	jobs, err := g.Wait(tb.Context(), ids...)
	if err != nil {
		tb.Fatal(err)
	}
	return jobs
}

// running waits for a job to run.
func (g *rig) running(tb testing.TB, id string) api.Job {
	tb.Helper()
	for end := time.Now().Add(5 * time.Minute); ; {
		if time.Now().After(end) {
			s, err := g.State(tb.Context())
			tb.Fatalf("job %s does not run: %+v, %v", id, s, err)
		}
		changed := g.change()
		j, err := g.Job(tb.Context(), id)
		if err != nil {
			tb.Fatal(err)
		}
		if j.State == runner.Running {
			return j
		}
		if j.State.Over() {
			tb.Fatalf("job %s is %v (%s), want it to run", id, j.State, j.Err)
		}
		<-changed
	}
}

// output is what a job printed.
func (g *rig) output(tb testing.TB, id string, follow bool) string {
	tb.Helper()
	var b strings.Builder
	if err := g.Log(tb.Context(), &b, id, follow); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}
