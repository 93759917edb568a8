package colloc_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// anyPlan draws a plan, of which the parts need not fit each other.
func anyPlan(t *rapid.T) *colloc.Plan {
	number := func(label string, of ...float64) float64 { return rapid.SampledFrom(of).Draw(t, label) }
	some := func(label string, of ...int) int { return rapid.SampledFrom(of).Draw(t, label) }
	estimate := func(label string) predict.Estimate {
		e := predict.Estimate{Value: number(label, 0.25, 0.5, 1), Confidence: number(label+" known", 0, 0.9)}
		e.Lo, e.Hi = e.Value/2, e.Value*2
		e.Source = predict.Source{Kind: rapid.SampledFrom([]predict.SourceKind{predict.Prior, predict.Fitted, predict.Measured}).Draw(t, label+" source"), Distance: number(label+" distance", 1.5, 1.6)}
		return e
	}
	p := &colloc.Plan{
		Reference: rapid.SampledFrom([]string{"", "A100"}).Draw(t, "reference"), Method: "exact", Gap: number("gap", 0, 0.25),
		Exclusive: number("exclusive", 0, 2), Throughput: number("throughput", 0, 3),
	}
	if some("proven", 0, 1) == 1 {
		p.Bound = profile.Some(4.0)
	}
	sum := 0.0
	for i := range some("placements", 0, 1, 4, 5, 7) {
		g := colloc.Placement{GPU: fmt.Sprint("gpu", i), Mechanism: profile.TimeSlice, Throughput: number("does", 0.5, 1.25), Reserved: 3 << 29, Usable: 5 << 29}
		if some("full", 0, 1) == 1 {
			g.Binding = packer.SetFull
		}
		for k := range some("members", 1, 1, 2, 3) {
			m := colloc.Member{Task: fmt.Sprintf("m%d-%d", i, k), Speed: estimate("speed"), Pace: estimate("pace"), Reserved: 5 << 28, Resident: some("resident", 0, 1) == 1}
			if m.Pace.Confidence > 0 {
				sum += m.Pace.Value * m.Speed.Value
			} else {
				sum += m.Speed.Value
			}
			g.Members = append(g.Members, m)
		}
		p.Placements = append(p.Placements, g)
	}
	if some("weighted", 0, 1) == 0 {
		p.Throughput = sum + number("rounded", 0, 0.004, 0.006)
	}
	p.GPUs = len(p.Placements) + some("free", 0, 1, 3)
	for i := range some("tasks", 0, 1, 3, 4, 6) {
		d := colloc.Demand{Task: fmt.Sprint("t", i), Memory: estimate("memory"), Reserved: rapid.SampledFrom([]profile.Bytes{profile.GiB, 3 * profile.GiB, memory.Whole}).Draw(t, "reserved")}
		d.Memory.Value, d.Memory.Lo, d.Memory.Hi = 2<<30, 1<<30, number("most", 3<<30, float64(memory.Whole))
		d.Use = rapid.SampledFrom([]predict.SourceKind{predict.Prior, predict.Measured}).Draw(t, "use")
		d.Warnings = rapid.SampledFrom([][]string{nil, nil, {"x"}, {"x", "y"}}).Draw(t, "warnings")
		p.Tasks = append(p.Tasks, d)
	}
	for i := range some("notes", 0, 1, 2, 3, 4, 6) {
		n := colloc.Note{Text: fmt.Sprint("note ", i, "."), Reason: packer.Reason{
			ID: fmt.Sprint("t", i), Placed: some("placed", 0, 0, 1) == 1, Partner: rapid.SampledFrom([]string{"", "b"}).Draw(t, "partner"),
			Code: packer.ReasonCode(rapid.IntRange(1, 14).Draw(t, "code")), Sharing: rapid.SampledFrom([]packer.ReasonCode{0, packer.MemoryLimit, packer.SetFull}).Draw(t, "sharing"),
		}}
		for range some("reliefs", 0, 1, 2) {
			n.Reliefs = append(n.Reliefs, colloc.Relief{
				Kind: colloc.ReliefKind(rapid.IntRange(0, 10).Draw(t, "relief")), Task: rapid.SampledFrom([]string{n.ID, "r"}).Draw(t, "of"),
				Bytes: rapid.SampledFrom([]profile.Bytes{profile.GiB, 5 * profile.GiB / 2}).Draw(t, "bytes"), Count: some("count", 1, 2), Factor: number("factor", 1.5, 3),
			})
		}
		p.Notes = append(p.Notes, n)
	}
	if some("alarm", 0, 1) == 1 {
		p.Alarms = []interference.Regime{{GPU: "A100", Mechanism: profile.MPS, Drift: interference.Drift{Fault: interference.SlowerThanPredicted, Misses: 0.5}}}
	}
	return p
}

