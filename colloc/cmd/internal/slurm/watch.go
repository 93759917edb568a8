package slurm

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/plain"
	"example.com/colloc/profile"
)

const aboutWatch = `Watch follows the jobs that submit recorded until all of them are over. Then it
compares each task's speed with what was predicted, teaches the models the
difference, and saves them.

A task's speed is its step time alone over that in its log, from lines such as

  step_time=0.131s        step_time: 131ms        step time 131 ms

(the median counts), or else its run time alone over that of its job. Its peak
memory is the largest of lines such as "peak_memory=9.5GiB"; "out of memory" in
the log says that it needed more. A speed counts only if the task's neighbours
were there for four fifths of its time. Every set counts once, however often
watch is called.`

func (p *program) follow(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("watch", flag.ContinueOnError)
	in := inputFlags(f)
	if err := p.parse(f, args, aboutWatch); err != nil {
		return err
	}
	d, unlock, err := p.alone(in)
	if err != nil {
		return err
	}
	defer unlock()
	if len(d.record.Sets) == 0 {
		return cli.Usage("%s is not there, or empty: submit first", *d.submitted)
	}
	w := newSteward(p, d)
	w.chatty = true
	if err := w.loop(ctx, w.watch); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "learned from %d of %d sets\n", w.taught, len(d.record.Sets))
	return p.failures(d.sweep, d.record, w.seen)
}

