// Measure profiles training tasks on one GPU, alone and in sets that share it by
// time-slicing or MPS, and writes the measurements as open data that package
// predict learns from. It needs a GPU and Python with PyTorch, or -fake, which
// simulates both.
//
//	go run ./examples/measure -plan
//	go run ./examples/measure -out raw.jsonl -budget 10m -keep 40 -warmup 1s -measure 3s
//	go run ./examples/measure -out raw.jsonl -csv table.csv
//	go run ./examples/measure -report table.csv
//
// README.md says what is measured and how, and what each column means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	if name := os.Getenv(fakeEnv); name != "" {
		if err := fakeWorkload(name, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "simulated workload:", err)
			os.Exit(1)
		}
		return
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute is the program; it returns its exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "measure:", err)
		return 2
	}
	switch {
	case o.list:
		err = printTasks(stdout, o.tasks)
	case o.plan:
		err = printPlan(stdout, o)
	case o.csv != "":
		err = convert(o.out, o.csv)
	case o.report != "":
		err = printReport(stdout, o.report)
	default:
		err = measureAll(ctx, o, stderr)
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "measure: stopped; the same command goes on with the cell that was running")
		return 130
	}
	fmt.Fprintln(stderr, "measure:", err)
	if errors.Is(err, errForeign) || errors.Is(err, errLocked) {
		return 3
	}
	return 1
}

func printTasks(w io.Writer, tasks []task) error {
	for _, t := range tasks {
		mark := " "
		if t.core {
			mark = "*"
		}
		if _, err := fmt.Fprintf(w, "%s %-16s %s\n", mark, t.name, t.what); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\n* core: their pairs are measured first")
	return err
}

// printPlan prints each stage with the time until its end, and its cells.
func printPlan(w io.Writer, o *options) error {
	var until float64
	cells := 0
	for _, s := range makePlan(o.planOptions) {
		for i := range s.cells {
			until += o.settings().expect(&s.cells[i]).Minutes()
		}
		cells += len(s.cells)
		if _, err := fmt.Fprintf(w, "%s: %d cells, done after about %.0f min\n", s.name, len(s.cells), until); err != nil {
			return err
		}
		for i := range s.cells {
			if _, err := fmt.Fprintln(w, " ", s.cells[i].id()); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d cells in all\n", cells)
	return err
}

// convert makes a tidy table of a raw file, and beside it a file of the tasks'
// descriptions.
func convert(from, to string) error {
	c, err := loadRaw(from)
	if err != nil {
		return err
	}
	if c.header != nil && c.header.Simulated && inDataFolder(to) {
		return errDataFolder
	}
	err = writeFile(to, func(w io.Writer) error { return writeCSV(w, tidy(c)) })
	if err != nil {
		return err
	}
	return writeFile(tasksFile(to), func(w io.Writer) error { return writeTasks(w, c.specs) })
}

// writeFile writes a file, complete or not at all.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func printReport(w io.Writer, name string) error {
	rows, err := loadRows(name)
	if err != nil {
		return err
	}
	return report(w, rows)
}

// loadRaw reads a raw file.
func loadRaw(name string) (*contents, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readRaw(name, f)
}

// loadRows reads a tidy table, or makes one of a raw file.
func loadRows(name string) ([]row, error) {
	if filepath.Ext(name) == ".jsonl" {
		c, err := loadRaw(name)
		if err != nil {
			return nil, err
		}
		return tidy(c), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readCSV(name, f)
}
