package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/procgroup"
	"example.com/colloc/nvmlx"
)

// relay passes on what the command writes into a file. A pipe would break when this
// program is killed, and end the command with it.
type relay struct {
	in, out *os.File // the file as the command writes it, and as it is read here
	to      io.Writer
	passed  int64 // bytes
	freed   int64
}

// pass passes on what is there. Who does not take it gets no more; the command goes on.
func (r *relay) pass(over bool) {
	info, err := r.out.Stat()
	if err != nil {
		return
	}
	n, err := io.Copy(r.to, io.LimitReader(r.out, info.Size()-r.passed)) // what comes meanwhile is for the next time
	if r.passed += n; err != nil {
		r.to = io.Discard
	}
	const often = 1 << 20
	if over && r.passed-r.freed >= often { // nobody reads it again
		release(r.in, r.passed)
		r.freed = r.passed
	}
}

// process is the command while it runs.
type process struct {
	cmd    *exec.Cmd
	relays []*relay
	over   atomic.Bool   // nobody follows its output any more
	done   chan struct{} // closed when it has ended and its output was passed on
}

// start starts the command on a GPU; what it tells is kept in dir.
func start(words []string, h *gpus.Host, gpu nvmlx.DeviceID, dir string, s cli.Streams) (*process, error) {
	words = h.Command(words)
	p := &process{cmd: exec.Command(words[0], words[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(h.Env, "CUDA_VISIBLE_DEVICES="+string(gpu), "COLLOC_PROGRESS="+filepath.Join(dir, "steps"))
	if os.Getenv("PYTHONUNBUFFERED") == "" {
		p.cmd.Env = append(p.cmd.Env, "PYTHONUNBUFFERED=1")
	}
	if in, ok := s.In.(*os.File); ok && !term.IsTerminal(int(in.Fd())) { // whoever reads a terminal in the background is stopped
		p.cmd.Stdin = in
	}
	for i, to := range []io.Writer{s.Out, s.Err} {
		path := filepath.Join(dir, []string{"stdout", "stderr"}[i])
		in, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.relays = append(p.relays, &relay{in: in, to: to})
		if p.relays[i].out, err = os.Open(path); err != nil {
			return nil, errors.Join(err, p.close())
		}
		*[]*io.Writer{&p.cmd.Stdout, &p.cmd.Stderr}[i] = in
	}
	procgroup.Own(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", words[0], errors.Unwrap(err)), p.close())
	}
	go p.pass()
	return p, nil
}

// pass passes the command's output on until it has ended.
func (p *process) pass() {
	exited := make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // its state tells
		close(exited)
	}()
	defer close(p.done)
	const often = 50 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-exited:
			ended = true
		case <-ticker.C:
		}
		for _, r := range p.relays {
			r.pass(p.over.Load())
		}
	}
}

func (p *process) close() (err error) {
	for _, r := range p.relays {
		err = errors.Join(err, r.in.Close())
		if r.out != nil {
			err = errors.Join(err, r.out.Close())
		}
	}
	return err
}

// status is the exit status of the command that ended.
func (p *process) status() int {
	const signalled = 128
	if w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalled + int(w.Signal())
	}
	return max(p.cmd.ProcessState.ExitCode(), 0)
}

// progress reads how far the task is: the file that it writes, or its output.
type progress struct {
	file *runner.Follower
	logs []*runner.Follower
}

func follow(file string, logs []string, pattern string) (*progress, error) {
	p := &progress{}
	var err error
	if file != "" {
		if p.file, err = runner.Follow(file, ""); err != nil {
			return nil, err
		}
	}
	for _, path := range logs {
		f, err := runner.Follow(path, pattern)
		if err != nil {
			return nil, fmt.Errorf("-step: %s", strings.TrimPrefix(err.Error(), "runner: "))
		}
		p.logs = append(p.logs, f)
	}
	return p, nil
}

func (p *progress) read(end bool) (best runner.Reading) {
	if p.file != nil {
		if r := p.file.Read(end); r.Matched {
			return r
		}
	}
	for _, f := range p.logs {
		if r := f.Read(end); r.Step.Or(-1) > best.Step.Or(-1) {
			best = r
		}
	}
	return best
}
