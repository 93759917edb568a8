package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"example.com/colloc/examples/evaluate/internal/protocol"
)

// mostPoints bounds the points of a plot: every n-th of more is drawn.
const mostPoints = 1500

// intervalBins is the number of groups, by rising prediction, whose intervals
// are compared with what they promise.
const intervalBins = 10

// writePlots writes into folder, as SVG and PNG, for every set and split what
// colloc predicted against what was measured and how its intervals or
// reservations held. The same lines give the same bytes.
func writePlots(folder string, lines []line) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, l := range lines {
		if len(l.Points) == 0 {
			continue
		}
		if err := save(predictedPlot(&l), folder, l.set+"-"+l.split+"-predicted"); err != nil {
			return err
		}
	}
	oom, intervals := oomPlot(lines), intervalPlot(lines)
	if oom != nil {
		if err := save(oom, folder, "calibration-oom"); err != nil {
			return err
		}
	}
	if intervals != nil {
		return save(intervals, folder, "calibration-intervals")
	}
	return nil
}

func save(p *plot.Plot, folder, name string) error {
	for _, suffix := range []string{".svg", ".png"} {
		if err := p.Save(16*vg.Centimeter, 12*vg.Centimeter, filepath.Join(folder, name+suffix)); err != nil {
			return fmt.Errorf("plot %s: %w", name, err)
		}
	}
	return nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	return p
}

// addDiagonal draws where what was said is what came true.
func addDiagonal(p *plot.Plot, lo, hi float64) {
	exact := plotter.Line{XYs: plotter.XYs{{X: lo, Y: lo}, {X: hi, Y: hi}}, LineStyle: plotter.DefaultLineStyle}
	exact.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(&exact)
	p.Legend.Add("as said", &exact)
}

// predictedPlot is a cloud of predictions over measurements.
func predictedPlot(l *line) *plot.Plot {
	p := newPlot(fmt.Sprintf("%s, %s: %d predictions", l.set, l.split, l.N), "measured, "+l.Unit, "predicted, "+l.Unit)
	p.Legend.Top = false
	p.Legend.Left = false
	every := (len(l.Points) + mostPoints - 1) / mostPoints
	cloud := plotter.Scatter{GlyphStyle: plotter.DefaultGlyphStyle}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := 0; i < len(l.Points); i += every {
		g := l.Points[i]
		cloud.XYs = append(cloud.XYs, plotter.XY{X: g.Seen, Y: g.Predicted})
		lo, hi = min(lo, g.Seen, g.Predicted), max(hi, g.Seen, g.Predicted)
	}
	cloud.Radius, cloud.Color, cloud.Shape = vg.Points(1.2), plotutil.Color(2), plotutil.Shape(3)
	addDiagonal(p, lo, hi)
	p.Add(&cloud)
	p.Legend.Add(l.set+" "+l.split, &cloud)
	return p
}

// oomPlot compares the asked risk of running out of memory with the share of
// tasks that exceeded their reservation; nil without any.
func oomPlot(lines []line) *plot.Plot {
	p := newPlot("Tasks that exceed their reservation", "asked risk, %", "seen, %")
	drawn, most := 0, 0.0
	for _, l := range lines {
		points := plotter.XYs{}
		for _, r := range slices.Backward(l.Risks) {
			points = append(points, plotter.XY{X: 100 * r.Asked, Y: 100 * r.Seen})
			most = max(most, 100*r.Asked, 100*r.Seen)
		}
		drawn += addSeries(p, l.set+" "+l.split, points, drawn)
	}
	if drawn == 0 {
		return nil
	}
	addDiagonal(p, 0, most)
	return p
}

// intervalPlot shows, for groups of rising prediction, the share of measurements
// within the 90 % interval; nil without any.
func intervalPlot(lines []line) *plot.Plot {
	p := newPlot("Measurements within their 90 % interval", "tenth of the predictions, from low to high", "within, %")
	p.Legend.Top = false
	drawn := 0
	for _, l := range lines {
		if l.Interval {
			drawn += addSeries(p, l.set+" "+l.split, intervalPoints(l.Points), drawn)
		}
	}
	if drawn == 0 {
		return nil
	}
	p.Y.Min, p.Y.Max = 0, 100
	promised := plotter.Line{XYs: plotter.XYs{{X: 1, Y: 90}, {X: intervalBins, Y: 90}}, LineStyle: plotter.DefaultLineStyle}
	promised.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(&promised)
	p.Legend.Add("promised", &promised)
	return p
}

func intervalPoints(points []protocol.Point) plotter.XYs {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b protocol.Point) int {
		switch {
		case a.Predicted < b.Predicted:
			return -1
		case a.Predicted > b.Predicted:
			return 1
		}
		return 0
	})
	var out plotter.XYs
	for b := range intervalBins {
		in := sorted[b*len(sorted)/intervalBins : (b+1)*len(sorted)/intervalBins]
		covered := 0.0
		for _, g := range in {
			if g.Covered {
				covered++
			}
		}
		if len(in) > 0 {
			out = append(out, plotter.XY{X: float64(b + 1), Y: 100 * covered / float64(len(in))})
		}
	}
	return out
}

// addSeries draws one named line with points and returns how many it drew.
func addSeries(p *plot.Plot, name string, points plotter.XYs, k int) int {
	if len(points) == 0 {
		return 0
	}
	style, dots := plotter.DefaultLineStyle, plotter.DefaultGlyphStyle
	style.Color, style.Dashes = plotutil.Color(k), plotutil.Dashes(k)
	dots.Color, dots.Shape = plotutil.Color(k), plotutil.Shape(k)
	curve := plotter.Line{XYs: points, LineStyle: style}
	marks := plotter.Scatter{XYs: points, GlyphStyle: dots}
	p.Add(&curve, &marks)
	p.Legend.Add(name, &curve, &marks)
	return 1
}
