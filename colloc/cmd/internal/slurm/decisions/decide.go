package decisions

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
)

const aboutDecide = `Decide prints where the plan wants a task: "node=g1 gres=shard:a100i1:4", or
nothing if the plan has no wish. TASK is the job's comment after "colloc:", as
plan -decisions prints it; UID, if given, is whose job it is: nobody is told
the decisions of another user. In a folder of decisions, where every user leaves a
file, it must be given, and a file counts only if its owner is that user.

It also prints nothing when the decisions are older than -age, or than the
site's configuration: then plan them again. It reads one file, asks Slurm
nothing, and ends within milliseconds: job_submit.lua calls it while slurmctld
holds its locks, and a command such as squeue would wait for the same locks.`

// asking is what decide was asked.
type asking struct {
	path, conf string
	age        time.Duration
}

func (a *asking) flags() *flag.FlagSet {
	f := flag.NewFlagSet("decide", flag.ContinueOnError)
	f.StringVar(&a.path, "decisions", "", "the `FILE` that plan -decisions wrote, or the folder of them")
	f.DurationVar(&a.age, "age", 10*time.Minute, "how `LONG` a decision holds")
	f.StringVar(&a.conf, "conf", "/etc/slurm/slurm.conf", "the site's `FILE`; decisions older than it, or than gres.conf beside it, do not hold")
	return f
}

// Decide is the command decide.
func Decide(parse cli.Parser, args []string, now time.Time, out io.Writer) error {
	a := &asking{}
	f := a.flags()
	if err := parse(f, args, " TASK [UID]", aboutDecide); err != nil {
		return err
	}
	if f.NArg() < 1 || f.NArg() > 2 {
		return cli.Usage("%d operands, want TASK or TASK UID; see -h", f.NArg())
	}
	if a.path == "" {
		return cli.Usage("-decisions names no file; see -h")
	}
	all, err := read(a.path, f.Arg(1))
	if err != nil || all == nil {
		return err
	}
	d, known := all.Tasks[KeyOf(f.Arg(0))]
	if old := now.Sub(all.Made); !known || old > a.age || old < -time.Minute { // a file of the future is none of ours
		return nil
	}
	const grain = time.Second // clocks of file systems are coarse
	for _, file := range []string{a.conf, filepath.Join(filepath.Dir(a.conf), "gres.conf")} {
		info, err := os.Stat(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && info.ModTime().After(all.Made.Add(-grain)) {
			return nil
		}
	}
	fmt.Fprintf(out, "node=%s gres=%s\n", d.Node, d.Gres)
	return nil
}
