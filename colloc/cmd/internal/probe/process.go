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
	"example.com/colloc/profile"
)

// tee passes an output on and keeps it, as long as somebody follows it.
type tee struct {
	to   io.Writer
	log  *os.File
	over *atomic.Bool
}

// Write implements io.Writer. What cannot be kept is no reason to lose the output.
func (t *tee) Write(p []byte) (int, error) {
	if !t.over.Load() {
		_, _ = t.log.Write(p)
	}
	return t.to.Write(p)
}

// process is the command while it runs.
type process struct {
	cmd  *exec.Cmd
	logs []*os.File
	over atomic.Bool   // nobody follows its output any more
	done chan struct{} // closed when it has ended
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
		log, err := os.Create(filepath.Join(dir, []string{"stdout", "stderr"}[i]))
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.logs = append(p.logs, log)
		*[]*io.Writer{&p.cmd.Stdout, &p.cmd.Stderr}[i] = &tee{to, log, &p.over}
	}
	p.cmd.WaitDelay = 2 * time.Second // what it started may hold its output open
	procgroup.Own(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", words[0], errors.Unwrap(err)), p.close())
	}
	go func() {
		_ = p.cmd.Wait() // its state tells
		close(p.done)
	}()
	return p, nil
}

func (p *process) close() (err error) {
	for _, log := range p.logs {
		err = errors.Join(err, log.Close())
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

// known is the product of a device; of one that nobody described its name and memory.
func known(h *gpus.Host, id nvmlx.DeviceID) profile.GPUModel {
	model := h.Models[id]
	for _, d := range h.Devices {
		if d.ID == id && model.Name == "" {
			model = profile.GPUModel{Name: d.Name, Memory: d.Memory.Or(0)}
		}
	}
	return model
}
