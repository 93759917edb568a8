package mps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/internal/procgroup"
	"example.com/colloc/internal/tail"
	"example.com/colloc/nvmlx"
)

// Program is the driver's control program.
const Program = "nvidia-cuda-mps-control"

// Config says how a daemon is run.
type Config struct {
	// Program is the control program; empty means [Program], found in PATH.
	Program string
	// PipeDir is where tasks meet the daemon. It is required, is made if it is
	// not there, and must be on a file system with sockets, whose paths are short:
	// at most 88 bytes. Give each GPU its own.
	PipeDir string
	// LogDir is where the daemon writes control.log and server.log; empty means
	// PipeDir.
	LogDir string
	// Devices are the GPUs of this daemon; none means all.
	Devices []nvmlx.DeviceID
	// Poll is the time between two looks whether the daemon answers; 0 means
	// 50 ms.
	Poll time.Duration
	// Clock is the time to go by; nil is nvmlx.SystemClock.
	Clock nvmlx.Clock
}

// Daemon is a running control daemon. It is safe for concurrent use.
type Daemon struct {
	config Config
	cmd    *exec.Cmd
	output tail.Buffer
	done   chan struct{}
	err    error // of the process; set before done is closed
}

// maxPipeDir leaves room for the longest name that the daemon gives a socket,
// /control_privileged, in the 107 bytes of a socket's path.
const maxPipeDir = 107 - len("/control_privileged")

// Running reports whether a daemon seems to listen in pipeDir; empty means
// DefaultPipeDir. A daemon that was killed leaves its socket behind, so true is
// no promise.
func Running(pipeDir string) bool {
	if pipeDir == "" {
		pipeDir = DefaultPipeDir
	}
	_, err := os.Stat(filepath.Join(pipeDir, "control"))
	return err == nil
}

// Start runs a control daemon in the foreground, as a child of this process, and
// returns once it answers. If it ends before, or ctx is done first, nothing is
// left behind and the error holds what it printed. Later the end of ctx does not
// matter: the daemon runs until [Daemon.Stop], in a process group of its own,
// so that Ctrl-C at the terminal does not reach it.
func Start(ctx context.Context, config Config) (*Daemon, error) {
	d, err := newDaemon(config)
	if err != nil {
		return nil, err
	}
	if Running(config.PipeDir) {
		return nil, fmt.Errorf("mps: start: there is a daemon in %s already, or the remains of one: use or remove it", config.PipeDir)
	}
	d.cmd = exec.Command(d.config.Program, "-f") // not CommandContext: it outlives the ctx of Start
	d.cmd.Env = d.environment()
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	d.cmd.WaitDelay = time.Second // its servers may hold the pipe open
	procgroup.Own(d.cmd)
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("mps: start: %w: is the driver's MPS installed?", err)
	}
	go func() {
		defer close(d.done)
		if err := d.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) { // with such a server it ended well
			d.err = err
		}
	}()
	if err := d.ready(ctx); err != nil {
		d.kill()
		return nil, fmt.Errorf("mps: start: %w%s", err, d.output.Quoted())
	}
	return d, nil
}

