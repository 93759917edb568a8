package colloc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	_, err := out.WriteTo(w)
	return err
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
	fmt.Fprintf(out, "Peak memory of %d tasks, in GiB\n\n", len(p.Tasks))
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
	for _, d := range p.Tasks {
		for _, warning := range d.Warnings {
			fmt.Fprintf(out, "  %s: %s\n", d.Task, warning)
		}
	}
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

func (p *Plan) explainTotals(out *bytes.Buffer) {
	of := ""
	if p.Reference != "" {
		of = " on a " + p.Reference
	}
	fmt.Fprintf(out, "\n%d GPUs: %.2f tasks' worth of work%s instead of %.2f", p.GPUs, p.Throughput, of, p.Exclusive)
	if p.Exclusive > 0 {
		fmt.Fprintf(out, " (%+.0f %%)", 100*(p.Throughput/p.Exclusive-1))
	}
	bound, proven := p.Bound.Get()
	if !proven {
		fmt.Fprintf(out, ".\nHow far from the best is not proven (%s).\n", p.Method)
		return
	}
	fmt.Fprintf(out, ".\nProven under these predictions: no plan exceeds %.2f (gap %.2f %%; %s).\n", bound, 100*p.Gap, p.Method)
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

// String names the tasks, what the set would be worth, and the limit that
// forbids it, if one does.
func (a Alternative) String() string {
	text := strings.Join(a.Tasks, " + ")
	if a.Code != 0 {
		return fmt.Sprintf("%s: %s", text, limitText(a.Code))
	}
	return fmt.Sprintf("%s, worth %.2f", text, a.Throughput)
}

// limitText names a limit for people.
func limitText(code packer.ReasonCode) string {
	switch code {
	case packer.MemoryLimit:
		return "not enough memory"
	case packer.SpeedLimit:
		return "too slow for a member"
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
	default:
		return code.String()
	}
}
