package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

//go:embed report.html
var reportPage string

// report is what the page shows. The page draws Data itself.
type report struct {
	Title, World, Command string
	Left                  []string
	Verdicts              []verdict
	Remarks               []string
	Columns               []column
	Rows                  []reportRow
	Unfinished            bool
	Seeds                 int
	Data                  reportData
}

type reportRow struct {
	Name       string
	Unfinished int
	Cells      []reportCell
}

// reportCell is one figure; Best says that no other policy is certain to be better.
type reportCell struct {
	Text string
	Best bool
}

// reportData is what the charts are drawn from. Hours are rounded to seconds.
type reportData struct {
	Columns  []column       `json:"columns"`
	Policies []reportPolicy `json:"policies"`
	Shown    []string       `json:"shown"`
	End      float64        `json:"end"` // of the longest first run, in hours
}

type reportPolicy struct {
	Name    string       `json:"name"`
	Figures [][2]float64 `json:"figures"` // mean and half-width
	Labels  []string     `json:"labels"`
	Done    [][2]float64 `json:"done"`   // hours, part of the tasks
	Series  [][4]float64 `json:"series"` // hours, busy, waiting, watts
	GPUs    int          `json:"gpus"`
	Spans   []reportSpan `json:"spans"`
	Marks   []reportMark `json:"marks"`
}

type reportSpan struct {
	GPU   int     `json:"g"`
	From  float64 `json:"a"`
	To    float64 `json:"b"`
	Tasks string  `json:"t"`
	Count int     `json:"n"`
}

type reportMark struct {
	GPU  int     `json:"g"`
	At   float64 `json:"a"`
	Kind string  `json:"k"`
	Task string  `json:"t"`
}

// writeReport writes one HTML file that needs nothing beside it.
func writeReport(w io.Writer, title string, s *study, command string, all []summary) error {
	r := report{Title: title, World: s.world, Left: s.left, Command: command, Seeds: s.seeds, Remarks: remarks(all)}
	for _, v := range verdicts(all, s.baseline) {
		if v.String() != "" {
			r.Verdicts = append(r.Verdicts, v)
		}
	}
	ks := present(all)
	for _, k := range ks {
		r.Columns = append(r.Columns, columns()[k])
	}
	r.rows(all, ks)
	r.Data = reportData{Columns: r.Columns, Shown: shown(all, s.baseline)}
	for i := range all {
		r.Data.add(&all[i], ks)
	}
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return page.Execute(w, &r)
}

// maxShown is how many policies a chart can tell apart.
const maxShown = 6

// shown are the policies that the page begins with: the baseline, the best peer in
// makespan and in completion time, and ours, as many as a chart can tell apart.
func shown(all []summary, baseline string) []string {
	var names []string
	add := func(name string) {
		if name != "" && len(names) < maxShown && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if slices.ContainsFunc(all, func(s summary) bool { return s.Policy == baseline }) {
		add(baseline)
	}
	for _, v := range verdicts(all, baseline) {
		if c := columns(); v.Figure == c[0].Name || v.Figure == c[1].Name {
			add(v.Peer.Other)
		}
	}
	for i := range all {
		if isOurs(all[i].Policy) {
			add(all[i].Policy)
		}
	}
	for i := range all {
		add(all[i].Policy)
	}
	return names
}

// rows fills the table with columns ks.
func (r *report) rows(all []summary, ks []int) {
	r.Rows = make([]reportRow, len(all))
	for i := range all {
		r.Rows[i] = reportRow{Name: all[i].Policy, Unfinished: all[i].Unfinished}
		r.Unfinished = r.Unfinished || all[i].Unfinished > 0
	}
	for i, k := range ks {
		c := r.Columns[i]
		marked := best(all, k, c)
		for i := range all {
			r.Rows[i].Cells = append(r.Rows[i].Cells, reportCell{all[i].Figures[k].format(c), marked[i]})
		}
	}
}

// best marks the policy with the best mean of column k, and those that cannot be
// told apart from it run by run; nobody if that is more than half of them.
func best(all []summary, k int, c column) []bool {
	marked := make([]bool, len(all))
	top := 0
	for i := range all {
		if a, b := all[i].Figures[k].Mean, all[top].Figures[k].Mean; c.Less && a < b || !c.Less && a > b {
			top = i
		}
	}
	n := 0
	for i := range all {
		x := compare(&all[i], &all[top], c.value)
		same := all[i].Figures[k].Mean == all[top].Figures[k].Mean
		if same || x.hasInterval && !x.differsBelow && !x.differsAbove {
			marked[i] = true
			n++
		}
	}
	if 2*n > len(all) {
		clear(marked)
	}
	return marked
}

// hours rounds to seconds.
func hours(d time.Duration) float64 { return math.Round(d.Seconds()) / 3600 }

// add takes a policy's figures and its first run.
func (d *reportData) add(s *summary, ks []int) {
	p := reportPolicy{Name: s.Policy, Done: completion(s.Runs)}
	for i, k := range ks {
		p.Figures = append(p.Figures, [2]float64{s.Figures[k].Mean, s.Figures[k].Half})
		p.Labels = append(p.Labels, s.Figures[k].format(d.Columns[i]))
	}
	first := &s.Runs[0]
	d.End = max(d.End, hours(first.Last.At))
	for i := range first.Series {
		x := &first.Series[i]
		p.Series = append(p.Series, [4]float64{hours(x.At), round3(x.Busy), float64(x.Waiting), math.Round(x.Watts)})
	}
	if t := first.Timeline; t != nil {
		p.GPUs = len(t.spans)
		narrow := first.Last.At / 2000 // narrower than a pixel
		for g, spans := range t.spans {
			for _, x := range spans {
				if x.To-x.From > narrow {
					p.Spans = append(p.Spans, reportSpan{g, hours(x.From), hours(x.To), strings.Join(x.Tasks, ", "), len(x.Tasks)})
				}
			}
		}
		for _, m := range t.marks {
			p.Marks = append(p.Marks, reportMark{m.GPU, hours(m.At), m.Kind, m.Task})
		}
	}
	d.Policies = append(d.Policies, p)
}

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// completion is the distribution of completion times over all runs, thinned to the
// points of a curve.
func completion(runs []outcome) [][2]float64 {
	var times []float64
	for i := range runs {
		for k := range runs[i].Ends {
			if e := &runs[i].Ends[k]; e.Finished {
				times = append(times, max(1, e.JCT().Seconds())/3600)
			}
		}
	}
	slices.Sort(times)
	const points = 200
	var out [][2]float64
	n := len(times)
	for k := range min(n, points) {
		i := k
		if n > points {
			i = k * (n - 1) / (points - 1)
		}
		out = append(out, [2]float64{math.Round(times[i]*1e4) / 1e4, round3(float64(i+1) / float64(n))})
	}
	return out
}
