package colloc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
)

// Explain writes the plan for people: what each task needs, who shares which
// GPU at which speed, what that is worth against exclusive use and against the
// proven bound, and for each task that waits or runs alone why and what would
// change that. The same plan gives the same bytes. It returns the error of w.
func (p *Plan) Explain(w io.Writer) error {
	if p == nil {
		return errors.New("colloc: explain: there is no plan")
	}
	var out bytes.Buffer
	p.explainMemory(&out)
	p.explainPlacements(&out)
	p.explainTotals(&out)
	p.explainNotes(&out)
	p.explainAlarms(&out)
	p.explainLeftOut(&out)
	p.explainWarnings(&out)
	_, err := out.WriteTo(w)
	return err
}

// count is "1 task" or "2 tasks".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// columns writes lines whose cells are separated by tabs as a table.
func columns(out *bytes.Buffer, lines func(w *bytes.Buffer)) {
	var cells bytes.Buffer
	lines(&cells)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = cells.WriteTo(t) // a buffer takes everything
	_ = t.Flush()
}

func (p *Plan) explainMemory(out *bytes.Buffer) {
	fmt.Fprintf(out, "Peak memory of %s, in GiB\n\n", count(len(p.Tasks), "task"))
	columns(out, func(w *bytes.Buffer) {
		fmt.Fprintln(w, "  task\tpeak\tinterval\treserved\tmemory is\tGPU use is")
		for _, d := range p.Tasks {
			if d.Memory.Confidence == 0 { // promised, and nothing is known of the peak
				fmt.Fprintf(w, "  %s\t-\t-\t%s\tunknown\t%s\n", d.Task, gibOrWhole(float64(d.Reserved), "whole GPU"), d.Use)
				continue
			}
			fmt.Fprintf(w, "  %s\t%5.2f\t%5.2f - %s\t%s\t%s\t%s\n", d.Task,
				gib(d.Memory.Value), gib(d.Memory.Lo), gibOrWhole(d.Memory.Hi, "unknown"),
				gibOrWhole(float64(d.Reserved), "whole GPU"), sourceText(d.Memory.Source), d.Use)
		}
	})
}

// gibOrWhole is an amount in GiB, or a word for no known bound.
func gibOrWhole(bytes float64, word string) string {
	if bytes >= float64(memory.Whole) {
		return word
	}
	return fmt.Sprintf("%5.2f", gib(bytes))
}

func gib(bytes float64) float64 { return bytes / (1 << 30) }

// farOff is the distance from which on a fitted estimate counts as
// extrapolated: beyond that of a task like the data on a host whose context
// nobody measured.
const farOff = 1.5

// sourceText names a source; a fitted estimate far from its data says so.
func sourceText(s predict.Source) string {
	if s.Kind == predict.Fitted && s.Distance > farOff {
		return "extrapolated"
	}
	return s.Kind.String()
}

func (p *Plan) explainPlacements(out *bytes.Buffer) {
	fmt.Fprint(out, "\nPlan\n\n")
	columns(out, func(w *bytes.Buffer) {
		pace := ""
		if p.Reference != "" {
			pace = "\tpace\tinterval\tpace is"
		}
		fmt.Fprintf(w, "  GPU\ttask%s\tspeed\tinterval\tspeed is\treserved\tset\n", pace)
		for i := range p.Placements {
			p.Placements[i].explain(w, p.Reference != "")
		}
	})
}

func (p *Placement) explain(w *bytes.Buffer, paces bool) {
	for i, m := range p.Members {
		gpu, set := "", ""
		switch i {
		case 0:
			gpu, set = p.GPU, fmt.Sprintf("%.2f by %s", p.Throughput, p.Mechanism)
		case 1:
			set = fmt.Sprintf("%.2f of %.2f GiB reserved", p.Reserved.GiBs(), p.Usable.GiBs())
		}
		name := m.Task
		if m.Resident {
			name += " (resident)"
		}
		pace := ""
		if paces {
			pace = fmt.Sprintf("\t%.2f\t%.2f - %.2f\t%s", m.Pace.Value, m.Pace.Lo, m.Pace.Hi, sourceText(m.Pace.Source))
		}
		fmt.Fprintf(w, "  %s\t%s%s\t%.2f\t%.2f - %.2f\t%s\t%5.2f\t%s\n",
			gpu, name, pace, m.Speed.Value, m.Speed.Lo, m.Speed.Hi, sourceText(m.Speed.Source), m.Reserved.GiBs(), set)
	}
}

// headline says what the GPUs do.
func (p *Plan) headline(out *bytes.Buffer) {
	of := ""
	if p.Reference != "" {
		of = " on a " + p.Reference
	}
	fmt.Fprintf(out, "%s: %.2f tasks' worth of work%s instead of %.2f", count(p.GPUs, "GPU"), p.Throughput, of, p.Exclusive)
	if p.Exclusive > 0 {
		fmt.Fprintf(out, " (%+.0f %%)", 100*(p.Throughput/p.Exclusive-1))
	}
	out.WriteByte('.')
}

