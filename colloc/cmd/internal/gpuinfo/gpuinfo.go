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
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

// options are the command line.
type options struct {
	replay, record string
	json           bool
	context        bool
	python         string
	n              int
	interval       time.Duration
}

// Run is the command; it returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("gpuinfo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.replay, "replay", "", "show a recording `FILE` instead of this host")
	flags.StringVar(&o.record, "record", "", "write what is seen to a new `FILE`")
	flags.BoolVar(&o.json, "json", false, "print JSON Lines: {info}, {device}, {sample}, {event}, {diagnosis}")
	flags.BoolVar(&o.context, "context", false, "measure what a CUDA context of PyTorch costs on the first idle GPU, and print the Host for predict")
	flags.StringVar(&o.python, "python", "python3", "the interpreter that has PyTorch, for -context")
	flags.IntVar(&o.n, "n", 0, "stop after so many lines for each GPU; 0 is until interrupted")
	flags.DurationVar(&o.interval, "interval", time.Second, "time between two lines")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || o.n < 0 || o.interval <= 0:
		_, _ = fmt.Fprintln(stderr, "gpuinfo: want no arguments but flags, -n 0 or more and -interval above 0; see -h")
		return 2
	}
	src, clock, done, err := open(o)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "gpuinfo:", err)
		return 2
	}
	out := bufio.NewWriter(stdout)
	if o.context {
		err = printContext(ctx, src, o.python, out)
	} else {
		err = watch(ctx, src, clock, o, out)
	}
	err = errors.Join(err, src.Close(), done(), out.Flush())
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "gpuinfo:", err)
		return 1
	}
	return 0
}

// open returns the source that the flags ask for, the clock to read it by, and
// what closes the files.
func open(o options) (src nvmlx.Source, clock nvmlx.Clock, done func() error, err error) {
	var files []*os.File
	done = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	if o.replay != "" {
		file, err := os.Open(o.replay)
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, file)
		clock = nvmlx.NewVirtualClock(time.Time{}) // as fast as can be
		if src, err = nvmlx.Replay(file, nil); err != nil {
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
	sampler := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Clock: clock, Slow: o.interval, OnEvent: func(e nvmlx.Event) {
		if o.replay != "" {
			e.At = time.Time{} // the clock of a replay counts from nowhere
		}
		board.event(e)
	}})
	err = sampler.Run(ctx, board.see)
	if errors.Is(err, context.Canceled) {
		err = nil // interrupted, or n lines were printed
	}
	board.end()
	return err
}
