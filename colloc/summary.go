package colloc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
)

// What a summary names; the rest is counted.
const (
	summaryGPUs  = 4
	summaryTasks = 3
)

// Summarize writes what matters of the plan in some ten lines: what the GPUs do and what
// of that is proven, who shares, who waits, and the cheapest thing that would help.
// [Plan.Explain] has the rest. The same plan gives the same bytes. It returns the error
// of w.
func (p *Plan) Summarize(w io.Writer) error {
	if p == nil {
		return errors.New("colloc: summarize: there is no plan")
	}
	var out bytes.Buffer
	p.headline(&out)
	out.WriteByte('\n')
	if p.proven() {
		bound, _ := p.Bound.Get()
		fmt.Fprintf(&out, "Proven: no plan does more than %.2f under these predictions (gap %.2f %%).\n", bound, 100*p.Gap)
	} else {
		fmt.Fprintf(&out, "Not proven: how much more another plan could do (%s).\n", p.Method)
	}
	p.summarizeSpeeds(&out)
	columns(&out, func(w *bytes.Buffer) {
		for i := range p.Placements[:min(len(p.Placements), summaryGPUs)] {
			p.Placements[i].summarize(w)
		}
	})
	if more := len(p.Placements) - summaryGPUs; more > 0 {
		fmt.Fprintf(&out, "  and %s\n", count(more, "more GPU"))
	}
	if free := p.GPUs - len(p.Placements); free > 0 {
		fmt.Fprintf(&out, "  %s free\n", count(free, "GPU"))
	}
	p.summarizeWaiting(&out)
	p.summarizeUnseen(&out)
	_, err := out.WriteTo(w)
	return err
}

// proven reports whether anything bounds other plans.
func (p *Plan) proven() bool {
	_, ok := p.Bound.Get()
	return ok
}

// summarizeSpeeds says what the predictions rest on and what they come to at worst.
func (p *Plan) summarizeSpeeds(out *bytes.Buffer) {
	shared, priors, slowest, worst, all := 0, 0, 1.0, 0.0, 0.0
	for i := range p.Placements {
		g := &p.Placements[i]
		for _, m := range g.Members {
			if pace := m.Pace; pace.Confidence > 0 {
				worst += float64(pace.Lo * m.Speed.Lo)
				all += float64(pace.Value * m.Speed.Value)
			} else {
				worst += m.Speed.Lo
				all += m.Speed.Value
			}
			slowest = min(slowest, m.Speed.Value)
			if len(g.Members) > 1 {
				shared++
				if m.Speed.Source.Kind == predict.Prior {
					priors++
				}
			}
		}
	}
	if shared == 0 {
		return
	}
	fmt.Fprintf(out, "%s share, none below %.2f of its speed alone", count(shared, "task"), slowest)
	if math.Abs(all-p.Throughput) < 0.005 { // no task counts more than others
		fmt.Fprintf(out, "; %.2f at the lower ends of all intervals", worst)
	}
	if priors > 0 {
		fmt.Fprintf(out, " (%d are priors: nobody measured such company yet)", priors)
	}
	out.WriteString(".\n")
}

// summarize writes a GPU in a line.
func (p *Placement) summarize(w *bytes.Buffer) {
	members := make([]string, len(p.Members))
	for i, m := range p.Members {
		members[i] = fmt.Sprintf("%s %.2f", m.Task, m.Speed.Value)
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%.1f of %.1f GiB\n", p.GPU, strings.Join(members, " + "), p.Mechanism, p.Reserved.GiBs(), p.Usable.GiBs())
}

// Waiting are the notes of the tasks that are not placed, in the order of Notes.
func (p *Plan) Waiting() []Note {
	var notes []Note
	for i := range p.Notes {
		if !p.Notes[i].Placed {
			notes = append(notes, p.Notes[i])
		}
	}
	return notes
}

// Warnings are those of all tasks, see [Demand]: each once, with the tasks that it is about.
func (p *Plan) Warnings() []string {
	var texts []string
	about := make(map[string][]string)
	for i := range p.Tasks {
		for _, text := range p.Tasks[i].Warnings {
			if about[text] == nil {
				texts = append(texts, text)
			}
			about[text] = append(about[text], p.Tasks[i].Task)
		}
	}
	for i, text := range texts {
		texts[i] = strings.Join(about[text], ", ") + ": " + text
	}
	return texts
}

// summarizeWaiting says who waits and what would help.
func (p *Plan) summarizeWaiting(out *bytes.Buffer) {
	waiting := p.Waiting()
	if n := len(p.Tasks); len(waiting) == 0 {
		if n > 0 {
			fmt.Fprintf(out, "Nobody waits: %s.\n", count(n, "task"))
		}
		return
	}
	var reasons []string
	named := waiting[:min(len(waiting), summaryTasks)]
	for i := 0; i < len(named); {
		text, names := named[i].short(), []string{}
		for ; i < len(named) && named[i].short() == text; i++ {
			names = append(names, named[i].ID)
		}
		reasons = append(reasons, fmt.Sprintf("%s (%s)", strings.Join(names, ", "), text))
	}
	if more := len(waiting) - summaryTasks; more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	verb := "wait"
	if len(waiting) == 1 {
		verb = "waits"
	}
	fmt.Fprintf(out, "%d of %s %s: %s.\n", len(waiting), count(len(p.Tasks), "task"), verb, strings.Join(reasons, ", "))
	if full := p.full(); full > 0 {
		fmt.Fprintf(out, "Limit: on %s no more tasks may share.\n", count(full, "GPU"))
	}
	if help := p.Help(); help != "" {
		fmt.Fprintf(out, "Try: %s.\n", help)
	}
}

// summarizeUnseen says whose use of a GPU nobody measured.
func (p *Plan) summarizeUnseen(out *bytes.Buffer) {
	var names []string
	for i := range p.Tasks {
		if p.Tasks[i].Use != predict.Measured {
			names = append(names, p.Tasks[i].Task)
		}
	}
	if n := len(names); n > summaryTasks {
		names = append(names[:summaryTasks], fmt.Sprintf("%d more", n-summaryTasks))
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "Not measured: how busy a GPU is with %s. colloc profile -- COMMAND tells.\n", strings.Join(names, ", "))
	}
}

