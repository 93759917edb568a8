package front

import (
	"flag"
	"fmt"
	"io"
	"os"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/taskfile"
)

const aboutAdd = `Add puts tasks into a sweep file, in the words of new. A submit -wait that runs takes
them in at its next look, and they share GPUs with what is there.

  colloc slurm add sweep.json -- python train.py --lr 0.3
  colloc slurm add -n 30 -cpus 2 sweep.json -- python train.py --seed {}`

// Add is the command add.
func Add(parse cli.Parser, args []string, in io.Reader, out io.Writer) error {
	m := &making{}
	f := flag.NewFlagSet("add", flag.ContinueOnError)
	m.grid.Flags(f, nil)
	m.needFlags(f)
	if err := parse(f, args, " SWEEP [--] COMMAND", aboutAdd); err != nil {
		return err
	}
	rest := f.Args()
	if len(rest) == 0 {
		return cli.Usage("want the SWEEP file and a command; see -h")
	}
	m.path, rest = rest[0], rest[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	more, err := m.make(rest, in)
	if err != nil {
		return cli.Usage("%w", err)
	}
	unlock, err := files.Lock(m.path+".lock", true)
	if err != nil {
		return err
	}
	defer unlock()
	file, err := taskfile.ReadFile(m.path)
	if err != nil {
		return cli.Usage("%w", err)
	}
	info, err := os.Stat(m.path)
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for i := range file.Tasks {
		taken[file.Tasks[i].ID] = true
	}
	for _, t := range more.Tasks {
		id := t.ID
		for n := 2; taken[t.ID]; n++ {
			t.ID = fmt.Sprintf("%s.%d", id, n)
		}
		taken[t.ID] = true
		file.Tasks = append(file.Tasks, t)
	}
	if err := taskfile.WriteFile(m.path, file); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d tasks more, %d in all\n", m.path, len(more.Tasks), len(file.Tasks))
	return os.Chmod(m.path, info.Mode().Perm())
}