// Background is Start for a daemon that outlives this process, as the tasks there do: one that answers already is used, and
// the socket that one left behind who does not is removed. Nobody watches it: Done is never closed, and "quit", by
// [Daemon.Command], is how to end it.
func Background(ctx context.Context, config Config) (*Daemon, error) {
	d, err := newDaemon(config)
	if err != nil {
		return nil, err
	}
	if Running(config.PipeDir) {
		if _, err := d.Command(ctx, "get_server_list"); err == nil {
			return d, nil
		}
		if err := errors.Join(ctx.Err(), os.Remove(filepath.Join(config.PipeDir, "control"))); err != nil {
			return nil, fmt.Errorf("mps: start: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, d.config.Program, "-d")
	cmd.Env = d.environment()
	procgroup.Own(cmd)
	if err := cmd.Run(); err != nil { // without its output: the daemon may keep a pipe open
		return nil, fmt.Errorf("mps: start: %w: is the driver's MPS installed? %s may say more", err, filepath.Join(d.config.LogDir, "control.log"))
	}
	if err := d.ready(ctx); err != nil {
		return nil, fmt.Errorf("mps: start: %w", err)
	}
	return d, nil
}

// newDaemon checks a configuration, fills it in, and makes its folders.
func newDaemon(config Config) (*Daemon, error) {
	if config.Program == "" {
		config.Program = Program
	}
	if config.LogDir == "" {
		config.LogDir = config.PipeDir
	}
	if config.Poll <= 0 {
		config.Poll = 50 * time.Millisecond
	}
	if config.Clock == nil {
		config.Clock = nvmlx.SystemClock()
	}
	switch {
	case config.PipeDir == "":
		return nil, errors.New("mps: start: no pipe directory: name one of your own for each daemon")
	case len(config.PipeDir) > maxPipeDir:
		return nil, fmt.Errorf("mps: start: the path of the pipe directory %s has %d bytes, and sockets allow %d: choose a shorter one, such as one in /tmp",
			config.PipeDir, len(config.PipeDir), maxPipeDir)
	}
	for _, dir := range []string{config.PipeDir, config.LogDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("mps: start: %w", err)
		}
	}
	return &Daemon{config: config, done: make(chan struct{})}, nil
}

// environment is that of the daemon and of the commands to it.
func (d *Daemon) environment() []string {
	env := append(os.Environ(), "CUDA_MPS_PIPE_DIRECTORY="+d.config.PipeDir, "CUDA_MPS_LOG_DIRECTORY="+d.config.LogDir)
	if len(d.config.Devices) > 0 {
		ids := make([]string, len(d.config.Devices))
		for i, id := range d.config.Devices {
			ids[i] = string(id)
		}
		env = append(env, "CUDA_VISIBLE_DEVICES="+strings.Join(ids, ","))
	}
	return env
}

// ready waits until the daemon answers.
func (d *Daemon) ready(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiter := d.config.Clock.NewWaiter()
	defer waiter.Stop()
	go func() { // an early end ends the waiting
		select {
		case <-d.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		if Running(d.config.PipeDir) {
			if _, err := d.Command(ctx, "get_server_list"); err == nil {
				return nil
			}
		}
		err := waiter.Wait(ctx, d.config.Clock.Now().Add(d.config.Poll))
		select {
		case <-d.done:
			return fmt.Errorf("the daemon ended before it answered: %w", orZero(d.err))
		default:
		}
		if err != nil {
			return fmt.Errorf("the daemon does not answer: %w", err)
		}
	}
}

// orZero makes an error of an exit status of 0.
func orZero(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Command sends one command, such as "get_server_list" or "set_default_active_
// thread_percentage 50", to the daemon and returns the answer without its last
// newline.
func (d *Daemon) Command(ctx context.Context, command string) (string, error) {
	if strings.ContainsAny(command, "\n\x00") || strings.TrimSpace(command) == "" {
		return "", fmt.Errorf("mps: command %q: want one line", command)
	}
	cmd := exec.CommandContext(ctx, d.config.Program)
	cmd.Env = d.environment()
	cmd.Stdin = strings.NewReader(command + "\n")
	cmd.WaitDelay = time.Second
	var stderr tail.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("mps: command %q: %w%s", command, err, stderr.Quoted())
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// Env returns the environment of a task with a share of this daemon's GPUs. It
// overrides the share's pipe directory.
func (d *Daemon) Env(s Share) ([]string, error) {
	s.PipeDir = d.config.PipeDir
	return s.Env()
}

// Done is closed when the daemon has ended, by Stop or by itself. Its tasks then
// fail or hang: end them.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Err returns how a daemon that has ended came to its end: nil for an ordinary
// one. Before that it is nil.
func (d *Daemon) Err() error {
	select {
	case <-d.done:
		if d.err != nil {
			return fmt.Errorf("mps: daemon: %w%s", d.err, d.output.Quoted())
		}
	default:
	}
	return nil
}

// Stop asks the daemon to quit and waits for its end. When ctx is done first,
// the daemon is killed, and Stop returns ctx.Err(). End the tasks before: quitting
// waits for them, and killing the daemon under them leaves their work undefined.
// Stopping a daemon that has ended is no error.
func (d *Daemon) Stop(ctx context.Context) error {
	select {
	case <-d.done:
		return nil
	default:
	}
	_, err := d.Command(ctx, "quit")
	if err != nil && ctx.Err() == nil {
		select {
		case <-d.done: // it quit without an answer
			return nil
		default:
		}
		d.kill()
		return fmt.Errorf("mps: stop: killed the daemon, which does not listen: %w", err)
	}
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		d.kill()
		return fmt.Errorf("mps: stop: killed the daemon, which did not quit: %w", ctx.Err())
	}
}

// kill ends the daemon with its servers and waits for its end.
func (d *Daemon) kill() {
	select {
	case <-d.done: // its number may be another's by now
	default:
		procgroup.Kill(d.cmd)
	}
	<-d.done
	_ = os.Remove(filepath.Join(d.config.PipeDir, "control")) // else Running would find it
}
