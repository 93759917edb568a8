// Quickstart plans which training tasks share which GPU, from two files of
// descriptions: no GPU, no data and no configuration needed.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -tasks my-tasks.json -gpus my-gpus.json
//	go run ./examples/quickstart -json
//
// It prints the memory that each task will need at its peak and what is reserved for it, then
// the plan with the predicted speed of every task, the throughput against
// running one task per GPU, the proven bound on any plan, and for each task
// that was not placed or not shared the reason and what would lift it.
//
// Exit status: 0 on success, 1 when planning failed, 2 for input that is wrong:
// then a message names file and line, and nothing is written to standard
// output. A task that is larger than every GPU is wrong, too, but does not keep
// the others from being planned: the whole plan is printed, then the message.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/packer"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	tasksPath := flags.String("tasks", "", "read the tasks from `FILE` instead of the built-in ones")
	gpusPath := flags.String("gpus", "", "read the GPUs from `FILE` instead of the built-in ones")
	asJSON := flags.Bool("json", false, "print the plan as JSON")
	flags.Usage = func() { usage(flags) }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "quickstart: unexpected argument %q; see -h\n", flags.Arg(0))
		return 2
	}
	tasks, err := loadTasks(*tasksPath)
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 2
	}
	cluster, err := loadGPUs(*gpusPath)
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 2
	}
	return plan(tasks, cluster, *asJSON, stdout, stderr)
}

// plan computes and prints; the output is complete before its first byte is
// written.
func plan(work *workload, cluster *taskfile.Cluster, asJSON bool, stdout, stderr io.Writer) int {
	planner, err := colloc.New(cluster.Config)
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 1
	}
	plan, err := planner.Plan(context.Background(), work.Tasks, cluster.GPUs)
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 2
	}
	var out bytes.Buffer
	if asJSON {
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(plan)
	} else {
		err = plan.Explain(&out)
	}
	if err == nil {
		_, err = out.WriteTo(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 1
	}
	return tooLarge(work, plan, stderr)
}

// tooLarge names the tasks that fit no GPU and returns the exit status.
func tooLarge(work *workload, plan *colloc.Plan, stderr io.Writer) int {
	status := 0
	for _, n := range plan.Notes {
		if n.Code == packer.TooLarge {
			fmt.Fprintf(stderr, "quickstart: %s: task %q needs %v, the largest GPU offers %v\n", work.place[n.ID], n.ID, n.Memory, n.Largest)
			status = 2
		}
	}
	return status
}

func usage(flags *flag.FlagSet) {
	fmt.Fprint(flags.Output(), `Quickstart plans which training tasks share which GPU.

usage: quickstart [-tasks FILE] [-gpus FILE] [-json]

`)
	flags.PrintDefaults()
	fmt.Fprint(flags.Output(), `
A task file is JSON, for example:

  {"tasks": [{
    "id": "bert-1",
    "model_file": "bert-base.json",
    "dataset": {"name": "IMDB", "samples": 25000},
    "training": {"batch_size": 8, "optimizer": "adam", "precision": "fp32"},
    "solo": {"gpu": "A100-40GB", "gpu_busy": 0.89, "mem_busy": 0.68}
  }]}

model_file, relative to the task file, is a Hugging Face config.json or what
torchsummary prints. seq_len sets the tokens per sample. solo is what was seen
of the task alone: gpu_busy and mem_busy are nvidia-smi's two utilisations as
fractions, sm_active and dram_active those of DCGM; mem_used ("9.5GiB") and
step_time ("120ms") may be given. What is not given is predicted. weight,
priority, max_slowdown, alone, labels, avoid, only, on, home and others state what
the plan must respect: go doc colloc/taskfile. colloc profile writes such a file, and colloc
plan reads these and more, with a picture.

A GPU file is JSON, for example:

  {"host": {"context_bytes": "520MiB"},
   "gpus": [{"id": "gpu0", "model": "A100-40GB", "mechanisms": ["time-slicing", "mps"]}]}

memory may override what the catalogue says of the model; labels are what tasks
ask for by "on".
`)
}
