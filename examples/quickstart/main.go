// Quickstart plans which training tasks share which GPU, from two files of descriptions:
// no GPU, no data and no configuration needed. It is the library's half of colloc plan.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -tasks my-tasks.json -gpus my-gpus.json -json
//
// Exit status: 0, or 2 with a message that says what is at fault. A task that is larger than
// every GPU is; the whole plan is printed all the same.
package main

import (
	"bytes"
	"context"
	"embed"
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

// builtin are the files beside this program, so that it runs from anywhere.
//
//go:embed tasks.json gpus.json models
var builtin embed.FS

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(2)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ExitOnError)
	tasksPath := flags.String("tasks", "", "read the tasks from `FILE`, such as colloc profile writes, instead of the built-in ones")
	gpusPath := flags.String("gpus", "", "read the GPUs from `FILE` instead of the built-in ones")
	all := flags.Bool("v", false, "print all: memory, speeds with intervals, each reason, warnings")
	asJSON := flags.Bool("json", false, "print the plan as JSON")
	if _ = flags.Parse(args); flags.NArg() > 0 { // it ends the program where a flag is wrong
		return fmt.Errorf("unexpected argument %q; see -h", flags.Arg(0))
	}
	described, err := readTasks(*tasksPath)
	if err != nil {
		return err
	}
	cluster, err := readGPUs(*gpusPath)
	if err != nil {
		return err
	}
	// What follows is all that a scheduler needs.
	tasks := make([]colloc.Task, len(described.Tasks))
	for i := range tasks {
		if tasks[i], err = described.Tasks[i].Colloc(); err != nil {
			return err
		}
	}
	planner, err := colloc.New(cluster.Config) // pretrained models
	if err != nil {
		return err
	}
	plan, err := planner.Plan(context.Background(), tasks, cluster.GPUs)
	if err != nil {
		return err
	}
	err = show(stdout, plan, *all, *asJSON)
	for _, n := range plan.Notes {
		if n.Code == packer.TooLarge {
			err = errors.Join(err, fmt.Errorf("task %q needs %v, the largest GPU offers %v", n.ID, n.Memory, n.Largest))
		}
	}
	return err
}

// show writes the plan in ten lines, whole, or for programs.
func show(w io.Writer, plan *colloc.Plan, all, asJSON bool) error {
	switch {
	case asJSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(plan)
	case all:
		return plan.Explain(w)
	}
	err := plan.Summarize(w)
	if n := len(plan.Warnings()); err == nil && n > 0 {
		_, err = fmt.Fprintf(w, "%d warnings about the input: -v shows them.\n", n)
	}
	return err
}

// readTasks reads the tasks at path, or the built-in ones.
func readTasks(path string) (*taskfile.File, error) {
	if path != "" {
		return taskfile.ReadFile(path)
	}
	f, err := builtin.Open("tasks.json")
	if err != nil {
		return nil, err
	}
	return taskfile.Read(f, &taskfile.Options{Name: "tasks.json", Open: builtin.Open})
}

// readGPUs reads the GPUs at path, or the built-in ones.
func readGPUs(path string) (*taskfile.Cluster, error) {
	read := os.ReadFile
	if path == "" {
		path, read = "gpus.json", builtin.ReadFile
	}
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return taskfile.ReadGPUs(bytes.NewReader(text), path)
}
