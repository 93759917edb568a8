package simulate

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/colloc/colloc/sim"
)

// palette tells policies apart, also for most people who see few colours: that
// of Okabe and Ito (2008), then lighter, then darker.
func palette(i int) color.RGBA {
	colors := [...]color.RGBA{
		{0, 114, 178, 255},
		{230, 159, 0, 255},
		{0, 158, 115, 255},
		{213, 94, 0, 255},
		{204, 121, 167, 255},
		{86, 180, 233, 255},
		{90, 90, 90, 255},
	}
	c := colors[i%len(colors)]
	mix := func(part uint8) uint8 {
		switch i / len(colors) % 4 {
		case 1:
			return 255 - (255-part)/2
		case 2:
			return part / 2
		case 3:
			return 255 - (255-part)/4
		}
		return part
	}
	c.R, c.G, c.B = mix(c.R), mix(c.G), mix(c.B)
	return c
}

// dashes of the lines that share a colour's family.
func dashes(i int) []vg.Length {
	patterns := [...][]vg.Length{nil, {5, 2}, {2, 2}, {7, 2, 2, 2}}
	return patterns[i/7%len(patterns)]
}

// wide is the width of a chart of which two stand side by side, in points.
const wide = 475

// newPlot returns an empty chart in the house style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

// svg draws a chart as an element that a page can hold.
func svg(p *plot.Plot, width, height vg.Length) (template.HTML, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", fmt.Errorf("drawing %q: %w", p.Title.Text, err)
	}
	_, element, ok := strings.Cut(b.String(), "<svg")
	if !ok {
		return "", fmt.Errorf("drawing %q: no svg element", p.Title.Text)
	}
	label := template.HTMLEscapeString(p.Title.Text)
	return template.HTML(`<svg role="img" aria-label="` + label + `"` + element), nil //nolint:gosec // drawn by us; texts are escaped by vgsvg
}

// bars draws one figure of all policies with its interval.
func bars(c column, k int, all []summary) (template.HTML, error) {
	p := newPlot(strings.TrimSpace(c.Name+better(c)), "", c.Unit)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Policy + "      " // room for the reader's font, which may be wider
		bar, err := plotter.NewBarChart(plotter.Values{all[i].Figures[k].Mean}, vg.Points(11))
		if err != nil {
			return "", err
		}
		bar.XMin, bar.Color = float64(i), palette(i)
		bar.LineStyle.Width = 0
		p.Add(bar)
	}
	points := errorPoints{all, k}
	whiskers, err := plotter.NewYErrorBars(points)
	if err != nil {
		return "", err
	}
	p.Add(whiskers)
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = -math.Pi / 2 // downwards from the axis, wherever a wider font ends
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XLeft, draw.YCenter
	p.X.Min, p.X.Max, p.Y.Min = -0.7, float64(len(all))-0.3, 0
	return svg(p, vg.Points(min(wide, max(190, 17*float64(len(all))+60))), 210)
}

func better(c column) string {
	if c.Less {
		return ", less is better"
	}
	return ""
}

// errorPoints are the tops of bars with their intervals.
type errorPoints struct {
	all []summary
	k   int
}

func (e errorPoints) Len() int { return len(e.all) }

func (e errorPoints) XY(i int) (x, y float64) { return float64(i), e.all[i].Figures[e.k].Mean }

func (e errorPoints) YError(i int) (low, high float64) {
	h := e.all[i].Figures[e.k].Half
	return h, h
}

// completion draws the distribution of completion times over all seeds.
func completion(all []summary) (template.HTML, error) {
	p := newPlot("Completion times", "hours (logarithmic)", "part of the tasks")
	for i := range all {
		var hours []float64
		for _, r := range all[i].Runs {
			for k := range r.Ends {
				if e := &r.Ends[k]; e.Finished {
					hours = append(hours, max(1e-4, e.JCT().Hours()))
				}
			}
		}
		slices.Sort(hours)
		if err := addLine(p, all[i].Policy, i, quantiles(hours)); err != nil {
			return "", err
		}
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 0, 1
	return svg(p, wide, 260)
}

// quantiles thins sorted values to the points of a curve.
func quantiles(sorted []float64) plotter.XYs {
	const points = 200
	var out plotter.XYs
	n := len(sorted)
	for k := range min(n, points) {
		i := k
		if n > points {
			i = k * (n - 1) / (points - 1)
		}
		out = append(out, plotter.XY{X: sorted[i], Y: float64(i+1) / float64(n)})
	}
	return out
}

// overTime draws what one quantity of the first seed's run did.
func overTime(title string, all []summary, value func(*sim.Point) float64) (template.HTML, error) {
	p := newPlot(title, "hours", "")
	for i := range all {
		var xys plotter.XYs
		for k := range all[i].Runs[0].Series {
			point := &all[i].Runs[0].Series[k]
			xys = append(xys, plotter.XY{X: point.At.Hours(), Y: value(point)})
		}
		if err := addLine(p, all[i].Policy, i, xys); err != nil {
			return "", err
		}
	}
	p.Y.Min = 0
	return svg(p, wide, 220)
}

func addLine(p *plot.Plot, name string, i int, xys plotter.XYs) error {
	if len(xys) == 0 {
		return nil
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line.Color, line.Width, line.Dashes = palette(i), vg.Points(1.2), dashes(i)
	p.Add(line)
	return nil
}

// gantt draws a row for each GPU, darker the more tasks share it.
func gantt(policy string, t *timeline, end time.Duration) (template.HTML, error) {
	p := newPlot(policy, "hours", "GPU")
	p.Add(rows{t})
	p.X.Min, p.X.Max = 0, math.Max(1e-6, end.Hours())
	p.Y.Min, p.Y.Max = -0.5, float64(len(t.spans))-0.5
	var ticks plot.ConstantTicks
	for g := 0; g < len(t.spans); g += max(1, len(t.spans)/8) {
		ticks = append(ticks, plot.Tick{Value: float64(g), Label: strconv.Itoa(g)})
	}
	p.Y.Tick.Marker = ticks
	return svg(p, wide, vg.Points(float64(min(420, 70+12*len(t.spans)))))
}

// rows is the plotter of a timeline.
type rows struct{ *timeline }

// Plot implements plot.Plotter.
func (r rows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for g, spans := range r.spans {
		low, high := y(float64(g)-0.4), y(float64(g)+0.4)
		for _, s := range spans {
			from, to := x(s.From.Hours()), x(s.To.Hours())
			c.FillPolygon(shade(s.Tasks), []vg.Point{{X: from, Y: low}, {X: to, Y: low}, {X: to, Y: high}, {X: from, Y: high}})
		}
	}
}

// shade is the colour of a GPU that n tasks share.
func shade(n int) color.Color {
	shades := [...]color.RGBA{{158, 202, 225, 255}, {66, 146, 198, 255}, {8, 81, 156, 255}, {8, 48, 107, 255}}
	return shades[min(n, len(shades))-1]
}
