package plan

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/predict"
)

//go:embed page.html
var pageText string

// Sizes of the picture of a GPU, in pixels.
const (
	cardWidth = 300
	rowHeight = 20
	nameWidth = 130 // of a task, before its speed
	colours   = 6   // classes c0 to c5
)

// card is a GPU as it is drawn: memory as one bar, and below it a line for each task, with
// its speed and the interval of that.
type card struct {
	GPU, Model        string
	Mechanism, Memory string
	Label             string // for those who cannot see it
	Parts             []part
	Members           []member
	Height            int
	X, Y              int // in the picture of all
}

type part struct {
	X, Width float64
	Class    string
	Title    string
}

type member struct {
	Name, Full, Speed, Interval, Source, Reserved, Class string
	Pace                                                 string // empty where all GPUs are of one kind
	Resident                                             bool
	Y, Line, Text                                        int
	Width, Lo, Hi                                        float64
}

// picture is what the page and the SVG file are drawn from.
type picture struct {
	Cards         []card
	Waiting       []waiting
	Facts         []string // of the ten lines those that the picture does not show
	Title, Foot   string
	Reference     string // see [colloc.Plan]
	Width, Height int
	FootY         int
	Warnings      []string
}

// waiting are tasks that wait for the same reason.
type waiting struct {
	Why   string
	Tasks []waiter
}

// waiter is a task that waits, what would help it, and the GiB that it needs.
type waiter struct{ Task, Help, Need string }

// short leaves out the middle of a name that is longer than n letters: those of a sweep differ
// at the end.
func short(name string, n int) string {
	if letters := []rune(name); len(letters) > n {
		return string(letters[:n/2]) + "…" + string(letters[len(letters)-(n-1)/2:])
	}
	return name
}

const speedWidth = cardWidth - nameWidth - 36 // of speed 1

// newCard draws a placement on a GPU of a product.
func newCard(p *colloc.Placement, model string) card {
	c := card{GPU: short(p.GPU, 18), Model: short(model, 18), Mechanism: p.Mechanism.String(), Memory: fmt.Sprintf("%.1f of %.1f GiB", p.Reserved.GiBs(), p.Usable.GiBs())}
	at := 0.0
	var said []string
	for i := range p.Members {
		m := &p.Members[i]
		wide := 0.0
		if p.Usable > 0 {
			wide = min(cardWidth-at, cardWidth*float64(m.Reserved)/float64(p.Usable))
		}
		class := fmt.Sprint("c", i%colours)
		c.Parts = append(c.Parts, part{at, wide, class, fmt.Sprintf("%s: %.2f GiB", m.Task, m.Reserved.GiBs())})
		at += wide
		row := member{
			Name: short(m.Task, 15), Full: m.Task, Class: class, Resident: m.Resident, Reserved: fmt.Sprintf("%.2f", m.Reserved.GiBs()),
			Speed: fmt.Sprintf("%.2f", m.Speed.Value), Interval: fmt.Sprintf("%.2f to %.2f", m.Speed.Lo, m.Speed.Hi), Source: m.Speed.Source.Kind.String(),
			Y: 66 + rowHeight*i, Line: 73 + rowHeight*i, Text: 78 + rowHeight*i,
			Width: wideOf(m.Speed.Value), Lo: nameWidth + wideOf(m.Speed.Lo), Hi: nameWidth + wideOf(m.Speed.Hi),
		}
		if m.Pace.Confidence > 0 {
			row.Pace = fmt.Sprintf("%.2f", m.Pace.Value)
		}
		if len(p.Members) == 1 && m.Speed.Source.Kind == predict.Measured {
			row.Source = "alone"
		}
		c.Members = append(c.Members, row)
		said = append(said, fmt.Sprintf("%s at %s of its speed alone, between %s", m.Task, row.Speed, row.Interval))
	}
	c.Label = fmt.Sprintf("GPU %s, %s, %s, %s reserved: %s", p.GPU, model, c.Mechanism, c.Memory, strings.Join(said, "; "))
	c.Height = 66 + rowHeight*len(p.Members)
	return c
}

// wideOf is the width of a speed.
func wideOf(speed float64) float64 { return speedWidth * max(0, min(1, speed)) }

// newPicture draws a plan; the GPUs stand in columns, the next where there is most room.
func newPicture(a *answer) (*picture, error) {
	var text strings.Builder
	if err := a.Plan.Summarize(&text); err != nil {
		return nil, err
	}
	p := &picture{Reference: a.Plan.Reference, Warnings: a.Warnings}
	for line := range strings.Lines(text.String()) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case p.Title == "":
			p.Title = line
		case !strings.HasPrefix(line, " "):
			p.Facts = append(p.Facts, line)
		}
	}
	columns := 1
	for columns*columns < len(a.Plan.Placements) && columns < 8 {
		columns++
	}
	const gap = 24
	ends := slices.Repeat([]int{40}, columns)
	for i := range a.Plan.Placements {
		c := newCard(&a.Plan.Placements[i], a.models[a.Plan.Placements[i].GPU])
		k := slices.Index(ends, slices.Min(ends))
		c.X, c.Y = gap+k*(cardWidth+gap), ends[k]
		ends[k] += c.Height + gap
		p.Cards = append(p.Cards, c)
	}
	p.Width, p.Height = gap+columns*(cardWidth+gap), slices.Max(ends)+16
	p.FootY = p.Height - 18
	for _, n := range a.Plan.Waiting() {
		why, help, _ := strings.Cut(strings.TrimPrefix(n.Text, n.ID+" waits: "), ". ")
		k := slices.IndexFunc(p.Waiting, func(w waiting) bool { return w.Why == why })
		if k < 0 {
			k, p.Waiting = len(p.Waiting), append(p.Waiting, waiting{Why: why})
		}
		p.Waiting[k].Tasks = append(p.Waiting[k].Tasks, waiter{n.ID, help, fmt.Sprintf("%.2f", n.Memory.GiBs())})
	}
	p.Foot = fmt.Sprintf("%d of %d tasks wait.", len(a.Plan.Waiting()), len(a.Plan.Tasks))
	return p, nil
}

func execute(w io.Writer, name string, a *answer) error {
	p, err := newPicture(a)
	if err != nil {
		return err
	}
	t, err := template.New("plan").Parse(pageText)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name, p)
}

// writePage writes one page that needs nothing beside it.
func writePage(w io.Writer, a *answer) error { return execute(w, "page", a) }

// writeSVG writes the GPUs alone.
func writeSVG(w io.Writer, a *answer) error { return execute(w, "svg", a) }
