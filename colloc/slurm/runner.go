package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

// Command is one of Slurm's programs to run. No shell is involved.
type Command struct {
	// Args are the program's name and its arguments.
	Args []string
	// Input is what the program reads.
	Input string
	// Dir is the working directory; empty is the caller's.
	Dir string
}

// String returns the arguments for messages. Those that hold more than plain
// characters are quoted.
func (c Command) String() string {
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\$*?;&|<>()", r) }) {
			words[i] = fmt.Sprintf("%q", a)
		}
	}
	return site.Clip(strings.Join(words, " "))
}

// Output is what a Command printed and the status that it ended with.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// Runner runs commands. A status other than 0 is no error of the Runner's: its
// error says that the program could not be started, or not be run to its end.
type Runner interface {
	Run(ctx context.Context, c Command) (Output, error)
}

// Exec runs the programs of this machine. The zero Exec finds them on PATH and
// leaves it to them to find the cluster.
type Exec struct {
	// Bin is the directory with the programs; empty means PATH.
	Bin string
	// Conf is the configuration file, SLURM_CONF; empty is the site's.
	Conf string
}

var _ Runner = Exec{}

// stopTime is how long a program that was told to stop may take.
const stopTime = 2 * time.Second

// Run starts the program and waits for it. When ctx ends, the program is killed. The
// environment is the caller's, with times in UTC, messages in English, and without
// the variables that change what the programs print. That of sbatch, which hands it
// on to the job, is left as it is.
func (e Exec) Run(ctx context.Context, c Command) (Output, error) {
	if len(c.Args) == 0 {
		return Output{Code: -1}, errors.New("slurm: command without a program")
	}
	name := c.Args[0]
	if e.Bin != "" {
		name = filepath.Join(e.Bin, name)
	}
	cmd := exec.CommandContext(ctx, name, c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = e.environ(os.Environ(), c)
	cmd.WaitDelay = stopTime
	cmd.Stdin = strings.NewReader(c.Input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: -1}
	var status *exec.ExitError
	switch {
	case err == nil: // also when ctx ended meanwhile: a job may have been submitted
		out.Code = 0
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &status) && status.ExitCode() >= 0:
		out.Code = status.ExitCode()
	default:
		return out, err
	}
	return out, nil
}

func (e Exec) environ(env []string, c Command) []string {
	if c.Args[0] != "sbatch" || slices.Contains(c.Args, "--test-only") {
		env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
			for _, p := range []string{"SQUEUE_", "SINFO_", "SACCT_", "SCONTROL_", "SLURM_TIME_FORMAT=", "SLURM_JSON="} {
				if strings.HasPrefix(v, p) {
					return true
				}
			}
			return false
		})
		env = append(env, "LC_ALL=C", "TZ=UTC")
	}
	// Slurm lets these win over the header.
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name, ours := strings.CutPrefix(name, "SBATCH_")
		kept := slices.Contains([]string{"ACCOUNT", "QOS", "RESERVATION"}, name) // what a site makes its users say
		return ours && (!kept || strings.Contains(c.Input, "\n#SBATCH --"+strings.ToLower(name)+"="))
	})
	if e.Conf != "" {
		env = append(env, "SLURM_CONF="+e.Conf)
	}
	return env
}

// failed makes the Error of a command that ran and failed.
func failed(c Command, out Output) *site.Error {
	said := site.Clean(string(out.Stderr))
	if said == "" {
		said = site.Clean(string(out.Stdout))
	}
	return &site.Error{Kind: site.KindOf(said), Command: c.String(), Said: said, Code: out.Code}
}

// unreachable makes the Error of a command that could not be run to its end.
func unreachable(c Command, err error) *site.Error {
	e := &site.Error{Kind: site.ErrNoCluster, Command: c.String(), Said: err.Error(), Code: -1, Cause: err}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		e.Said = "the program is not installed or not on PATH"
	case errors.Is(err, context.DeadlineExceeded):
		e.Said = "no answer in time"
	}
	return e
}

// during names the command in an Error of a parser.
func during(command string, err error) error {
	if e, ok := err.(*site.Error); ok { //nolint:errorlint // the parsers return it bare
		e.Command = command
	}
	return err
}
