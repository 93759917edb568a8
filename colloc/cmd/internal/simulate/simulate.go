package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/internal/replace"
)

// Program is colloc simulate.
func Program() cli.Program {
	return cli.Program{
		Name: "simulate", Short: "Replay a trace under scheduling policies",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			err := run(ctx, args, s.Out, s.Err)
			if err != nil && ctx.Err() != nil {
				err = errors.New("interrupted: no figures, and a report that was there is as it was")
			}
			return cli.Exit(s.Err, "colloc simulate", err)
		},
		Flags: new(options).flags, Words: map[string]func() []string{
			"policies":  func() []string { return append([]string{"all"}, policyNames()...) },
			"estimator": func() []string { return []string{"oracle", "colloc", "horus", "faketensor", "gpumemnet"} },
		},
	}
}

// run is the command but for what it says of errors.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return err
	}
	if o.published != "" && isMeasured(o.published) {
		return printMeasured(ctx, stdout, o.published)
	}
	if o.published != "" {
		return printPublished(ctx, stdout, o.published)
	}
	scales, err := o.scales()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(o.html)); o.html != "" && err != nil { // rather than after the runs
		return cli.Usage("-html: %w", err)
	}
	if err := cli.Overwrites("html", o.html, o.trace, o.pairs, o.nodes); err != nil {
		return cli.Usage("%w", err)
	}
	for _, o.contention = range scales {
		if err := o.simulate(ctx, args, stdout, stderr); err != nil {
			return err
		}
	}
	return nil
}

// scales reads -contention.
func (o *options) scales() ([]float64, error) {
	var out []float64
	for part := range strings.SplitSeq(o.contentions, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0 && x <= 100) {
			return nil, cli.Usage("-contention is %q, want numbers above 0 up to 100", o.contentions)
		}
		out = append(out, x)
	}
	if len(out) > 1 && o.html != "" {
		return nil, cli.Usage("-html: a report is of one -contention, there are %d", len(out))
	}
	return out, nil
}

// simulate makes one study and prints it.
func (o *options) simulate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := o.study()
	if err != nil {
		return err
	}
	s.done = progress(stderr, len(s.policies)*s.seeds)
	outcomes, err := s.run(ctx)
	if err == nil && s.boundSet > 0 {
		err = s.prove(ctx, outcomes)
	}
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(stdout, s.trace, o.contention, outcomes)
	} else {
		fmt.Fprintln(stdout, s.world)
		for _, line := range s.left {
			fmt.Fprintln(stdout, line)
		}
		err = writeTable(stdout, summarise(outcomes), s.baseline)
	}
	if err != nil || o.html == "" {
		return err
	}
	return saveReport(o, s, args, outcomes)
}

// saveReport writes the page beside its final name first, so that a full disk
// leaves no half of one.
func saveReport(o *options, s *study, args []string, outcomes []outcome) error {
	command := "colloc simulate " + strings.Join(args, " ")
	var page bytes.Buffer
	err := writeReport(&page, "Policies on "+s.trace, s, command, summarise(outcomes))
	if err == nil {
		err = replace.Shared(o.html, 0o644, page.Bytes()) // a report is for others to read
	}
	if err != nil {
		return fmt.Errorf("-html: %w", err)
	}
	return nil
}

// progress shows a bar on a terminal once a study takes longer than a moment.
func progress(w io.Writer, runs int) func() {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	start := time.Now()
	bar := progressbar.NewOptions(runs, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("simulating"),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	return func() {
		if err := bar.Add(1); err == nil && time.Since(start) < time.Second {
			_ = bar.Clear()
		}
	}
}
