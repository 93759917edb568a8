package station

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/plain"
	"example.com/colloc/profile"
)

// list is colloc station list.
func (p *program) list(ctx context.Context, args []string) error {
	var q api.Query
	var all bool
	f := p.set()
	f.StringVar(&q.User, "user", "", "only the jobs of `NAME`")
	f.Func("state", "only jobs in the states `LIST`: queued, starting, running, succeeded, failed, cancelled", func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			var state queue.State
			if err := state.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
				return err
			}
			q.States = append(q.States, state)
		}
		return nil
	})
	f.IntVar(&q.Ended, "ended", 10, "the last `N` of those that are over, too")
	f.BoolVar(&all, "all", false, "all that are over")
	if err := p.parse(f, args, "Lists the jobs in the order of submission: those that run, those that wait and the\nlast ones that are over.", 0, 0); err != nil {
		return err
	}
	if all {
		q.Ended = -1
	}
	q.Brief = !p.asJSON
	client := p.client()
	defer client.Close()
	jobs, err := client.Jobs(ctx, q)
	if err != nil {
		return err
	}
	if p.asJSON {
		return p.json(jobs)
	}
	return printJobs(p.streams.Out, jobs, p.now())
}

// printJobs prints a table.
func printJobs(w io.Writer, jobs []api.Job, now time.Time) error {
	b := bufio.NewWriter(w) // the table is written cell by cell
	t := tabwriter.NewWriter(b, 0, 1, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tUSER\tSTATE\tGPU\tMEMORY\tSPEED\tSTEP\tTIME\tEXPECTED\tNAME")
	for i := range jobs {
		j := &jobs[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", j.ID, j.User, stateOf(j), where(j), memoryOf(j), speedOf(j), stepOf(j), timeOf(j, now), expected(j, now), titleOf(j))
	}
	return errors.Join(t.Flush(), b.Flush())
}

// stateOf is where a job is, in a word.
func stateOf(j *api.Job) string {
	if j.Held && j.State == queue.Queued {
		return "held"
	}
	if j.State == queue.Queued && j.Stops > 0 {
		short, _, _ := strings.Cut(j.Stopped, ", ")
		return short
	}
	return j.State.String()
}

// where names the GPUs of a job, or how many it wants.
func where(j *api.Job) string {
	if len(j.GPUs) == 0 {
		if j.Width > 1 {
			return fmt.Sprintf("x%d", j.Width)
		}
		return "-"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(j.GPUs), " ", ","), "[]")
}

func memoryOf(j *api.Job) string {
	if peak, ok := j.Peak.Get(); ok && !j.State.Over() {
		return peak.String() + "/" + j.Reserved.String()
	} else if ok {
		return peak.String()
	}
	if j.Reserved > 0 {
		return j.Reserved.String()
	}
	return "-"
}

func speedOf(j *api.Job) string {
	if speed, ok := j.Speed.Get(); ok {
		return screen.Percent(speed)
	}
	if speed, ok := j.Predicted.Get(); ok && len(j.Beside) > 0 {
		return "~" + screen.Percent(speed)
	}
	return "-"
}

func stepOf(j *api.Job) string {
	step, ok := j.Step.Get()
	if !ok {
		return "-"
	}
	if total, ok := j.Total.Get(); ok {
		return fmt.Sprintf("%d/%d", step, total)
	}
	return strconv.FormatInt(step, 10)
}

// timeOf is how long a job waits, runs or ran.
func timeOf(j *api.Job, now time.Time) string {
	d := now.Sub(j.Submitted)
	switch {
	case j.State.Over() && j.Started.IsZero():
		return "-"
	case j.State.Over():
		d = j.Ended.Sub(j.Started)
	case j.State != queue.Queued:
		d = now.Sub(j.Started)
	}
	return screen.Rounded(max(0, d).Round(100 * time.Millisecond)).String()
}

// expected is when a job that waits is expected to start, or one that runs to end.
func expected(j *api.Job, now time.Time) string {
	in := func(at time.Time) string {
		return "in " + screen.Rounded(max(0, at.Sub(now)).Round(time.Second)).String()
	}
	var text string
	between := j.StartsIn
	if at, ok := j.Starts.Get(); ok {
		text = "starts " + in(at)
	} else if at, ok := j.Ends.Get(); ok {
		text, between = "ends "+in(at), j.EndsIn
	} else {
		return "-"
	}
	if b, ok := between.Get(); ok && b.Hi.After(b.Lo) {
		text += fmt.Sprintf(" (%v-%v)", screen.Rounded(max(0, b.Lo.Sub(now)).Round(time.Second)), screen.Rounded(max(0, b.Hi.Sub(now)).Round(time.Second)))
	}
	return text
}

// titleOf is the name of a job, or what it runs.
func titleOf(j *api.Job) string {
	if j.Name != "" || len(j.Command) == 0 {
		return plain.Text(j.Name)
	}
	title := []rune(plain.Text(grammar.QuoteWords(j.Command)))
	const most = 60
	if len(title) > most {
		title = append(title[:most-3], []rune("...")...)
	}
	return string(title)
}

// neighbour names a job that shares a GPU with another, as anybody may see it.
func neighbour(j *api.Job) string {
	text := "job " + j.ID
	if j.Name != "" {
		text += " (" + j.Name + ")"
	}
	text += " of " + j.User
	if cost := costOf(j); cost != "" {
		text += ": " + cost
	}
	return text
}

// costOf is what sharing costs a job: how fast it is beside others. Empty is not known, or
// that nobody is beside it.
func costOf(j *api.Job) string {
	seen, measured := j.Speed.Get()
	foretold, predicted := j.Predicted.Get()
	const alone = " of its speed alone, as "
	switch {
	case len(j.Beside) == 0:
		return ""
	case measured && predicted:
		return screen.Percent(seen) + alone + "measured; " + screen.Percent(foretold) + ", as predicted at its start"
	case measured:
		return screen.Percent(seen) + alone + "measured"
	case predicted:
		return screen.Percent(foretold) + alone + "predicted at its start"
	}
	return ""
}

// show is colloc station show.
func (p *program) show(ctx context.Context, args []string) error {
	f := p.set()
	if err := p.parse(f, args, "Tells all about jobs: where they run or why they wait, who is beside them and what\nthat costs.", 1, -1); err != nil {
		return err
	}
	client := p.client()
	defer client.Close()
	for _, id := range f.Args() {
		j, err := client.Job(ctx, id)
		if err != nil {
			return err
		}
		var beside []api.Job
		if len(j.Beside) > 0 && !p.asJSON {
			if beside, err = client.Look(ctx, j.Beside...); err != nil {
				return err
			}
		}
		if p.asJSON {
			err = p.json(j)
		} else {
			err = printJob(p.streams.Out, &j, beside, p.now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// span says how sure a time is.
func span(between profile.Opt[api.Between]) string {
	b, ok := between.Get()
	if !ok || !b.Hi.After(b.Lo) {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", b.Lo.Local().Format(time.DateTime), b.Hi.Local().Format(time.DateTime))
}

// why is colloc station why.
func (p *program) why(ctx context.Context, args []string) error {
	f := p.set()
	if err := p.parse(f, args, "Tells why jobs wait, as things are now, and when they are expected to start: if nothing\nelse comes, and between what it would be if all that is left took half as long, and twice.", 1, -1); err != nil {
		return err
	}
	client := p.client()
	defer client.Close()
	for _, id := range f.Args() {
		j, err := client.Job(ctx, id)
		if err == nil && p.asJSON {
			err = p.json(j)
		} else if err == nil {
			_, err = fmt.Fprintln(p.streams.Out, reason(&j, p.now()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reason is a sentence about a job.
func reason(j *api.Job, now time.Time) string {
	text := fmt.Sprintf("job %s is %v", j.ID, j.State)
	switch {
	case j.State == queue.Queued:
		text = fmt.Sprintf("job %s waits: %s", j.ID, plain.Text(strings.TrimPrefix(j.Why, "it waits: ")))
	case j.State.Over() && j.Err != "":
		text += ": " + plain.Text(j.Err)
	}
	if soon := expected(j, now); soon != "-" {
		text += "\n  it " + soon
	}
	if j.Stops > 0 {
		text += fmt.Sprintf("\n  it was %s; %d times in all", plain.Text(j.Stopped), j.Stops)
	}
	return text
}

// printJob prints what is known of a job, a line each, and of those beside it.
func printJob(w io.Writer, j *api.Job, beside []api.Job, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 1, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(t, "%s\t%s\n", name, plain.Text(value)) // of another user, perhaps
		}
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format(time.DateTime)
	}
	line("job", j.ID)
	line("name", j.Name)
	line("user", j.User)
	line("command", grammar.QuoteWords(j.Command))
	line("folder", j.Dir)
	line("kind", j.Kind)
	line("class", j.Class)
	line("state", stateOf(j))
	if j.State == queue.Queued {
		line("waits", j.Why)
	}
	line("submitted", at(j.Submitted))
	if v, ok := j.Starts.Get(); ok {
		line("starts about", at(v)+span(j.StartsIn))
	}
	line("started", at(j.Started))
	if v, ok := j.Ends.Get(); ok {
		line("ends about", at(v)+span(j.EndsIn))
	}
	line("ended", at(j.Ended))
	line("time", timeOf(j, now))
	line("GPU", where(j))
	for i := range beside {
		line("beside", neighbour(&beside[i]))
	}
	line("speed", costOf(j))
	if j.Stops > 0 {
		line("was", fmt.Sprintf("%s; %d times in all", j.Stopped, j.Stops))
	}
	line("memory", memoryOf(j))
	line("step", stepOf(j))
	if j.OutOfMemory > 0 {
		line("out of memory", "yes")
	}
	if exit, ok := j.Exit.Get(); ok && j.Signal == 0 {
		line("exit status", strconv.Itoa(exit))
	}
	if j.Signal > 0 {
		line("signal", strconv.Itoa(j.Signal))
	}
	line("fault", j.Err)
	line("output", j.Log)
	return t.Flush()
}
