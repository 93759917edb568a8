//go:build unix

package mps_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// The test binary plays nvidia-cuda-mps-control when this is set: daemon with
// -f, and without it the client that passes one command on.
const fakeEnv = "MPS_TEST_FAKE"

func TestMain(m *testing.M) {
	testbed.Prepare()
	mode := os.Getenv(fakeEnv)
	if mode == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var err error
	if len(os.Args) > 1 && os.Args[1] == "-f" {
		err = serve(mode)
	} else if len(os.Args) > 1 && os.Args[1] == "-d" {
		daemon := exec.Command(os.Args[0], "-f")
		daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = daemon.Start()
	} else {
		err = pass()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake control:", err)
		os.Exit(1)
	}
}

func socket() string { return filepath.Join(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), "control") }

// serve is the daemon.
func serve(mode string) error {
	if mode == "broken" {
		return errors.New("no GPU for you")
	}
	listener, err := net.Listen("unix", socket())
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // again, after "quit"
	if mode == "servers" {
		if err := holdOutput(); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		answer := ""
		switch command := strings.TrimSpace(line); {
		case mode == "deaf":
			answer = "!not yet"
		case mode == "slow" && n < 3:
			answer = "!not yet"
		case command == "get_server_list":
			answer = "4711\n4712"
		case command == "pid":
			answer = strconv.Itoa(os.Getpid())
		case command == "devices":
			answer = os.Getenv("CUDA_VISIBLE_DEVICES")
		case command == "log":
			answer = os.Getenv("CUDA_MPS_LOG_DIRECTORY")
		case command == "nonsense", command == "quit" && mode == "busy":
			answer = "!not that"
		case command == "group":
			answer = strconv.FormatBool(syscall.Getpgrp() == os.Getpid())
		case command == "hang": // until who asks is gone
			_, _ = conn.Read(make([]byte, 1))
			return conn.Close()
		case command == "crash":
			return errors.New("GPU fell off the bus")
		case command == "quit" && mode != "stubborn": // its socket is gone before who asked knows
			return errors.Join(listener.Close(), conn.Close())
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return err
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
}

// holdOutput leaves a process that holds the output open and outlives this one.
func holdOutput() error {
	server := exec.Command("sleep", "1000")
	server.Stdout, server.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
	return server.Start()
}

// pass is the client.
func pass() error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	if line == "leave\n" {
		return holdOutput()
	}
	conn, err := net.Dial("unix", socket())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, line); err != nil {
		return err
	}
	scanner := bufio.NewScanner(conn)
	for scanner.Scan() {
		if text, refused := strings.CutPrefix(scanner.Text(), "!"); refused {
			return errors.New(text)
		}
		fmt.Println(scanner.Text())
	}
	return scanner.Err()
}

// config is that of a fake daemon which behaves according to mode.
func config(t *testing.T, mode string) mps.Config {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "mps") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(fakeEnv, mode)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	return mps.Config{
		Program: program, PipeDir: filepath.Join(dir, "pipe"), LogDir: filepath.Join(dir, "log"),
		Poll: time.Millisecond, Devices: []nvmlx.DeviceID{"GPU-1", "GPU-2"},
	}
}