// failures is the error that names the jobs that did not complete; nil if all
// did. It prints what their scripts said last. What Slurm has forgotten, the
// jobs' own output tells.
func (p *program) failures(s *sweep, rec *record, jobs map[site.JobID]site.JobInfo) error {
	var bad, lost []site.JobID
	logs := make(map[site.JobID][]string) // of the tasks that did not end well
	for id, names := range rec.tasks() {
		j, ok := jobs[id]
		if !ok {
			continue
		}
		worst := done
		for k, name := range names {
			f := s.fate(&j, k)
			if f == done {
				continue
			}
			worst = max(worst, f)
			if e := s.byID[name]; e != nil {
				logs[id] = append(logs[id], s.run(e).Log)
			}
		}
		switch worst {
		case done:
		case unknown:
			lost = append(lost, id)
		default:
			bad = append(bad, id)
		}
	}
	slices.Sort(bad)
	slices.Sort(lost)
	for _, id := range bad {
		path := files.Under(s.dir, s.output(fmt.Sprint(id)))
		if text, err := files.Tail(path); err == nil {
			fmt.Fprintf(p.stdout, "job %d said last (%s):\n%s", id, path, tail(text, 10))
		}
		for _, log := range logs[id] {
			if text, err := files.Tail(files.Under(s.dir, log)); err == nil && len(text) > 0 {
				fmt.Fprintf(p.stdout, "its task said last (%s):\n%s", log, tail(text, 5))
			}
		}
	}
	if len(lost) > 0 {
		fmt.Fprintf(p.stderr, "slurm watch: jobs %d: Slurm has forgotten them, the site has no accounts of them, and their output is not there: nobody knows how they ended\n", lost)
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("jobs %d did not complete: submit plans their tasks again", bad)
}

// tail is the last lines of a text, the last with its newline, without what a terminal would obey.
func tail(text []byte, lines int) string {
	all := strings.SplitAfter(strings.TrimRight(string(text), "\n")+"\n", "\n")
	all = all[:len(all)-1]
	return plain.Lines(strings.Join(all[max(0, len(all)-lines):], ""))
}

// keep notes what a job is now, and where it was: one that is over no longer says.
func keep(jobs map[site.JobID]site.JobInfo, j site.JobInfo) {
	if before := jobs[j.ID]; j.Held == nil {
		j.Held = before.Held
		if len(j.Nodes) == 0 {
			j.Nodes = before.Nodes
		}
	}
	jobs[j.ID] = j
}

// over reports whether all jobs of a set are, as far as anybody knows, and some ran.
func (s *set) over(jobs map[site.JobID]site.JobInfo) bool {
	ran := false
	for _, m := range s.Members {
		if m.Doubt {
			return false
		}
		if m.Job == 0 || m.Gone {
			continue
		}
		if j, known := jobs[m.Job]; known && (!j.State.Over() || j.State == site.Forgotten && !m.End.final()) || !known && !m.End.final() {
			return false
		}
		ran = true
	}
	return ran
}

// learn compares every set that is over with its prediction, teaches the models, and
// saves models and record. It returns how many sets taught something.
func (p *program) learn(ctx context.Context, d *desk, jobs map[site.JobID]site.JobInfo) (int, error) {
	taught, before := 0, d.record.learned()
	for i := range d.record.Sets {
		set := &d.record.Sets[i]
		if set.Learned || !set.over(jobs) {
			continue
		}
		p.accounted(ctx, set, jobs)
		useful, err := p.teach(d, set, jobs)
		if err != nil {
			return taught, err
		}
		if useful {
			taught++
		}
	}
	if taught > 0 {
		if err := d.keepModels(); err != nil {
			return taught, err
		}
	}
	if d.record.learned() == before {
		return taught, nil
	}
	return taught, d.save()
}

// accounted notes what the accounts say of the memory that jobs of a set used on their GPUs.
func (p *program) accounted(ctx context.Context, s *set, jobs map[site.JobID]site.JobInfo) {
	var ids []site.JobID
	for _, m := range s.Members {
		if j, known := jobs[m.Job]; known && !m.Gone && j.GPUMemory.IsZero() && !slices.Contains(ids, m.Job) {
			ids = append(ids, m.Job)
		}
	}
	for _, j := range p.client.Ended(ctx, ids...) {
		if known := jobs[j.ID]; !j.GPUMemory.IsZero() {
			known.GPUMemory = j.GPUMemory
			jobs[j.ID] = known
		}
	}
}

// teach compares one set with its prediction, and reports whether the models learned.
func (p *program) teach(d *desk, set *set, jobs map[site.JobID]site.JobInfo) (bool, error) {
	s := d.sweep
	gpu, ok := profile.LookupGPU(set.Product)
	if !ok {
		return false, cli.Usage("product %q is not in the catalogue", set.Product)
	}
	o := colloc.Observation{GPU: gpu, Mechanism: set.Mechanism}
	useful := false
	for i, member := range set.Members {
		e := s.byID[member.Task]
		if e == nil { // it went from the file since: nobody knows what it was
			set.Learned = true
			return false, nil
		}
		seen, err := see(files.Under(s.dir, s.run(e).Log))
		if err != nil {
			return false, err
		}
		if seen.peak == 0 {
			seen.peak = s.held(member.Task, member.Job, false, p.now())
		}
		out := seen.outcome(e, set, i, jobs)
		set.Members[i].Peak = out.Peak.Or(0)
		useful = useful || !out.Speed.IsZero() && len(set.Members) > 1 || !out.Peak.IsZero()
		o.Members = append(o.Members, out)
		p.compare(set.GPU, member, out)
	}
	set.Learned = true
	if !useful || (&profile.GPUModel{Name: set.Product}).Sliced() { // a MIG instance shows nothing of its card
		return false, nil
	}
	if err := d.planner.Observe(o); err != nil {
		fmt.Fprintf(p.stderr, "slurm watch: nothing learned from %s: %v\n", set.GPU, err)
		return false, nil
	}
	return true, nil
}

func (p *program) compare(gpu string, m member, out colloc.Measurement) {
	fmt.Fprintf(p.stdout, "%s on %s: predicted %.2f [%.2f, %.2f]", m.Task, gpu, m.Speed.Value, m.Speed.Lo, m.Speed.Hi)
	if v, ok := out.Speed.Get(); ok {
		fmt.Fprintf(p.stdout, ", seen %.2f", v)
	} else {
		fmt.Fprint(p.stdout, ", not seen")
	}
	if v, ok := out.Peak.Get(); ok {
		fmt.Fprintf(p.stdout, ", peak %v", v)
	}
	if out.OutOfMemory {
		fmt.Fprint(p.stdout, ", out of memory")
	}
	fmt.Fprintln(p.stdout)
}
