package sweep

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/cmd/internal/grammar"
)

// commands lists the tasks that a command line means, one a line.
func commands(args ...string) ([]string, error) {
	o := &options{}
	if err := o.parse(args, io.Discard); err != nil {
		return nil, err
	}
	jobs, err := o.grid.Of(o.command, strings.NewReader(fileOfCommands))
	var lines []string
	for _, j := range jobs {
		line := j.ID + ": " + grammar.QuoteWords(j.Command)
		if len(j.After) > 0 {
			line += " after " + strings.Join(j.After, " ")
		}
		lines = append(lines, line)
	}
	return lines, err
}

const fileOfCommands = `# prepares, then trains
@id=prep @priority=5 python prep.py 'a b'

@after=prep python train.py --seed {seed}
`

func TestTasks(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
		err  string
	}{
		{
			name: "repeats",
			args: []string{"-n", "2", "--", "train", "--seed={}", "{#}", "{{}}", `{"a":{}}`},
			want: []string{`run-0: train --seed=0 1 '{}' '{"a":0}'`, `run-1: train --seed=1 2 '{}' '{"a":1}'`},
		},
		{
			name: "grid",
			args: []string{"-p", "lr=0.1,1", "-p", "seed=0..1", "--", "train", "{lr}", "{seed}"},
			want: []string{
				"lr=0.1,seed=0: train 0.1 0", "lr=0.1,seed=1: train 0.1 1", "lr=1,seed=0: train 1 0", "lr=1,seed=1: train 1 1",
			},
		},
		{
			name: "names that files can have",
			args: []string{"-p", "path=a/b,a_b", "-p", "x=" + strings.Repeat("y", 80), "--", "train", "{path}", "{x}"},
			want: []string{
				"path=a_b,x=" + strings.Repeat("y", 53) + "-1: train a/b " + strings.Repeat("y", 80),
				"path=a_b,x=" + strings.Repeat("y", 53) + "-2: train a_b " + strings.Repeat("y", 80),
			},
		},
		{
			name: "names that look like others",
			args: []string{"-p", "x=a_-3,a/,a_", "--", "train", "{x}"},
			want: []string{"x=a_-3: train a_-3", "x=a_: train a/", "x=a_-3+: train a_"},
		},
		{name: "one", args: []string{"--", "train", "{}{}"}, err: `"{}{}": {} is the number of a repeat: it needs -n N`},
		{name: "unknown", args: []string{"--", "train", "{lr}"}, err: "{lr} has no values: add -p lr=..."},
		{name: "unused", args: []string{"-p", "lr=1", "--", "train"}, err: "-p lr is used nowhere"},
		{name: "twice", args: []string{"-p", "lr=1", "-p", "lr=2", "--", "train", "{lr}"}, err: "-p lr is there twice"},
		{name: "JSON", args: []string{"--", "train", `{"lr": 1}`, "{{lr}}"}, want: []string{`task: train '{"lr": 1}' '{lr}'`}},
		{
			name: "along a parameter",
			args: []string{"-p", "stage=prep,train", "-n", "2", "-after", "stage", "--", "{stage}", "{}"},
			want: []string{
				"stage=prep,run-0: prep 0", "stage=prep,run-1: prep 1",
				"stage=train,run-0: train 0 after stage=prep,run-0", "stage=train,run-1: train 1 after stage=prep,run-1",
			},
		},
		{name: "along nothing", args: []string{"-after", "x", "--", "train"}, err: "-after x: there is no -p x"},
		{name: "by nothing", args: []string{"-by", "x", "--", "train"}, err: "-by x: there is no -p x"},
		{
			name: "file",
			args: []string{"-f", "-", "-p", "seed=1..2"},
			want: []string{
				"prep,seed=1: python prep.py 'a b'", "prep,seed=2: python prep.py 'a b'",
				"line-4,seed=1: python train.py --seed 1 after prep,seed=1", "line-4,seed=2: python train.py --seed 2 after prep,seed=2",
			},
		},
		{
			name: "shell",
			args: []string{"-shell", "-p", "x=a,'$(b)'", "--", "echo {x} |", "cat"},
			want: []string{"x=a: 'echo a | cat'", `x=__b_: 'echo '\''$(b)'\'' | cat'`},
		},
		{name: "zero byte", args: []string{"-p", "x=\x00", "--", "train", "{x}"}, err: "zero byte"},
		{name: "too many", args: []string{"-n", "1000", "-p", "x=1..1000", "--", "train", "{x}"}, err: "more than 100000 tasks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := commands(tt.args...)
			if !failsWith(err, tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