func start(t *testing.T, c mps.Config) *mps.Daemon {
	t.Helper()
	d, err := mps.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDaemonLife(t *testing.T) {
	for _, mode := range []string{"well", "slow"} {
		t.Run(mode, func(t *testing.T) {
			c := config(t, mode)
			if mps.Running(c.PipeDir) {
				t.Error("a daemon runs before it was started")
			}
			d := start(t, c)
			if !mps.Running(c.PipeDir) {
				t.Error("the daemon is not seen")
			}
			if _, err := mps.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "a daemon in") {
				t.Errorf("a second daemon: %v", err)
			}
			for command, want := range map[string]string{"get_server_list": "4711\n4712", "devices": "GPU-1,GPU-2", "group": "true"} {
				if got, err := d.Command(t.Context(), command); err != nil || got != want {
					t.Errorf("%s: %q, %v, want %q", command, got, err, want)
				}
			}
			for _, command := range []string{"two\nlines", "", " "} {
				if _, err := d.Command(t.Context(), command); err == nil || !strings.Contains(err.Error(), "want one line") {
					t.Errorf("%q was sent as one command: %v", command, err)
				}
			}
			if _, err := d.Command(t.Context(), "nonsense"); err == nil || !strings.Contains(err.Error(), "not that") {
				t.Errorf("a command that is refused: %v", err)
			}
			over, end := context.WithCancel(t.Context())
			end()
			if _, err := d.Command(over, "get_server_list"); !errors.Is(err, context.Canceled) {
				t.Errorf("a command of who gave up: %v", err)
			}
			env, err := d.Env(mps.Share{Threads: 0.5})
			if err != nil || !slices.Contains(env, "CUDA_MPS_PIPE_DIRECTORY="+c.PipeDir) {
				t.Errorf("environment %q, %v", env, err)
			}
			if err := d.Err(); err != nil {
				t.Errorf("Err() = %v while it runs", err)
			}
			for range 2 {
				if err := d.Stop(t.Context()); err != nil {
					t.Errorf("stop: %v", err)
				}
			}
			<-d.Done()
			if err := d.Err(); err != nil || mps.Running(c.PipeDir) {
				t.Errorf("after the end: %v, running %v", err, mps.Running(c.PipeDir))
			}
			if err := start(t, c).Stop(t.Context()); err != nil { // and once more
				t.Error(err)
			}
		})
	}
}

