package plan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/internal/replace"
	"example.com/colloc/packer"
)

// Program is colloc plan.
func Program() cli.Program {
	return cli.Program{
		Name: "plan", Short: "Decide which tasks share which GPU",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			context.AfterFunc(ctx, stop) // a second signal ends the program at once
			return run(ctx, args, s.Out, s.Err)
		},
		Flags: new(options).flags, Words: map[string]func() []string{"method": methodNames}, Files: true,
	}
}

const help = `Plan decides which training tasks share which GPU, and says what that gains, what of it
is proven, who waits, and the cheapest thing that would help. It reads what colloc describe
reads: task files, which colloc profile writes; model files such as config.json or ONNX; the text of
torchinfo, torchsummary or print(model); logs of GPU use; folders of a training.
FILE@32 is a model file at batch 32.

usage: colloc plan [flags] FILE...

  colloc plan -gpus 4xA100-40GB colloc-task.json
  colloc plan -gpus 2xH100,1xT4 bert/config.json@16 summary.txt@128
  colloc plan -html plan.html tasks.json              the GPUs of this host
  colloc plan -gpus 4xA100-40GB -what-if gpus+1 -what-if "without bert" tasks.json

`

const status = `
-gpus FILE has the GPUs as JSON, for example:

  {"host": {"context_bytes": "520MiB"},
   "gpus": [{"id": "gpu0", "model": "A100-40GB", "mechanisms": ["time-slicing", "mps"]}]}

memory may override what the catalogue says of the model; labels are what tasks ask for by "on".

exit status: 0; 2 for wrong usage, for files that cannot be understood, and, with the whole plan,
for a task that is larger than every GPU; 1 for what else fails
`

// run is the command; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := o.flags()
	err := cli.Parse(flags, args, stdout, help, status)
	if err == nil {
		o.files = flags.Args()
		err = o.plan(ctx, stdout)
	}
	if err != nil {
		if line, more, _ := strings.Cut(err.Error(), "\n"); more != "" {
			short := fmt.Errorf("%s (and %d more)", line, 1+strings.Count(more, "\n"))
			if errors.Is(err, cli.ErrUsage) {
				short = cli.Usage("%w", short)
			}
			err = short
		}
	}
	return cli.Exit(stderr, "colloc plan", err)
}

// plan reads, plans and prints.
func (o *options) plan(ctx context.Context, stdout io.Writer) error {
	in, err := o.read(ctx)
	if err != nil {
		return cli.Usage("%w", err)
	}
	a, err := o.answer(ctx, in)
	var fault *colloc.FaultError
	switch {
	case errors.As(err, &fault):
		return cli.Usage("%w", err)
	case err != nil:
		return err
	}
	var out bytes.Buffer
	if err = o.write(&out, a); err == nil {
		_, err = stdout.Write(o.painted(out.Bytes(), stdout))
	}
	if err == nil {
		err = o.draw(a)
	}
	if err != nil {
		return err
	}
	return tooLarge(a.Plan, in)
}

// tooLarge names the first task that is larger than every GPU, and counts the others.
func tooLarge(p *colloc.Plan, in *input) error {
	var first *colloc.Note
	others := -1
	for i := range p.Notes {
		if n := &p.Notes[i]; n.Code == packer.TooLarge {
			others++
			if first == nil {
				first = n
			}
		}
	}
	if first == nil {
		return nil
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" (and %d more; -v names them)", others)
	}
	return cli.Usage("%stask %q needs %v, the largest GPU offers %v: plan it on a larger GPU, or with a smaller batch%s", in.places[first.ID], first.ID, first.Memory, first.Largest, more)
}

// write writes the answer as text or JSON.
func (o *options) write(w *bytes.Buffer, a *answer) error {
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(a)
	}
	tell := a.Plan.Summarize
	if o.verbose {
		tell = a.Plan.Explain
	}
	if err := tell(w); err != nil {
		return err
	}
	differ := func(name string, p *colloc.Plan) {
		fmt.Fprintf(w, "%s: %.2f tasks' worth of work (%+.2f), %d of %d tasks run", name, p.Throughput, p.Throughput-a.Plan.Throughput, len(p.Tasks)-len(p.Waiting()), len(p.Tasks))
		if p.Reference != a.Plan.Reference {
			fmt.Fprintf(w, ", on a %s", cmp.Or(p.Reference, "GPU of theirs"))
		}
		fmt.Fprintln(w)
	}
	if a.Alone != nil {
		differ("One task a GPU", a.Alone)
	}
	for i := range a.WhatIf {
		differ("If "+a.WhatIf[i].Change, a.WhatIf[i].Plan)
	}
	if a.Stopped {
		fmt.Fprintf(w, "Stopped after %v: a plan with more time may be better, -within 0 takes all it needs.\n", o.within)
	}
	switch n := len(a.Warnings); {
	case n == 0, o.verbose:
	case n == 1:
		fmt.Fprintln(w, "1 warning about the input: -v shows it.")
	default:
		fmt.Fprintf(w, "%d warnings about the input: -v shows them.\n", n)
	}
	return nil
}

// painted colours the summary where it goes to a terminal.
func (o *options) painted(text []byte, to io.Writer) []byte {
	f, ok := to.(*os.File)
	if !ok || o.json || o.verbose || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return text
	}
	return paint(text)
}

// paint makes the first line bold, what is proven green, and who waits yellow.
func paint(text []byte) []byte {
	const bold, green, yellow, plain = "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		on := ""
		switch {
		case out.Len() == 0:
			on = bold
		case strings.HasPrefix(line, "Proven"):
			on = green
		case strings.HasPrefix(line, "Not proven"), strings.HasPrefix(line, "Stopped"), strings.Contains(line, " wait: "), strings.Contains(line, " waits: "), strings.HasPrefix(line, "Limit: "):
			on = yellow
		}
		if on != "" {
			line = on + line + plain
		}
		out.WriteString(line + "\n")
	}
	return []byte(out.String())
}

// draw writes the pictures that were asked for.
func (o *options) draw(a *answer) error {
	for _, f := range []struct {
		path string
		draw func(io.Writer, *answer) error
	}{{o.html, writePage}, {o.svg, writeSVG}} {
		if f.path == "" {
			continue
		}
		var out bytes.Buffer
		if err := f.draw(&out, a); err != nil {
			return err
		}
		if err := replace.Shared(f.path, 0o644, out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
