//go:build slurm

package slurmtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	patience = 3 * time.Minute // for anything that a busy machine should manage
	beat     = 20 * time.Millisecond
)

// Cluster is a private cluster that runs.
type Cluster struct {
	// Dir holds everything; Conf is what SLURM_CONF has to say.
	Dir, Conf string
	// Nodes are the names, g1 to gN.
	Nodes []string

	t       testing.TB
	root    bool
	daemons map[string]*exec.Cmd
}

// Start starts a cluster and returns when all of its nodes are idle. It stops
// when the test ends.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sinfo"} {
		if _, err := exec.LookPath(find(program)); err != nil {
			tb.Fatalf("%v: the package comment of internal/slurmtest says what to install", err)
		}
	}
	o.fill()
	c := &Cluster{Dir: tb.TempDir(), t: tb, root: os.Geteuid() == 0, daemons: make(map[string]*exec.Cmd)}
	if len(c.Dir) > 80 || c.root { // the path of a socket is short, and jobs of other users have to get in
		var err error
		if c.Dir, err = os.MkdirTemp("", "slurm"); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { c.remove() })
		if err := os.Chmod(c.Dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	c.Conf = filepath.Join(c.Dir, "slurm.conf")
	for i := range o.Nodes {
		c.Nodes = append(c.Nodes, fmt.Sprintf("g%d", i+1))
	}
	host, err := os.Hostname()
	if err != nil {
		tb.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	me, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	if err := o.write(c.Dir, host, me.Username, freePorts(tb, o.Nodes+1)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.stop)
	c.startMunge()
	c.StartController()
	for _, n := range c.Nodes {
		c.StartNode(n)
	}
	c.await("all nodes are idle", func() bool {
		out, err := c.try("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T")
		return err == nil && strings.Count(out, " idle\n") == o.Nodes
	})
	return c
}

// remove deletes the directory, once what the daemons still write is written.
func (c *Cluster) remove() {
	if c.t.Failed() {
		c.t.Log("the cluster's files are kept: ", c.Dir)
		return
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		c.t.Error(err)
	}
}

// freePorts returns ports that nobody uses right now, below those that the system gives to
// connections: one of these may be taken before a daemon asks for it.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range 100 * n {
		port := 10_000 + mathrand.IntN(20_000)
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		defer l.Close() //nolint:errcheck // only now, so that no port comes twice
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	tb.Fatalf("slurmtest: found %d free ports of %d", len(ports), n)
	return nil
}

// find finds programs that are not on the PATH of an ordinary user.
func find(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return filepath.Join("/usr/sbin", program)
	}
	return program
}

// Command returns a program that knows the cluster, ready to run.
func (c *Cluster) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, find(args[0]), args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.Conf, "TZ=UTC")
	cmd.WaitDelay = time.Second
	return cmd
}

// Run runs a program that must succeed and returns what it printed.
func (c *Cluster) Run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *Cluster) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := c.Command(ctx, args...).CombinedOutput()
	return string(out), err
}

// Await polls until a condition holds, and fails the test if it does not.
func Await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	AwaitFor(tb, patience, what, holds)
}

// AwaitFor is Await with a limit of its own.
func AwaitFor(tb testing.TB, limit time.Duration, what string, holds func() bool) {
	tb.Helper()
	if !patiently(limit, holds) {
		tb.Fatalf("slurmtest: waited %v: %s", limit, what)
	}
}

func (c *Cluster) await(what string, holds func() bool) {
	c.t.Helper()
	if !patiently(patience, holds) {
		c.t.Fatalf("slurmtest: waited %v: %s\n%s", patience, what, c.logs())
	}
}

// patiently polls for some time and reports whether the condition came to hold.
func patiently(limit time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			return false
		}
		pause(ctx)
	}
	return true
}

func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	<-ctx.Done()
}

// logs returns the ends of the daemons' logs.
func (c *Cluster) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.Dir, "log", "*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || len(text) == 0 || len(files) > 12 && strings.Contains(f, "slurmd.g") {
			continue
		}
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(f), text[max(0, len(text)-1500):])
	}
	return b.String()
}

// start starts a daemon in a process group of its own.
func (c *Cluster) start(name string, env []string, args ...string) {
	c.t.Helper()
	c.startAs(&syscall.SysProcAttr{Setpgid: true}, name, env, args...)
}