// TestBackground: a daemon in the background is started once, however often it is asked for, and anew where one was killed and
// left its socket.
func TestBackground(t *testing.T) {
	c := config(t, "well")
	var all []string
	for _, killed := range []bool{false, false, true} {
		if killed {
			d, err := mps.Background(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Command(t.Context(), "quit"); err != nil {
				t.Fatal(err)
			}
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(c.PipeDir, "control")})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		}
		d, err := mps.Background(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := d.Command(t.Context(), "pid")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	d, err := mps.Background(t.Context(), c)
	if err == nil {
		_, err = d.Command(t.Context(), "quit")
	}
	if err != nil || all[0] != all[1] || all[1] == all[2] {
		t.Errorf("daemons were %v, and quit: %v", all, err)
	}
	t.Setenv(fakeEnv, "broken")
	over, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := mps.Background(over, c); err == nil {
		t.Error("a daemon that ends at once is taken for one that answers")
	}
	c.Program = filepath.Join(c.PipeDir, "none")
	if _, err := mps.Background(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is the driver's MPS installed?") {
		t.Errorf("without the program: %v", err)
	}
}

// asked is the system's clock, which notes how long it is asked to wait.
type asked struct {
	nvmlx.Clock

	now  time.Time // that it told last
	wait time.Duration
}

type askedWaiter struct {
	nvmlx.Waiter

	clock *asked
}

func (c *asked) Now() time.Time {
	c.now = c.Clock.Now()
	return c.now
}

func (c *asked) NewWaiter() nvmlx.Waiter { return askedWaiter{c.Clock.NewWaiter(), c} }

func (w askedWaiter) Wait(ctx context.Context, until time.Time) error {
	w.clock.wait = until.Sub(w.clock.now)
	return w.Waiter.Wait(ctx, until)
}

// TestDefaults: the program is NVIDIA's in PATH, logs go where tasks meet the daemon, and
// between two looks at it lie 50 ms.
func TestDefaults(t *testing.T) {
	c := config(t, "slow")
	bin, clock := t.TempDir(), &asked{Clock: nvmlx.SystemClock()}
	if err := os.Symlink(c.Program, filepath.Join(bin, "nvidia-cuda-mps-control")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	d := start(t, mps.Config{PipeDir: c.PipeDir, Devices: c.Devices[:1], Clock: clock})
	for command, want := range map[string]string{"devices": "GPU-1", "log": c.PipeDir} {
		if got, err := d.Command(t.Context(), command); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", command, got, err, want)
		}
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if clock.wait != 50*time.Millisecond {
		t.Errorf("%v lie between two looks", clock.wait)
	}
}

// TestServers: a daemon has ended well though a server of its own outlives it; a command that
// leaves a process behind holds up nobody.
func TestServers(t *testing.T) {
	d := start(t, config(t, "servers"))
	if _, err := d.Command(t.Context(), "leave"); !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("a command that does not let go: %v", err)
	}
	if err := d.Stop(t.Context()); err != nil || d.Err() != nil {
		t.Errorf("stop: %v, end: %v", err, d.Err())
	}
}

// ended reports whether a daemon has ended; nobody waits for that.
func ended(d *mps.Daemon) bool {
	select {
	case <-d.Done():
		return true
	default:
		return false
	}
}

func TestDaemonFails(t *testing.T) {
	t.Run("ends at once", func(t *testing.T) {
		c := config(t, "broken")
		c.Poll = time.Hour // which nobody waits for
		_, err := mps.Start(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "ended before it answered: exit status 1: fake control: no GPU for you") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("does not answer", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		c := config(t, "deaf")
		_, err := mps.Start(ctx, c)
		if !errors.Is(err, context.DeadlineExceeded) || mps.Running(c.PipeDir) {
			t.Errorf("got %v, running %v", err, mps.Running(c.PipeDir))
		}
	})
	t.Run("does not answer a command", func(t *testing.T) {
		d := start(t, config(t, "well"))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := d.Command(ctx, "hang"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a command of who gave up waiting: %v", err)
		}
		_ = d.Stop(t.Context()) // which it may have done by itself
	})
	t.Run("ends later", func(t *testing.T) {
		d := start(t, config(t, "well"))
		_, _ = d.Command(t.Context(), "crash")
		<-d.Done()
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), "GPU fell off the bus") {
			t.Errorf("Err() = %v", err)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Run("does not quit", func(t *testing.T) {
		c := config(t, "stubborn")
		d := start(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := d.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if !ended(d) || mps.Running(c.PipeDir) {
			t.Error("it was killed and lives")
		}
	})
	t.Run("does not want to quit", func(t *testing.T) {
		c := config(t, "busy")
		d := start(t, c)
		if err := d.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "killed the daemon, which does not listen") || !strings.Contains(err.Error(), "not that") {
			t.Errorf("stop: %v", err)
		}
		if !ended(d) || mps.Running(c.PipeDir) {
			t.Error("it was killed and lives")
		}
	})
	t.Run("no program", func(t *testing.T) {
		c := config(t, "well")
		c.Program = "nvidia-cuda-mps-control-that-is-not-there"
		if _, err := mps.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is the driver's MPS installed?") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too long a path", func(t *testing.T) {
		c := config(t, "well")
		c.PipeDir += strings.Repeat("x", 88-len(c.PipeDir))
		if err := start(t, c).Stop(t.Context()); err != nil {
			t.Errorf("88 bytes: %v", err)
		}
		c.PipeDir += "x"
		if _, err := mps.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "89 bytes, and sockets allow 88: choose a shorter one") {
			t.Errorf("89 bytes: %v", err)
		}
	})
	t.Run("no directory", func(t *testing.T) {
		if _, err := mps.Start(t.Context(), mps.Config{}); err == nil || !strings.Contains(err.Error(), "no pipe directory") {
			t.Errorf("got %v", err)
		}
	})
}

func TestPipeDir(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, "/tmp/nvidia-mps"},
		{[]string{"CUDA_MPS_PIPE_DIRECTORY="}, "/tmp/nvidia-mps"},
		{[]string{"CUDA_MPS_PIPE_DIRECTORY=/a", "HOME=/", "CUDA_MPS_PIPE_DIRECTORY=/b=c"}, "/b=c"},
	} {
		if got := mps.PipeDir(tt.env); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.env, got, tt.want)
		}
	}
}

