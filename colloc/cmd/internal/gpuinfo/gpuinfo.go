package gpuinfo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/internal/regular"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

// options are the command line.
type options struct {
	replay, record string
	json           bool
	skip           bool
	context        bool
	python         string
	n              int
	interval       time.Duration
}

// Program is colloc gpuinfo.
func Program() cli.Program {
	return cli.Program{
		Name: "gpuinfo", Short: "Show the GPUs of this host and what holds them back",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			context.AfterFunc(ctx, stop) // a second signal ends the program at once
			return run(ctx, args, s.Out, s.Err)
		},
		Flags: new(options).flags,
	}
}

// flags returns the flags, which fill o.
func (o *options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("gpuinfo", flag.ContinueOnError)
	flags.StringVar(&o.replay, "replay", "", "show a recording `FILE` instead of this host")
	flags.BoolVar(&o.skip, "skip-damaged", false, "leave out rows of a recording that cannot be read, and say so")
	flags.StringVar(&o.record, "record", "", "write what is seen to a new `FILE`")
	flags.BoolVar(&o.json, "json", false, "print JSON Lines: {info}, {device}, {sample}, {event}, {diagnosis}")
	flags.BoolVar(&o.context, "context", false, "measure what a CUDA context of PyTorch costs on the first idle GPU, and print the Host for predict")
	flags.StringVar(&o.python, "python", "python3", "the interpreter that has PyTorch, for -context")
	flags.IntVar(&o.n, "n", 0, "stop after so many lines for each GPU; 0 is until interrupted")
	flags.DurationVar(&o.interval, "interval", time.Second, "time between two lines")
	return flags
}

const help = `Gpuinfo shows the GPUs of this host, or of a recording: what they are, who uses
them, what they do second by second, and in the end what holds each of them back.

usage: colloc gpuinfo [flags]

  colloc gpuinfo -n 60 -record gpu.jsonl
  colloc gpuinfo -replay gpu.jsonl           needs no GPU
  colloc gpuinfo -context                    what a bare CUDA context costs here

`

// run is the command; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := o.flags()
	err := cli.Parse(flags, args, stdout, help, "\nexit status: 0, 1 if reading failed, a recording is damaged or a GPU of this host was lost, 2 for wrong usage, a wrong file or no driver\n")
	if err == nil && (flags.NArg() > 0 || o.n < 0 || o.interval <= 0) {
		err = cli.Usage("want no arguments but flags, -n 0 or more and -interval above 0; see -h")
	}
	if err == nil {
		err = o.show(ctx, stdout, stderr)
	}
	return cli.Exit(stderr, "colloc gpuinfo", err)
}

// show opens what the flags name, and prints what it says.
func (o options) show(ctx context.Context, stdout, stderr io.Writer) error {
	src, clock, done, err := open(o, stderr)
	if err != nil {
		return cli.Usage("%w", err)
	}
	out := bufio.NewWriter(stdout)
	if o.context {
		err = printContext(ctx, src, o.python, out)
	} else {
		err = watch(ctx, src, clock, o, out)
	}
	return errors.Join(err, src.Close(), done(), out.Flush())
}

// open returns the source that the flags ask for, the clock to read it by, and
// what closes the files.
func open(o options, stderr io.Writer) (src nvmlx.Source, clock nvmlx.Clock, done func() error, err error) {
	var files []io.Closer
	done = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	if o.replay != "" {
		file, err := regular.Named(o.replay)
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, file)
		clock = nvmlx.NewVirtualClock(time.Time{}) // as fast as can be
		var onDamage func(error)
		if o.skip {
			onDamage = func(err error) { _, _ = fmt.Fprintln(stderr, "colloc gpuinfo: left out:", err) }
		}
		if src, err = nvmlx.Replay(file, onDamage); err != nil {
			return nil, nil, nil, errors.Join(fmt.Errorf("%s: %w", o.replay, err), done())
		}
	} else {
		clock = nvmlx.SystemClock()
		if src, err = gonvml.Open(nil); err != nil {
			return nil, nil, nil, fmt.Errorf("%w\n-replay FILE shows a recording without a GPU", err)
		}
		src = &withCPU{Source: src}
	}
	if o.record == "" {
		return src, clock, done, nil
	}
	file, err := os.OpenFile(o.record, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, nil, nil, errors.Join(err, src.Close(), done())
	}
	files = append(files, file)
	return nvmlx.Record(file, src), clock, done, nil
}

// watch prints the inventory, the table, and the diagnoses.
func watch(ctx context.Context, src nvmlx.Source, clock nvmlx.Clock, o options, out *bufio.Writer) error {
	host, err := inventory(ctx, src)
	if err != nil {
		return err
	}
	p := printer(&table{out: out, host: host})
	if o.json {
		p = &lines{out: json.NewEncoder(out), host: host}
	}
	p.begin()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board := newBoard(host, p, o.n, cancel, out.Flush)
	sampler := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Clock: clock, Every: o.interval, OnEvent: func(e nvmlx.Event) {
		if o.replay != "" {
			e.At = time.Time{} // the clock of a replay counts from nowhere
		}
		board.event(e)
	}})
	err = sampler.Run(ctx, board.see)
	if errors.Is(err, context.Canceled) {
		err = nil // interrupted, or n lines were printed
	}
	if o.replay != "" && errors.Is(err, nvmlx.ErrDeviceLost) && !errors.Is(err, nvmlx.ErrDamaged) {
		err = nil // all was shown: a loss is part of the recording
	}
	board.end()
	return err
}