func (p *Plan) explainTotals(out *bytes.Buffer) {
	out.WriteByte('\n')
	p.headline(out)
	bound, proven := p.Bound.Get()
	if !proven {
		fmt.Fprintf(out, "\nHow far from the best is not proven (%s).\n", p.Method)
		return
	}
	fmt.Fprintf(out, "\nProven under these predictions: no plan exceeds %.2f (gap %.2f %%; %s).\n", bound, 100*p.Gap, p.Method)
}

func (p *Plan) explainNotes(out *bytes.Buffer) {
	for _, group := range []struct {
		placed bool
		title  string
	}{{false, "Not placed"}, {true, "Not shared"}} {
		title := "\n" + group.title + "\n\n"
		for _, n := range p.Notes {
			if n.Placed == group.placed {
				fmt.Fprintf(out, "%s  %s\n", title, n.Text)
				title = ""
			}
		}
	}
}

func (p *Plan) explainAlarms(out *bytes.Buffer) {
	for _, a := range p.Alarms {
		fmt.Fprintf(out, "\nCaution: on %s under %v speeds are %s: %.0f %% of the last measurements missed their interval. Refit, or forget what was measured there.\n",
			a.GPU, a.Mechanism, a.Drift.Fault, 100*a.Drift.Misses)
	}
}

func (p *Plan) explainLeftOut(out *bytes.Buffer) {
	title := "\nLeft out, for they are at fault\n\n"
	for _, f := range p.LeftOut {
		fmt.Fprintf(out, "%s  %s\n", title, strings.TrimPrefix(f.Error(), "colloc: "))
		title = ""
	}
}

func (p *Plan) explainWarnings(out *bytes.Buffer) {
	title := "\nWarnings about the input\n\n"
	for _, text := range p.Warnings() {
		fmt.Fprintf(out, "%s  %s\n", title, text)
		title = ""
	}
}

// limitText names a limit for people.
func limitText(code packer.ReasonCode) string {
	switch code {
	case packer.MemoryLimit:
		return "not enough memory"
	case packer.SpeedLimit:
		return "too slow for a member"
	case packer.MeasuredSlow:
		return "measured to do less together than one alone"
	case packer.MustBeAlone:
		return "a member must be alone"
	case packer.SetFull:
		return "too many tasks"
	case packer.Incompatible:
		return "labels that do not go together"
	case packer.GangSize:
		return "different numbers of GPUs"
	case packer.WrongGPU:
		return "not the labels asked for"
	case packer.NoPartner:
		return "those who could share do more elsewhere"
	case packer.NoGain:
		return "sharing gains nothing"
	case packer.TooLarge:
		return "larger than every GPU"
	case packer.TooFewGPUs:
		return "too few GPUs of one kind"
	case packer.UnknownNeed:
		return "nobody knows its memory"
	case packer.GPUsTaken:
		return "the GPUs do more with others"
	default:
		return code.String()
	}
}

// maxWaiting bounds the tasks that are tried beside a set, so that the cost stays linear in
// the plan.
const maxWaiting = 16

// binding is the limit that keeps a waiting task from joining a set, 0 if one may.
func (r *round) binding(s *packer.Set, waiting []int) (code packer.ReasonCode, err error) {
	gpu := r.gpus[s.GPU]
	gpu.Residents = slices.Clone(gpu.Residents)
	for _, t := range s.Tasks {
		gpu.Residents = append(gpu.Residents, r.promised(t))
	}
	sc := r.planner.acquire()
	defer r.planner.release(sc)
	for i, t := range waiting[:min(len(waiting), maxWaiting)] {
		task := r.promised(t)
		sc.reset()
		v, err := r.planner.fit(&task, &gpu, sc, r.paces.scale)
		if err != nil || v.Code == 0 {
			return 0, err
		}
		if i == 0 {
			code = v.Code
		}
	}
	return code, nil
}

// promised is a task with what the plan reserves for it.
func (r *round) promised(t int) Task {
	task := r.tasks[t]
	task.Reserved = r.demands[t].Reserved
	return task
}

// blind are the tasks that are alone for want of knowledge, by ID.
func (r *round) blind() map[string]bool {
	ids := make(map[string]bool)
	for i, d := range r.demands {
		if d.Reserved == memory.Whole && !r.planner.solitary(&r.tasks[i]) {
			ids[d.Task] = true
		}
	}
	return ids
}

// untold says of who is alone for want of knowledge that its need is unknown: packer knows
// only that it must be alone.
func untold(blind map[string]bool, r *packer.Reason) {
	if !blind[cmp.Or(r.Partner, r.ID)] {
		return
	}
	for _, code := range []*packer.ReasonCode{&r.Code, &r.Sharing} {
		if *code == packer.MustBeAlone {
			*code = packer.UnknownNeed
		}
	}
}
