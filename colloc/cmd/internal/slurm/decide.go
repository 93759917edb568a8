package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/slurm/usage"
	"example.com/colloc/colloc/slurm"
)

const aboutDecide = `Decide prints where the plan wants a task: "node=g1 gres=shard:a100i1:4", or
nothing if the plan has no wish. TASK is the job's comment after "colloc:", as
plan -decisions prints it; UID, if given, is whose job it is: nobody is told
the decisions of another user.

It also prints nothing when the decisions are older than -age, or than the
site's configuration: then plan them again. It reads one file, asks Slurm
nothing, and ends within milliseconds: job_submit.lua calls it while slurmctld
holds its locks, and a command such as squeue would wait for the same locks.`

// decisions are where the tasks of one user should go, and since when.
type decisions struct {
	Made  time.Time           `json:"made"`
	UID   int                 `json:"uid"`
	Tasks map[string]decision `json:"tasks"` // by the job's comment without its prefix
}

// decision is where a task should go.
type decision struct {
	Node string `json:"node"`
	Gres string `json:"gres"`
}

// decisions are those of jobs with one task.
func (o *outline) decisions(now time.Time) decisions {
	all := decisions{Made: now.UTC(), UID: os.Getuid(), Tasks: make(map[string]decision)}
	for _, j := range o.jobs {
		if len(j.tasks) == 1 && len(j.Request.Gres) == 1 && j.Request.NodeList != "" {
			all.Tasks[keyOf(j.Request.Comment)] = decision{Node: j.Request.NodeList, Gres: j.Request.Gres[0].String()}
		}
	}
	return all
}

// keyOf is a comment as decisions are looked up by, however its author escaped
// it.
func keyOf(comment string) string {
	key := strings.TrimPrefix(comment, slurm.CommentPrefix)
	if plain, err := url.QueryUnescape(key); err == nil {
		return plain
	}
	return key
}

func (p *program) decide(_ context.Context, args []string) error {
	f := flag.NewFlagSet("decide", flag.ContinueOnError)
	path := f.String("decisions", "", "`FILE` that plan -decisions wrote")
	age := f.Duration("age", 10*time.Minute, "how `LONG` a decision holds")
	conf := f.String("conf", "/etc/slurm/slurm.conf", "the site's `FILE`; decisions older than it, or than gres.conf beside it, do not hold")
	if err := p.parse(f, args, aboutDecide, "TASK [UID]"); err != nil {
		return err
	}
	if f.NArg() < 1 || f.NArg() > 2 {
		return wrong("%d operands, want TASK or TASK UID; see -h", f.NArg())
	}
	data, err := os.ReadFile(*path)
	if err != nil {
		return usage.Error{Err: err}
	}
	var all decisions
	if err := json.Unmarshal(data, &all); err != nil {
		return wrong("%s: %w", *path, err)
	}
	d, known := all.Tasks[keyOf(f.Arg(0))]
	if !known || f.NArg() == 2 && f.Arg(1) != strconv.Itoa(all.UID) {
		return nil
	}
	if old := p.now().Sub(all.Made); old > *age || old < -time.Minute { // a file of the future is none of ours
		return nil
	}
	for _, file := range []string{*conf, filepath.Join(filepath.Dir(*conf), "gres.conf")} {
		info, err := os.Stat(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && info.ModTime().After(all.Made) {
			return nil
		}
	}
	fmt.Fprintf(p.stdout, "node=%s gres=%s\n", d.Node, d.Gres)
	return nil
}