// plural is a number of things.
func plural(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprint(n, " ", of)
}

// tidy are the lines of a text without what aligns their columns.
func tidy(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if words := strings.Join(strings.Fields(line), " "); words != "" {
			lines = append(lines, words)
		}
	}
	return strings.Join(lines, "\n")
}

func headOf(p *colloc.Plan) string {
	of, gain := "", ""
	if p.Reference != "" {
		of = " on a " + p.Reference
	}
	if p.Exclusive == 2 {
		gain = fmt.Sprintf(" (%+.0f %%)", (p.Throughput-2)/2*100)
	}
	return fmt.Sprintf("%s: %.2f tasks' worth of work%s instead of %.2f%s.", plural(p.GPUs, "GPU"), p.Throughput, of, p.Exclusive, gain)
}

// TestSummaryTwin: a summary says of a plan what counting in it says.
func TestSummaryTwin(t *testing.T) {
	short := map[packer.ReasonCode]string{
		packer.MemoryLimit: "not enough memory", packer.SpeedLimit: "too slow for a member", packer.SetFull: "too many tasks", packer.GPUsTaken: "the GPUs do more with others",
		packer.TooLarge: "larger than every GPU", packer.MustBeAlone: "a member must be alone", packer.NoGain: "sharing gains nothing", packer.NoPartner: "those who could share do more elsewhere",
		packer.WrongGPU: "not the labels asked for", packer.Incompatible: "labels that do not go together", packer.GangSize: "different numbers of GPUs",
	}
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		lines := []string{headOf(p)}
		line := func(is bool, format string, args ...any) {
			if is {
				lines = append(lines, fmt.Sprintf(format, args...))
			}
		}
		bound, proven := p.Bound.Get()
		line(proven, "Proven: no plan does more than %.2f under these predictions (gap %.2f %%).", bound, 100*p.Gap)
		line(!proven, "Not proven: how much more another plan could do (exact).")
		var sharing []colloc.Member
		priors, slowest, worst, all, full := 0, 1.0, 0.0, 0.0, 0
		for _, g := range p.Placements {
			if g.Binding == packer.SetFull {
				full++
			}
			for _, m := range g.Members {
				pace := m.Pace
				if pace.Confidence == 0 {
					pace = predict.Estimate{Value: 1, Lo: 1}
				}
				worst, all, slowest = worst+pace.Lo*m.Speed.Lo, all+pace.Value*m.Speed.Value, min(slowest, m.Speed.Value)
				if len(g.Members) >= 2 {
					sharing = append(sharing, m)
					if m.Speed.Source.Kind == predict.Prior {
						priors++
					}
				}
			}
		}
		text := fmt.Sprintf("%s share, none below %.2f of its speed alone", plural(len(sharing), "task"), slowest)
		if math.Abs(all-p.Throughput) < 0.005 {
			text += fmt.Sprintf("; %.2f at the lower ends of all intervals", worst)
		}
		if priors > 0 {
			text += fmt.Sprintf(" (%d are priors: nobody measured such company yet)", priors)
		}
		line(len(sharing) > 0, "%s.", text)
		for i, g := range p.Placements {
			var members []string
			for _, m := range g.Members {
				members = append(members, fmt.Sprintf("%s %.2f", m.Task, m.Speed.Value))
			}
			line(i < 4, "%s %s %s 1.5 of 2.5 GiB", g.GPU, strings.Join(members, " + "), g.Mechanism)
		}
		line(len(p.Placements) > 4, "and %s", plural(len(p.Placements)-4, "more GPU"))
		line(p.GPUs > len(p.Placements), "%s free", plural(p.GPUs-len(p.Placements), "GPU"))
		var groups [][2]string // a reason and whom it keeps
		waits, verb := 0, "wait"
		for _, n := range p.Notes {
			if n.Placed {
				continue
			}
			if waits++; waits > 3 {
				continue
			}
			code := n.Code
			if code == packer.GPUsTaken && n.Sharing != 0 {
				code = n.Sharing
			}
			why, known := short[code]
			if !known {
				why = map[packer.ReasonCode]string{packer.TooFewGPUs: "too few GPUs of one kind", packer.UnknownNeed: "nobody knows its memory", packer.MeasuredSlow: "measured to do less together than one alone"}[code]
			}
			if why == "" {
				why = code.String()
			}
			if n.Partner != "" && (code == packer.MemoryLimit || code == packer.SpeedLimit) {
				why += " beside b"
			}
			if last := len(groups) - 1; last >= 0 && groups[last][0] == why {
				groups[last][1] += ", " + n.ID
			} else {
				groups = append(groups, [2]string{why, n.ID})
			}
		}
		var reasons []string
		for _, g := range groups {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", g[1], g[0]))
		}
		if waits > 3 {
			reasons = append(reasons, fmt.Sprintf("and %d more", waits-3))
		}
		if waits == 1 {
			verb = "waits"
		}
		line(waits == 0 && len(p.Tasks) > 0, "Nobody waits: %s.", plural(len(p.Tasks), "task"))
		line(waits > 0, "%d of %s %s: %s.", waits, plural(len(p.Tasks), "task"), verb, strings.Join(reasons, ", "))
		line(waits > 0 && full > 0, "Limit: on %s no more tasks may share.", plural(full, "GPU"))
		help := helpOf(p)
		line(waits > 0 && help != "", "Try: %s.", help)
		var unseen []string
		for _, d := range p.Tasks {
			if d.Use != predict.Measured {
				unseen = append(unseen, d.Task)
			}
		}
		if n := len(unseen); n > 3 {
			unseen = append(unseen[:3], fmt.Sprintf("%d more", n-3))
		}
		line(len(unseen) > 0, "Not measured: how busy a GPU is with %s. colloc profile -- COMMAND tells.", strings.Join(unseen, ", "))

		var out strings.Builder
		if err := p.Summarize(&out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tidy(strings.Join(lines, "\n")), tidy(out.String())); diff != "" {
			t.Fatalf("summary (-want +got):\n%s", diff)
		}
	})
}

