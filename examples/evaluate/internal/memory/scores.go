package memory

import (
	"fmt"
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// reserveRisk is the risk at which coverage_pct and waste_pct are asked.
const reserveRisk = 0.01

// calibrationRisks are the risks of running out of memory at which asked and
// seen are compared.
var calibrationRisks = [...]float64{0.2, 0.1, 0.05, 0.02}

// memoryScores collects what one model predicted.
type memoryScores struct {
	model                 string
	seen, predicted, kept []float64 // bytes; kept is the reservation
	exceeded              [len(calibrationRisks)]float64
	inFolds               protocol.Tally // reservations that held
}

func (s *memoryScores) add(fold int, seen, predicted, kept float64) {
	s.inFolds.Add(fold, "", kept >= seen, math.Abs(predicted-seen)/seen)
	s.seen = append(s.seen, seen)
	s.predicted = append(s.predicted, predicted)
	s.kept = append(s.kept, kept)
}

// result computes the metrics of one model.
func (s *memoryScores) result() protocol.Result {
	r, err := predict.Score(s.seen, s.predicted, s.kept)
	if err != nil { // the three grow together
		return protocol.Result{Model: s.model}
	}
	var under10, reserved, used float64
	for i, y := range s.seen {
		if s.predicted[i] < 0.9*y {
			under10++
		}
		reserved += s.kept[i]
		used += y
	}
	out := protocol.Result{Model: s.model, N: r.N, Picture: s.picture()}
	out.Add("mape_pct", 100*r.MAPE)
	out.Add("mae_gib", r.MAE/float64(profile.GiB))
	out.Add("under_pct", 100*r.UnderRate)
	out.Add("under10_pct", 100*under10/float64(r.N))
	out.Add("coverage_pct", 100*r.Coverage)
	out.Add("waste_pct", 100*r.Waste)
	out.Add("not_covered", math.Round(float64(r.N)*(1-r.Coverage)))
	out.Add("reserved_over_used", reserved/used)
	out.Add("worst_coverage_pct", 100*s.inFolds.WorstCover())
	out.Add("groups", float64(s.inFolds.Groups()))
	median, worst := s.inFolds.FoldErrors()
	out.Add("median_group_mape_pct", 100*median)
	out.Add("worst_group_mape_pct", 100*worst)
	if s.model == "colloc" {
		for k, risk := range calibrationRisks {
			out.Add(fmt.Sprintf("oom_pct_at_%g", 100*risk), 100*s.exceeded[k]/float64(r.N))
		}
	}
	return out
}

// picture is what is drawn of the library's own predictions.
func (s *memoryScores) picture() protocol.Picture {
	if s.model != "colloc" {
		return protocol.Picture{}
	}
	p := protocol.Picture{Unit: "GiB"}
	for i, y := range s.seen {
		p.Points = append(p.Points, protocol.Point{Seen: y / float64(profile.GiB), Predicted: s.predicted[i] / float64(profile.GiB)})
	}
	for k, asked := range calibrationRisks {
		p.Risks = append(p.Risks, protocol.Risk{Asked: asked, Seen: s.exceeded[k] / float64(len(s.seen))})
	}
	return p
}