func (c *Cluster) startAs(as *syscall.SysProcAttr, name string, env []string, args ...string) {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.Dir, "log", name+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the daemon has its own
	cmd := c.Command(context.Background(), args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = as
	as.Pdeathsig = syscall.SIGKILL // should the test be killed, nobody else would stop it
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.daemons[name] = cmd
}

func (c *Cluster) startMunge() {
	c.t.Helper()
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		c.t.Fatal(err)
	}
	run := filepath.Join(c.Dir, "run")
	if err := os.WriteFile(filepath.Join(c.Dir, "munge.key"), key, 0o400); err != nil {
		c.t.Fatal(err)
	}
	args := []string{
		"munged", "--foreground", "--num-threads=2", "--key-file=" + filepath.Join(c.Dir, "munge.key"), "--socket=" + filepath.Join(run, "munge.socket"),
		"--pid-file=" + filepath.Join(run, "munged.pid"), "--log-file=" + filepath.Join(c.Dir, "log", "munged.log"), "--seed-file=" + filepath.Join(run, "munge.seed"),
	}
	if c.root {
		args = append(args, "--force") // it wants directories that only root can change, which /tmp is not
	}
	c.start("munged", nil, args...)
	c.await("munged listens", func() bool {
		_, err := os.Stat(filepath.Join(run, "munge.socket"))
		return err == nil
	})
}

// StartController starts slurmctld, for the first time or from what the last one
// saved, and returns when it answers.
func (c *Cluster) StartController() {
	c.t.Helper()
	args := []string{"slurmctld", "-D", "-f", c.Conf}
	if saved, _ := os.ReadDir(filepath.Join(c.Dir, "state")); len(saved) == 0 {
		args = append(args, "-i")
	}
	c.start("slurmctld", nil, args...)
	c.await("slurmctld answers", func() bool {
		out, _ := c.try("scontrol", "ping")
		return strings.Contains(out, "is UP")
	})
}

// StopController stops slurmctld, which saves its state.
func (c *Cluster) StopController() {
	c.t.Helper()
	c.end("slurmctld", syscall.SIGTERM)
}

// StartNode starts the slurmd of a node.
func (c *Cluster) StartNode(name string) {
	c.t.Helper()
	c.start("slurmd."+name, []string{nodeVariable + "=" + name}, "slurmd", "-D", "-N", name, "-f", c.Conf)
}

const nodeVariable = "SLURMTEST_NODE" // in the environment of slurmd and of its slurmstepd

// KillNode makes a node fail as a machine does: slurmd and everything that it
// started are gone at once.
func (c *Cluster) KillNode(name string) {
	c.t.Helper()
	c.end("slurmd."+name, syscall.SIGKILL)
	c.await("the jobs of "+name+" are dead", func() bool {
		pids := c.processes(nodeVariable+"="+name, "SLURMD_NODENAME="+name)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	})
}

// end ends a daemon and waits for it.
func (c *Cluster) end(name string, s syscall.Signal) {
	cmd := c.daemons[name]
	if cmd == nil {
		return
	}
	delete(c.daemons, name)
	_ = cmd.Process.Signal(s)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	var status *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &status) {
		c.t.Errorf("slurmtest: %s: %v", name, err)
	}
}

// stop ends everything. Jobs outlive slurmd: they are cancelled first.
func (c *Cluster) stop() {
	if c.daemons["slurmctld"] != nil {
		_, _ = c.try("scancel", "--state=PENDING", "--partition=main") // first, or they would start
		_, _ = c.try("scancel", "--full", "--partition=main")
		patiently(patience/6, func() bool { return len(c.processes("SLURMD_NODENAME=")) == 0 })
	}
	names := make([]string, 0, len(c.daemons))
	for name := range c.daemons {
		names = append(names, name)
	}
	slices.Sort(names) // munged, slurmctld, slurmd.g1, ...
	slices.Reverse(names)
	for _, name := range names {
		c.end(name, syscall.SIGTERM)
	}
	var left []int
	patiently(patience/6, func() bool {
		left = c.processes("")
		return len(left) == 0
	})
	for _, pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		c.t.Errorf("slurmtest: process %d is left: %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Processes returns those that belong to the cluster, by their environment:
// daemons, and jobs with what they started.
func (c *Cluster) Processes() []int { return c.processes("") }

// processes finds processes of the cluster whose environment has a variable
// that begins with one of the prefixes.
func (c *Cluster) processes(prefixes ...string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		c.t.Error(err)
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // gone, or of another user
		}
		vars := strings.Split(string(env), "\x00")
		ours := slices.Contains(vars, "SLURM_CONF="+c.Conf)
		if ours && slices.ContainsFunc(vars, func(v string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(v, p) })
		}) {
			pids = append(pids, pid)
		}
	}
	return pids
}
