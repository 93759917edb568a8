package gain

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/internal/plain"
	"example.com/colloc/internal/replace"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

// Program is colloc gain.
func Program() cli.Program {
	return cli.Program{
		Name: "gain", Short: "Say what sharing would have gained a site, from its own past",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, args, s)
		},
		Flags: new(options).flags, Files: true,
	}
}

// run is the command; it returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	o := &options{}
	err := o.parse(args, s.Out)
	if err == nil {
		err = o.gain(ctx, s)
	}
	return cli.Exit(s.Err, "colloc gain", err)
}

// gain reads, replays and prints.
func (o *options) gain(ctx context.Context, s cli.Streams) error {
	log, err := o.read(s)
	if err != nil {
		return cli.Usage("%w", err)
	}
	found, err := o.watch(ctx, log, s.Err)
	if err != nil {
		return err
	}
	report, err := gain.Replay(ctx, log.Jobs, o.Options)
	if err != nil {
		return err
	}
	if o.pairs != "" {
		if err := writePairs(o.pairs, report.Pairs); err != nil {
			return err
		}
	}
	if o.json {
		return json.NewEncoder(s.Out).Encode(struct {
			*gain.Report
			Left     records.Left     `json:"left_out"`
			Attached records.Attached `json:"utilisation"`
		}{report, log.Left, found})
	}
	say(s.Out, log, found)
	_, err = io.WriteString(s.Out, report.String())
	return err
}

// read reads all histories as one.
func (o *options) read(s cli.Streams) (*records.Log, error) {
	var all *records.Log
	for _, name := range o.files {
		var log *records.Log
		var err error
		if name == "-" {
			log, err = records.Read(s.In, &records.Options{Location: o.location})
		} else {
			log, err = records.ReadFile(name, &records.Options{Location: o.location})
		}
		if err != nil {
			return nil, err
		}
		for _, w := range log.Warnings {
			fmt.Fprintf(s.Err, "colloc gain: %s: %s\n", plain.Text(name), plain.Text(w.Error()))
		}
		if all == nil {
			all = log
		} else {
			all.Merge(log)
		}
	}
	return all, nil
}

// watch gives the jobs what was seen of their GPUs.
func (o *options) watch(ctx context.Context, log *records.Log, stderr io.Writer) (records.Attached, error) {
	var traces []profile.Trace
	take := func(name string, f *tracefile.File, err error) error {
		if err != nil {
			return err
		}
		for _, w := range f.Warnings {
			fmt.Fprintf(stderr, "colloc gain: %s: %s\n", plain.Text(name), plain.Text(w.Error()))
		}
		traces = append(traces, f.Traces...)
		return nil
	}
	for _, name := range o.use {
		f, err := tracefile.ReadFile(name, &tracefile.Options{Location: o.location})
		if err := take(name, f, err); err != nil {
			return records.Attached{}, cli.Usage("-use: %w", err)
		}
	}
	if from, until, ok := log.Span(); ok && o.prometheus != "" {
		f, err := tracefile.Query(ctx, tracefile.PromQuery{BaseURL: o.prometheus, Match: o.match, Start: from, End: until, Step: o.step})
		if err := take(o.prometheus, f, err); err != nil {
			return records.Attached{}, fmt.Errorf("-prometheus: %w", err)
		}
	}
	if len(traces) == 0 {
		return records.Attached{}, nil
	}
	return log.Attach(traces), nil
}

// say tells what was read.
func say(w io.Writer, log *records.Log, found records.Attached) {
	l := &log.Left
	fmt.Fprintf(w, "read: %d jobs on GPUs; left out: %d without GPU, %d that never ran, %d on shares of GPUs, %d twice, %d damaged\n",
		len(log.Jobs), l.NoGPU, l.Waiting, l.Shares, l.Repeated, l.Damaged)
	if l.Open > 0 {
		fmt.Fprintf(w, "%d jobs still ran, and end with the log\n", l.Open)
	}
	if found != (records.Attached{}) {
		fmt.Fprintf(w, "use of GPUs: %d jobs named by the log, %d alone on their nodes, %d beside others, of which is not known who had which GPU\n",
			found.Labelled, found.Alone, found.Unclear)
	}
	fmt.Fprintln(w)
}

// writePairs writes who would have shared with whom.
func writePairs(name string, pairs []gain.Pair) error {
	lines := [][]string{{"job", "beside", "gpu", "gpu_hours"}}
	for i := range pairs {
		p := &pairs[i]
		lines = append(lines, []string{p.A, p.B, p.Pool, strconv.FormatFloat(p.Hours, 'f', 4, 64)})
	}
	var text bytes.Buffer
	err := csv.NewWriter(&text).WriteAll(lines)
	if err == nil {
		err = replace.Shared(name, 0o644, text.Bytes()) // it is for others to read
	}
	if err != nil {
		return fmt.Errorf("-pairs: %w", err)
	}
	return nil
}
