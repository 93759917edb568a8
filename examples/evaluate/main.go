// Command evaluate measures how good colloc's predictions are.
//
//	go run ./examples/evaluate -train DIR [-test DIR] [-set NAME,...] [-probes K] [-online] [-plots DIR] [-list]
//	go run ./examples/evaluate -set own.csv
//
// It fits on the measurement files in the folder of -train and scores either by
// cross-validation or, with -test, on files that the fit has not seen. A test
// file NAME.csv or NAME__SPLIT.csv has the columns of the training file
// NAME.csv; SPLIT becomes the name of the split, "test" where there is none. The
// table that examples/measure writes is the set interference_measured. A -set that ends
// in .csv is the path of a table of your own co-runs, in the layout of dataset.ReadCoRuns,
// which needs no -train: colloc is fitted to it beside the pretrained model.
//
// Without -test there are two splits. "random" deals the rows to 5 folds.
// "family" leaves whole families out: one fold a family, or 8 folds of whole
// families where there are more. A family is what the set says its rows are
// related by: an architecture, a model family, a model.
//
// A mean hides the families: median_group_ and worst_group_ are the errors of the median
// and of the worst fold on one GPU, worst_coverage_pct the coverage of the worst.
//
// On standard output it prints one JSON object a line for each set, split and
// model, on standard error a table of the same. The model "colloc" is this
// library; the others are baselines, fitted or computed in the same run.
//
// Every model is scored on the same rows.
//
// With -online it prints instead, for the sets of pairs (NAME_online), what models
// make of a family that was left out while they see co-runs of it: the error on
// those not seen after 0, 1, 3, 8, 16, 32 and 64 (mae_after_K), how many of them the 90 %
// intervals hold, in the mean and in the worst family on one GPU, and how wide these are
// (cover_, worst_cover_ and width_after_K), and what share of the best pairing they miss in 24 rounds of planning 5 tasks of it and 9 others and
// learning from what was planned (regret_24, a sum over the rounds). colloc refits
// after every round.
//
// With -online -set NAME_disturbed it prints what false measurements cost that are learned
// of such a family: by how many percent one false speed from .1 to 2 raises the error on
// the others, at most, where it comes after so many honest co-runs (lie_after_K_pct), and
// by how many 64 co-runs at x.5, x.7 and x1.3 of their speeds do after 64 honest ones more
// (mended_xF_pct, on mended_n speeds).
//
// With -plots it also writes, as SVG and PNG, predicted against measured for each
// set and split, the asked risk of running out of memory against the seen one
// (calibration-oom) and how many measurements the 90 % intervals hold
// (calibration-intervals); and it prints the second as objects with "kind":
// "oom_calibration". The same files give the same bytes.
//
// A set whose file is not there is skipped with a note. The exit status is 2 for
// bad input, 1 for a failure.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"example.com/colloc/examples/evaluate/internal/days"
	"example.com/colloc/examples/evaluate/internal/interference"
	"example.com/colloc/examples/evaluate/internal/memory"
	"example.com/colloc/examples/evaluate/internal/pace"
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/examples/evaluate/internal/utilization"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err == nil:
		return
	}
	fmt.Fprintln(os.Stderr, "evaluate:", err)
	var fault *failure
	if errors.As(err, &fault) {
		os.Exit(1)
	}
	os.Exit(2)
}

// sets are all that can be evaluated, in the order of the output.
func sets(probes int) []protocol.Set {
	return slices.Concat(memory.Sets(), utilization.Sets(), interference.Sets(probes), pace.Sets(), days.Sets())
}

func run(args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	flags.SetOutput(log)
	train := flags.String("train", "", "folder with the training files (required)")
	test := flags.String("test", "", "folder with test files NAME.csv or NAME__SPLIT.csv; without it, cross-validate")
	names := flags.String("set", "", "comma-separated sets to evaluate (default all)")
	probes := flags.Int("probes", 0, "interference sets: co-runs of each new task that are observed before scoring")
	plots := flags.String("plots", "", "folder to write plots to (SVG and PNG), made if it is not there; also prints asked against seen risk")
	online := flags.Bool("online", false, "instead, how fast models learn of a family left out: errors after some co-runs of it, regret over 24 rounds")
	list := flags.Bool("list", false, "list the sets and stop")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -h", flags.Arg(0))
	}
	if *probes < 0 {
		return fmt.Errorf("-probes is %d, want 0 or more", *probes)
	}
	chosen, err := choose(*names, *probes, *online)
	if err != nil {
		return err
	}
	if *list {
		for _, s := range chosen {
			fmt.Fprintf(out, "%s\t%s.csv\n", s.Name, s.File)
		}
		return nil
	}
	if err := checkFolder(*train, slices.ContainsFunc(chosen, func(s protocol.Set) bool { return s.Folder == "" })); err != nil {
		return err
	}
	if err := checkFolder(*test, false); err != nil {
		return err
	}
	lines, err := evaluate(chosen, *train, *test, log)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return fmt.Errorf("nothing to evaluate: no file of the chosen sets in %s", strings.TrimSpace(*train+" "+*test))
	}
	if *plots != "" {
		if err := writePlots(*plots, lines); err != nil {
			return &failure{err}
		}
	}
	if err := writeJSON(out, lines, *plots != ""); err != nil {
		return &failure{err}
	}
	return writeTable(log, lines)
}

// choose returns the sets with the given names, or all.
func choose(names string, probes int, online bool) ([]protocol.Set, error) {
	all := sets(probes)
	if online {
		all = interference.OnlineSets()
	}
	if names == "" {
		return all, nil
	}
	if online {
		all = append(all, interference.DisturbedSets()...)
	}
	wanted := make(map[string]bool)
	var chosen []protocol.Set
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); strings.HasSuffix(name, ".csv") && !online {
			chosen = append(chosen, interference.OwnSet(name))
			continue
		}
		wanted[name] = true
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
		if wanted[s.Name] {
			chosen = append(chosen, s)
			delete(wanted, s.Name)
		}
	}
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); wanted[name] {
			return nil, fmt.Errorf("-set: unknown set %q; known are %s, and paths of tables of your own, PATH.csv", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func checkFolder(folder string, required bool) error {
	if folder == "" {
		if required {
			return errors.New("-train is missing: name the folder with the measurement files; see -h")
		}
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", folder)
	}
	return nil
}