// helpOf is the first of the cheapest things that would help, by what it costs, how many GPUs and how much else.
func helpOf(p *colloc.Plan) string {
	type option struct {
		cost, count int
		excess      float64
		text        string
	}
	find := func(task string) *colloc.Demand {
		for i := range p.Tasks {
			if p.Tasks[i].Task == task {
				return &p.Tasks[i]
			}
		}
		return nil
	}
	var all []option
	for _, n := range p.Notes {
		for _, r := range n.Reliefs {
			o, d, gib := option{count: r.Count, excess: max(float64(r.Bytes), r.Factor)}, find(r.Task), r.Bytes.GiBs()
			switch r.Kind {
			case colloc.TellNeed:
				o.cost, o.text = 0, "colloc profile -- COMMAND, for nobody knows what "+r.Task+" needs"
			case colloc.ReserveLess:
				o.cost, o.text = 1, fmt.Sprintf("%s would fit at %.2f GiB, as with a smaller batch", r.Task, gib)
				if d != nil {
					o.excess = float64(d.Reserved - r.Bytes)
				}
				if d != nil && float64(r.Bytes) < d.Memory.Value {
					o.cost = 99
				}
				if d != nil && d.Memory.Source.Kind != predict.Measured {
					o.text = fmt.Sprintf("%s would fit at %.2f GiB; %.2f are reserved on a prediction, colloc profile -- COMMAND measures it", r.Task, gib, d.Reserved.GiBs())
				}
			case colloc.AllowSharing:
				o.cost, o.text = 2, "let "+r.Task+" share its GPU"
			case colloc.OtherLabels:
				o.cost, o.text = 3, "labels by which "+r.Task+" and others accept each other"
			case colloc.LabelGPU:
				o.cost, o.text = 4, "a GPU that carries the labels that "+r.Task+" asks for"
			case colloc.AcceptLess:
				o.cost, o.text = 5, fmt.Sprintf("a lower MinGain: with %s a GPU would do %.2f times as much as apart", r.Task, r.Factor)
			case colloc.LargerSets:
				o.cost, o.text = 6, "more tasks on a GPU, or another mechanism"
			case colloc.AllowSlowdown:
				o.cost, o.text = 7, fmt.Sprintf("let %s run %.2f times slower (max_slowdown)", r.Task, r.Factor)
			case colloc.ForgetMeasured:
				o.cost, o.text = 8, "measure "+r.Task+" beside its neighbours anew: together they were slow"
			case colloc.MoreGPUs:
				o.cost, o.text = 9, fmt.Sprintf("%s with %.2f GiB would run %s", plural(r.Count, "more GPU"), gib, r.Task)
			case colloc.LargerGPU:
				o.cost, o.text = 10, fmt.Sprintf("a GPU that offers %.2f GiB would run %s", gib, r.Task)
			}
			if !n.Placed {
				all = append(all, o)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b option) int {
		if a.cost != b.cost {
			return a.cost - b.cost
		}
		if a.count != b.count {
			return a.count - b.count
		}
		if a.excess < b.excess {
			return -1
		}
		if a.excess > b.excess {
			return 1
		}
		return 0
	}).text
}

// TestExplainTwin: an explanation has a line for each task, each member, each note, each alarm and each
// warning of a plan, with what they say.
func TestExplainTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		var lines []string
		line := func(is bool, format string, args ...any) {
			if is {
				lines = append(lines, fmt.Sprintf(format, args...))
			}
		}
		source := func(s predict.Source) string {
			if s.Kind == predict.Fitted && s.Distance == 1.6 {
				return "extrapolated"
			}
			return s.Kind.String()
		}
		line(true, "Peak memory of %s, in GiB", plural(len(p.Tasks), "task"))
		line(true, "task peak interval reserved memory is GPU use is")
		for _, d := range p.Tasks {
			reserved, most := fmt.Sprintf("%.2f", d.Reserved.GiBs()), fmt.Sprintf("%.2f", d.Memory.Hi/(1<<30))
			if d.Reserved == memory.Whole {
				reserved = "whole GPU"
			}
			if d.Memory.Hi > 3<<30 {
				most = "unknown"
			}
			line(d.Memory.Confidence == 0, "%s - - %s unknown %s", d.Task, reserved, d.Use)
			line(d.Memory.Confidence > 0, "%s 2.00 1.00 - %s %s %s %s", d.Task, most, reserved, source(d.Memory.Source), d.Use)
		}
		pace := ""
		if p.Reference != "" {
			pace = " pace interval pace is"
		}
		line(true, "Plan")
		line(true, "GPU task%s speed interval speed is reserved set", pace)
		for _, g := range p.Placements {
			for i, m := range g.Members {
				gpu, set, name, pace := "", "", m.Task, ""
				if i == 0 {
					gpu, set = g.GPU, fmt.Sprintf("%.2f by %s", g.Throughput, g.Mechanism)
				}
				if i == 1 {
					set = "1.50 of 2.50 GiB reserved"
				}
				if m.Resident {
					name += " (resident)"
				}
				if p.Reference != "" {
					pace = fmt.Sprintf("%.2f %.2f - %.2f %s", m.Pace.Value, m.Pace.Lo, m.Pace.Hi, source(m.Pace.Source))
				}
				line(true, "%s %s %s %.2f %.2f - %.2f %s 1.25 %s", gpu, name, pace, m.Speed.Value, m.Speed.Lo, m.Speed.Hi, source(m.Speed.Source), set)
			}
		}
		line(true, "%s", headOf(p))
		bound, proven := p.Bound.Get()
		line(proven, "Proven under these predictions: no plan exceeds %.2f (gap %.2f %%; exact).", bound, 100*p.Gap)
		line(!proven, "How far from the best is not proven (exact).")
		for _, placed := range []bool{false, true} {
			notes := slices.DeleteFunc(slices.Clone(p.Notes), func(n colloc.Note) bool { return n.Placed != placed })
			line(len(notes) > 0, "%s", map[bool]string{false: "Not placed", true: "Not shared"}[placed])
			for _, n := range notes {
				line(true, "%s", n.Text)
			}
		}
		for _, a := range p.Alarms {
			line(true, "Caution: on A100 under mps speeds are %s: 50 %% of the last measurements missed their interval. Refit, or forget what was measured there.", a.Drift.Fault)
		}
		var x, y []string
		for _, d := range p.Tasks {
			if len(d.Warnings) > 0 {
				x = append(x, d.Task)
			}
			if len(d.Warnings) > 1 {
				y = append(y, d.Task)
			}
		}
		line(len(x) > 0, "Warnings about the input")
		line(len(x) > 0, "%s: x", strings.Join(x, ", "))
		line(len(y) > 0, "%s: y", strings.Join(y, ", "))

		var out strings.Builder
		if err := p.Explain(&out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tidy(strings.Join(lines, "\n")), tidy(out.String())); diff != "" {
			t.Fatalf("explanation (-want +got):\n%s", diff)
		}
	})
}
