package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/shadow/follow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/internal/plain"
	"example.com/colloc/profile"
)

// Options are what both commands are asked for.
type Options struct {
	Journal  string
	Interval time.Duration
	Bound    profile.Bytes
	Rounds   int
	Report   bool
	JSON     bool
	Models   map[string]string
}

// About is the part of their help that both share.
const About = `Nothing is submitted, started or changed. Each round is appended to a journal, which
survives kill -9, is never larger than -bound, and is gone on with by the next call.
What jobs do with their GPUs is learned from those that ended: leave it running for a week,
then ask for -report, which may be done at any time, also while it runs.`

// Flags adds the flags.
func (o *Options) Flags(f *flag.FlagSet, journal string) {
	f.StringVar(&o.Journal, "journal", journal, "keep what was seen in `FILE`")
	f.DurationVar(&o.Interval, "interval", time.Minute, "time between two rounds")
	f.IntVar(&o.Rounds, "n", 0, "end after so many rounds; 0 is until interrupted")
	f.BoolVar(&o.Report, "report", false, "print what was found, and end")
	f.BoolVar(&o.JSON, "json", false, "print the report, or what would be done, as JSON")
	o.Bound = journalBound
	cli.Bytes(f, &o.Bound, "bound", "the most that the journal and its predecessor take (default 64MiB)")
	cli.Products(f, &o.Models, "gpu", "`TYPE=PRODUCT` behind a type of the site's, such as a100=A100-80GB; may come again")
}

const journalBound = profile.Bytes(journal.DefaultBound)

// Check refuses what makes no sense.
func (o *Options) Check() error {
	if o.Interval <= 0 || o.Rounds < 0 || o.Journal == "" {
		return errors.New("want -interval above 0, -n 0 or more, and a -journal")
	}
	return nil
}

// A Look is one look at the site. With an error it returns what it saw nevertheless, or nil.
type Look func(ctx context.Context) (*journal.Snapshot, error)

// Run looks on until ctx is done, which is no error, or prints the report. What fails in the
// last of so many rounds is an error.
func (o *Options) Run(ctx context.Context, look Look, s cli.Streams) error {
	if o.Report {
		return o.report(ctx, s.Out)
	}
	f, err := follow.New(follow.Config{Models: o.Models})
	if err != nil {
		return err
	}
	w, err := journal.Open(o.Journal, int64(o.Bound))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // every line is written by then
	damage, err := f.Read(ctx, o.Journal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if ctx.Err() != nil {
			return nil // somebody asked for the end
		}
		return err
	}
	if damage != (journal.Damage{}) {
		fmt.Fprintf(s.Err, "%s: %d lines cannot be read, and %d rounds after them\n", o.Journal, damage.Lines, damage.Rounds)
	}
	r := rounds{Options: o, follower: f, journal: w, look: look, streams: s}
	tick := time.NewTicker(o.Interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		last := n == o.Rounds
		if err := r.round(ctx, last); last {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// report prints what a journal tells.
func (o *Options) report(ctx context.Context, w io.Writer) error {
	summary, err := follow.Report(ctx, o.Journal, follow.Config{Models: o.Models})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: run without -report first", err)
	}
	if err != nil {
		return err
	}
	if o.JSON {
		return json.NewEncoder(w).Encode(summary)
	}
	_, err = io.WriteString(w, summary.String())
	return err
}

// rounds are what a run goes through.
type rounds struct {
	*Options
	follower *follow.Follower
	journal  *journal.Writer
	look     Look
	streams  cli.Streams
	said     string // the last complaint
	plan     *dispatch.Decision
}

// round is one: what fails is said once, and tried again in the next; of the last it is
// returned.
func (r *rounds) round(ctx context.Context, last bool) error {
	snapshot, err := r.look(ctx)
	var plan *dispatch.Decision
	if snapshot != nil { // with an error where only the use of GPUs is not known
		unwritten := r.journal.Write(snapshot) // a full disk takes the past, not the present
		var later error
		plan, later = r.follower.Take(ctx, snapshot)
		err = errors.Join(err, unwritten, later)
	}
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // somebody asked for the end
	case last:
	case err == nil:
		r.said = ""
	case err.Error() != r.said:
		r.said = err.Error()
		fmt.Fprintf(r.streams.Err, "%s: trying again every %v\n", plain.Text(r.said), r.Interval)
	}
	if plan != nil && plan != r.plan {
		r.tell(snapshot.At, plan)
	}
	r.plan = plan
	return err
}

// tell says what colloc would do.
func (r *rounds) tell(at time.Time, plan *dispatch.Decision) {
	if r.JSON {
		if err := json.NewEncoder(r.streams.Out).Encode(struct {
			At   time.Time          `json:"at"`
			Plan *dispatch.Decision `json:"plan"`
		}{at, plan}); err != nil {
			fmt.Fprintln(r.streams.Err, err)
		}
		return
	}
	for i := range plan.Placements {
		p := &plan.Placements[i]
		for _, m := range p.Members {
			if m.Resident {
				continue
			}
			beside := "alone"
			for _, n := range p.Members {
				if n.Task != m.Task {
					beside = strings.TrimPrefix(beside, "alone") + " beside " + n.Task
				}
			}
			fmt.Fprintf(r.streams.Out, "%s would run %s on %s %s, at %.2f of its speed alone\n",
				at.Format(time.DateTime), plain.Text(m.Task), plain.Text(p.GPU), plain.Text(strings.TrimSpace(beside)), m.Speed.Value)
		}
	}
}
