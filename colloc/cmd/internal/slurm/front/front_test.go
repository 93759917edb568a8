package front

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/taskfile"
)

// parser is the command's; nobody reads its help.
func parser(f *flag.FlagSet, args []string, operands, about string) error {
	return cli.ParsePart(f, args, io.Discard, "slurm", operands, about)
}

// TestNew: what the command line says stands in the file, and is checked before.
func TestNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.json")
	for _, tt := range []struct {
		name, args, stdin, err string
		want                   []string
		tasks                  []string
	}{
		{name: "grid", args: "-p lr=0.1,0.2 -n 2 -cpus 2 -- train {lr} {}", tasks: []string{"lr=0.1,run-0", "lr=0.1,run-1", "lr=0.2,run-0", "lr=0.2,run-1"}, want: []string{`"cpus": 2`}},
		{name: "gang", args: "-gpus 4 -nodes 2 -launch torchrun -- train", tasks: []string{"task"}, want: []string{`"launch": "torchrun"`, `"nodes": 2`, `"gpus": 4`}},
		{name: "site", args: "-model a=T4 -licenses m:2 -gpu-memory 16GiB -- train", tasks: []string{"task"}, want: []string{`"a": "T4"`, `"licenses": "m:2"`, `"gpu_memory": `}},
		{name: "signal", args: "-signal SIGUSR2@90 -limit 3 -- train", tasks: []string{"task"}, want: []string{`"signal": "USR2"`, `"warn": "1m30s"`, `"limit": 3`}},
		{name: "seen", args: "-gpu T4 -used 2GiB -busy 0.3 -- train", tasks: []string{"task"}, want: []string{`"gpu_busy": 0.3`, `"mem_used": `}},
		{name: "file", args: "-f -", stdin: "@id=a x\n@id=b y\n", tasks: []string{"a", "b"}},
		{name: "order", args: "-f -", stdin: "@id=a x\n@id=b @after=a y\n", err: "waits for"},
		{name: "nothing", err: "no command"},
		{name: "both", args: "-f - -- x", err: "a command and -f FILE: want one of them"},
		{name: "launcher", args: "-launch mpirun -- x", err: "known are torchrun, ranks, node"},
		{name: "most", args: "-most 99 -- x", err: "most is 99"},
		{name: "steps", args: "-steps -nodes 2 -- x", err: "leave nodes out"},
		{name: "where seen", args: "-busy 0.3 -- x", err: "need -gpu"},
		{name: "no such signal", args: "-signal KILL -- x", err: "want one of USR1, USR2"},
		{name: "no time", args: "-signal USR2@soon -- x", err: "want NAME@SECONDS"},
		{name: "model", args: "-model a -- x", err: "want TYPE=PRODUCT"},
		{name: "product", args: "-model a=Z9000 -- x", err: "a product that colloc knows"},
		{name: "repeats", args: "-n -3 -- x", err: "flag -n: want 1 to 100000"},
		{name: "busy", args: "-gpu T4 -busy 2 -- x", err: "-busy 2: want 0 to 1"},
		{name: "no number", args: "-gpu T4 -busy nan -- x", err: "-busy NaN: want 0 to 1"},
		{name: "time", args: "-time -2h -- x", err: "time is -2h0m0s"},
		{name: "twice equal", args: "-model a=b=T4 -- x", err: "a product that colloc knows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(path)
			err := New(parser, append([]string{"-sweep", path}, strings.Fields(tt.args)...), strings.NewReader(tt.stdin), &bytes.Buffer{})
			if tt.err != "" {
				if !errors.Is(err, cli.ErrUsage) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want a mistake with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s is missing in\n%s", want, text)
				}
			}
			file, err := taskfile.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, task := range file.Tasks {
				ids = append(ids, task.ID)
			}
			if !slices.Equal(ids, tt.tasks) {
				t.Errorf("tasks %q, want %q", ids, tt.tasks)
			}
		})
	}
	if err := New(parser, []string{"-sweep", path, "--", "x"}, nil, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if err := New(parser, []string{"-sweep", path, "--", "x"}, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is there") {
		t.Errorf("%v, want an error: the file is there", err)
	}
}

// small is a site of two nodes with four GPUs each.
type small struct{}

func (small) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	answer := map[string]string{
		"squeue":   `{"jobs": []}`,
		"sinfo":    `{"nodes": [{"name": "g1", "state": "idle", "partitions": ["main"], "gres": "gpu:a100:4", "cpus": 32, "real_memory": 64000}, {"name": "g2", "state": "idle", "partitions": ["main"], "gres": "gpu:a100:4", "cpus": 32, "real_memory": 64000}]}`,
		"scontrol": "PartitionName=main Default=YES State=UP MaxTime=1-00:00:00\nPartitionName=short State=UP MaxTime=01:00:00\n",
	}
	if c.Args[0] == "sbatch" {
		return slurm.Output{Stderr: []byte("sbatch: Job 1 to start at 2026-01-01T01:00:00 using 8 processors on nodes g1 in partition main\n")}, nil
	}
	return slurm.Output{Stdout: []byte(answer[c.Args[0]])}, nil
}

// TestAdvise: what to ask for, what it costs and when it starts, and what to measure
// next where points are missing.
func TestAdvise(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want, not  []string
	}{
		{"one point", "-point a100:1=100 -price a100=2 -work 360000", []string{"--gres=gpu:a100:1\n", "measure 2 and 4 GPUs next", "cost: 1.0 GPU hours, 2.00 at 2 an hour", "starts: in partition main in 1h0m0s, on g1"}, []string{"partition short in"}},
		{"it still scales", "-point a100:1=100 -point a100:2=190 -point a100:4=370", []string{"--gres=gpu:a100:4\n", "measure 8 GPUs next", "cost: not known"}, nil},
		{"it does not", "-point a100:1=100 -point a100:2=190 -point a100:4=200", []string{"--gres=gpu:a100:2\n"}, []string{"GPUs next"}},
		{"all there is", "-point a100:1=100 -point a100:8=790", []string{"--nodes=2\n"}, []string{"GPUs next"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local) // as sbatch prints times
			if err := Advise(t.Context(), parser, strings.Fields(tt.args), slurm.NewClient(slurm.Config{Runner: small{}}), now, &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, &out)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is in\n%s", not, &out)
				}
			}
		})
	}
	for _, args := range []string{"", "-point a100", "-point a100:x=1", "-point a100:1=0", "-price a100 -point a100:1=1", "-point h100:1=1", "-point a100:1=1 -partition nope"} {
		if err := Advise(t.Context(), parser, strings.Fields(args), slurm.NewClient(slurm.Config{Runner: small{}}), time.Time{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