// full is how many GPUs hold as many tasks as may share one, while others wait.
func (p *Plan) full() (n int) {
	for i := range p.Placements {
		if p.Placements[i].Binding == packer.SetFull {
			n++
		}
	}
	return n
}

// short says in a few words why a task waits.
func (n *Note) short() string {
	code := n.Code
	if code == packer.GPUsTaken && n.Sharing != 0 {
		code = n.Sharing
	}
	text := limitText(code)
	if n.Partner != "" && (code == packer.MemoryLimit || code == packer.SpeedLimit) {
		text += " beside " + n.Partner
	}
	return text
}

// cost ranks a relief. A command or a word in a file comes first, then other promises,
// then other machines. A reservation below what the task is expected to need comes last.
func (p *Plan) cost(r *Relief) int {
	order := []ReliefKind{TellNeed, ReserveLess, AllowSharing, OtherLabels, LabelGPU, AcceptLess, LargerSets, AllowSlowdown, ForgetMeasured, MoreGPUs, LargerGPU}
	if r.Kind == ReserveLess {
		if d := p.demand(r.Task); d != nil && float64(r.Bytes) < d.Memory.Value {
			return len(order)
		}
	}
	return slices.Index(order, r.Kind)
}

// Help is the cheapest single thing that would let a waiting task run. It names the
// command that does it where there is one. It is empty if nobody waits or nothing would help.
func (p *Plan) Help() string {
	var best *Relief
	for _, n := range p.Waiting() {
		for i := range n.Reliefs {
			r := &n.Reliefs[i]
			if best == nil || cmp.Or(cmp.Compare(p.cost(r), p.cost(best)), cmp.Compare(r.Count, best.Count), cmp.Compare(p.excess(r), p.excess(best))) < 0 {
				best = r
			}
		}
	}
	if best == nil {
		return ""
	}
	return p.help(best)
}

// excess is how far a task's reservation is above what would do, or what a GPU must hold.
func (p *Plan) excess(r *Relief) float64 {
	if d := p.demand(r.Task); r.Kind == ReserveLess && d != nil {
		return float64(d.Reserved - r.Bytes)
	}
	return max(float64(r.Bytes), r.Factor)
}

// demand is what a task needs; nil for a resident.
func (p *Plan) demand(task string) *Demand {
	if i := slices.IndexFunc(p.Tasks, func(d Demand) bool { return d.Task == task }); i >= 0 {
		return &p.Tasks[i]
	}
	return nil
}

func (p *Plan) help(r *Relief) string {
	switch r.Kind {
	case TellNeed:
		return fmt.Sprintf("colloc profile -- COMMAND, for nobody knows what %s needs", r.Task)
	case ReserveLess:
		text := fmt.Sprintf("%s would fit at %.2f GiB", r.Task, r.Bytes.GiBs())
		if d := p.demand(r.Task); d != nil && d.Memory.Source.Kind != predict.Measured {
			return fmt.Sprintf("%s; %.2f are reserved on a prediction, colloc profile -- COMMAND measures it", text, d.Reserved.GiBs())
		}
		return text + ", as with a smaller batch"
	case AllowSharing:
		return "let " + r.Task + " share its GPU"
	case OtherLabels:
		return "labels by which " + r.Task + " and others accept each other"
	case LabelGPU:
		return "a GPU that carries the labels that " + r.Task + " asks for"
	case AcceptLess:
		return fmt.Sprintf("a lower MinGain: with %s a GPU would do %.2f times as much as apart", r.Task, r.Factor)
	case LargerSets:
		return "more tasks on a GPU, or another mechanism"
	case AllowSlowdown:
		return fmt.Sprintf("let %s run %.2f times slower (max_slowdown)", r.Task, r.Factor)
	case ForgetMeasured:
		return "measure " + r.Task + " beside its neighbours anew: together they were slow"
	case MoreGPUs:
		return fmt.Sprintf("%s with %.2f GiB would run %s", count(r.Count, "more GPU"), r.Bytes.GiBs(), r.Task)
	case LargerGPU:
		return fmt.Sprintf("a GPU that offers %.2f GiB would run %s", r.Bytes.GiBs(), r.Task)
	default:
		return ""
	}
}
