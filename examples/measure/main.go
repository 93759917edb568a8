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
	"syscall"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/report"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/session"
	"example.com/colloc/examples/measure/internal/simulated"
	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/internal/filelock"
)

func main() {
	if name := os.Getenv(simulated.Env); name != "" {
		if err := simulated.Workload(name, os.Stdin, os.Stdout, os.Stderr); err != nil {
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
		err = printTasks(stdout, o.Tasks)
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
	if errors.Is(err, rig.ErrForeign) || errors.Is(err, filelock.ErrInUse) {
		return 3
	}
	return 1
}

func printReport(w io.Writer, name string) error {
	rows, err := table.Load(name)
	if err != nil {
		return err
	}
	return report.Print(w, rows)
}

// measureAll measures the plan on the GPU, or on a simulation of one.
func measureAll(ctx context.Context, o *options, log io.Writer) (err error) {
	r, err := makeRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var cells []plan.Cell
	for _, s := range o.Stages() {
		cells = append(cells, s.Cells...)
	}
	return session.Measure(ctx, r, cells, o.config(), log)
}

func makeRig(ctx context.Context, o *options) (*rig.Rig, error) {
	if o.fake {
		return simulated.New().Rig()
	}
	return rig.Open(ctx, rig.Options{GPU: o.gpu, Python: o.python, Unchecked: o.unchecked})
}
