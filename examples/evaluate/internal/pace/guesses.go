package pace

import (
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
)

// guesses collects what one model says of scalar targets.
type guesses struct {
	model           string
	seen, predicted []float64
	lo, hi          []float64 // empty for a model without intervals
	erratic         []bool
}

// picture is what is drawn of a model with intervals.
func (g *guesses) picture() protocol.Picture {
	p := protocol.Picture{Unit: "speed on the slice", Interval: true}
	for i, erratic := range g.erratic {
		if len(g.lo) > 0 && !erratic {
			p.Points = append(p.Points, protocol.Point{Seen: g.seen[i], Predicted: g.predicted[i], Covered: g.covers(i)})
		}
	}
	return p
}

// covers reports whether the interval of a row held.
func (g *guesses) covers(i int) bool {
	return len(g.lo) > 0 && g.seen[i] >= g.lo[i]-1e-9 && g.seen[i] <= g.hi[i]+1e-9
}

func (g *guesses) add(seen float64, e predict.Estimate, interval, erratic bool) {
	g.seen, g.predicted, g.erratic = append(g.seen, seen), append(g.predicted, e.Value), append(g.erratic, erratic)
	if interval {
		g.lo, g.hi = append(g.lo, e.Lo), append(g.hi, e.Hi)
	}
}

// result scores the rows that are not erratic, and mae_all with them.
func (g *guesses) result() (protocol.Result, error) {
	var seen, predicted []float64
	var covered float64
	for i, erratic := range g.erratic {
		if erratic {
			continue
		}
		seen, predicted = append(seen, g.seen[i]), append(predicted, g.predicted[i])
		if g.covers(i) {
			covered++
		}
	}
	good, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return protocol.Result{}, err
	}
	all, err := predict.Score(g.seen, g.predicted, nil)
	r := protocol.Result{Model: g.model, N: good.N}
	r.Add("mae", good.MAE)
	r.Add("rmse", good.RMSE)
	r.Add("r2", good.R2)
	r.Add("coverage_pct", 100*covered/float64(max(1, good.N)))
	r.Add("mae_all", all.MAE)
	if g.model == "colloc" {
		r.Picture = g.picture()
	}
	return r, err
}