func TestShareEnv(t *testing.T) {
	tests := []struct {
		name  string
		share mps.Share
		want  string // variables without CUDA_ and their values, or the error
	}{
		{"whole", mps.Share{}, "MPS_PIPE_DIRECTORY=/tmp/nvidia-mps"},
		{"half", mps.Share{Threads: 0.5, PipeDir: "/p"}, "MPS_PIPE_DIRECTORY=/p MPS_ACTIVE_THREAD_PERCENTAGE=50"},
		{"third", mps.Share{Threads: 1.0 / 3, PipeDir: "/p"}, "MPS_PIPE_DIRECTORY=/p MPS_ACTIVE_THREAD_PERCENTAGE=33"},
		{"inexact", mps.Share{Threads: 0.29, PipeDir: "/p"}, "MPS_PIPE_DIRECTORY=/p MPS_ACTIVE_THREAD_PERCENTAGE=29"},
		{"tiny", mps.Share{Threads: 0.001, PipeDir: "/p"}, "MPS_PIPE_DIRECTORY=/p MPS_ACTIVE_THREAD_PERCENTAGE=1"},
		{
			"all",
			mps.Share{Device: "GPU-7", Threads: 1, Memory: 10*profile.GiB + 1, LowPriority: true, PipeDir: "/p"},
			"MPS_PIPE_DIRECTORY=/p VISIBLE_DEVICES=GPU-7 MPS_ACTIVE_THREAD_PERCENTAGE=100 MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M MPS_CLIENT_PRIORITY=1",
		},
		{"per cent", mps.Share{Threads: 50}, "threads are 50, want a share in (0, 1]"},
		{"NaN", mps.Share{Threads: math.NaN()}, "threads are NaN"},
		{"negative", mps.Share{Threads: -0.1}, "threads are -0.1"},
		{"bytes for MiB", mps.Share{Device: "GPU-7", Memory: 1024}, "memory is 1024 bytes, want at least 1 MiB"},
		{"memory of what", mps.Share{Memory: profile.GiB}, "needs the device"},
		{"two devices", mps.Share{Device: "GPU-1,GPU-2"}, `device is "GPU-1,GPU-2"`},
		{"odd directory", mps.Share{PipeDir: "a\nb"}, "pipe directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := tt.share.Env()
			got := strings.ReplaceAll(strings.Join(env, " "), "CUDA_", "")
			if err != nil && strings.Contains(err.Error(), tt.want) {
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestMaxClients(t *testing.T) {
	volta := nvmlx.DeviceInfo{ComputeCapability: profile.Some(7.0)}
	tests := []struct {
		cuda   string
		device nvmlx.DeviceInfo
		want   int
	}{
		{"12.8", volta, 48},
		{"13.0", volta, 48},
		{"13.1", volta, 60},
		{"13.10", volta, 60},
		{"14.0", volta, 60},
		{"", volta, 48},
		{"thirteen", volta, 48},
		{"13.1", nvmlx.DeviceInfo{ComputeCapability: profile.Some(6.1)}, 16},
		{"13.1", nvmlx.DeviceInfo{Name: "NVIDIA A100-SXM4-40GB"}, 60},
		{"13.1", nvmlx.DeviceInfo{Name: "Tesla P100-PCIE-16GB"}, 16},
		{"13.1", nvmlx.DeviceInfo{}, 16},
		{"13.1", nvmlx.DeviceInfo{Name: "NVIDIA A100-SXM4-40GB", ComputeCapability: profile.Some(6.1)}, 16}, // the driver knows better
		{"13.1", nvmlx.DeviceInfo{ComputeCapability: profile.Some(math.NaN())}, 16},
	}
	for _, tt := range tests {
		if got := mps.MaxClients(nvmlx.SystemInfo{CUDA: tt.cuda}, tt.device); got != tt.want {
			t.Errorf("CUDA %q, %+v: %d, want %d", tt.cuda, tt.device, got, tt.want)
		}
	}
}
