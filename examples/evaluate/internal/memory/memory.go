package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// reserveRisk is the risk at which coverage_pct and waste_pct are asked.
const reserveRisk = 0.01

// calibrationRisks are the risks of running out of memory at which asked and
// seen are compared.
var calibrationRisks = [...]float64{0.2, 0.1, 0.05, 0.02}

// memorySet is a set of measured peak memory.
type memorySet struct {
	title string
	// others are the estimates by other programs that the file quotes.
	others []string
	// fitOn are further training files in the folder of -train.
	fitOn []string
}

// memorySets are the five sets of peak memory.
func memorySets() []set {
	return []set{
		memorySet{title: "memory_mlp"},
		memorySet{title: "memory_cnn"},
		memorySet{title: "memory_timm", others: []string{"faketensor"}},
		memorySet{title: "memory_carma_real", others: []string{"horus", "faketensor", "gpumemnet"}, fitOn: []string{"memory_mlp", "memory_cnn", "memory_timm"}},
		memorySet{title: "memory_horus_fc_mnist", others: []string{"horus"}},
	}
}

func (s memorySet) name() string { return s.title }
func (s memorySet) file() string { return s.title }

func (s memorySet) open(folder, base string) (table, error) {
	rows, err := openFile(folder, base, dataset.ReadMemory)
	if err != nil {
		return nil, err
	}
	t := &memoryTable{set: s}
	for _, r := range rows {
		if r.Excluded == "" {
			t.rows = append(t.rows, r)
		}
	}
	for _, other := range s.fitOn {
		more, err := openFile(folder, other, dataset.ReadMemory)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the folder of -test has no training files
		}
		if err != nil {
			return nil, err
		}
		for _, r := range more {
			if r.Excluded == "" {
				t.fitOn = append(t.fitOn, r.Observation)
			}
		}
	}
	return t, nil
}

// memoryTable is one file of a memory set.
type memoryTable struct {
	set   memorySet
	rows  []dataset.MemoryRow
	fitOn []memory.Observation
}

func (t *memoryTable) size() int           { return len(t.rows) }
func (t *memoryTable) family(i int) string { return t.rows[i].Observation.Group }

// memoryScores collects what one model predicted.
type memoryScores struct {
	model                 string
	seen, predicted, kept []float64 // bytes; kept is the reservation
	cnn                   []int     // places of convolutional networks with known layers
	exceeded              [len(calibrationRisks)]float64
	inFolds               coverage // reservations that held
}

func (s *memoryScores) add(fold int, seen, predicted, kept float64) {
	s.inFolds.add(fold, "", kept >= seen)
	s.seen = append(s.seen, seen)
	s.predicted = append(s.predicted, predicted)
	s.kept = append(s.kept, kept)
}

func (t *memoryTable) score(from table, folds []fold) ([]result, error) {
	train, ok := from.(*memoryTable)
	if !ok {
		return nil, errors.New("training rows are of another set")
	}
	ours := &memoryScores{model: "colloc", inFolds: coverage{}}
	formula := &memoryScores{model: "horus", inFolds: coverage{}}
	others := make([]memoryScores, len(t.set.others))
	for k, name := range t.set.others {
		others[k] = memoryScores{model: name, inFolds: coverage{}}
	}
	quoted := slices.Contains(t.set.others, "horus")
	for at, f := range folds {
		if err := t.scoreFold(train, f, at, ours); err != nil {
			return nil, err
		}
		for _, i := range f.Test {
			r := &t.rows[i]
			if r.Observation.Censored {
				continue
			}
			seen := float64(r.Observation.Peak)
			if estimate, ok := horus(&r.Observation.Spec); ok && !quoted {
				formula.add(at, seen, estimate, estimate)
			}
			for k, name := range t.set.others {
				if e, ok := r.Others[name]; ok {
					others[k].add(at, seen, float64(e), float64(e))
				}
			}
		}
	}
	all := append([]memoryScores{*ours, *formula}, others...)
	var results []result
	for i := range all {
		if len(all[i].seen) > 0 {
			results = append(results, all[i].result())
		}
	}
	return results, nil
}

// wholeGPU is what the model's answer of a whole GPU means here: the data are of
// an A100 of 40 GiB.
const wholeGPU = 40 * profile.GiB

// scoreFold fits one model and predicts the rows left out.
func (t *memoryTable) scoreFold(train *memoryTable, f fold, at int, ours *memoryScores) error {
	model, host, err := train.fit(f.Train)
	if err != nil {
		return err
	}
	for _, i := range f.Test {
		o := &t.rows[i].Observation
		if o.Censored {
			continue
		}
		on := o.Host
		if host != nil {
			on = *host
		}
		e, err := model.Peak(&o.Spec, on)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.rows[i].Line, err)
		}
		kept, err := model.Reserve(&o.Spec, on, reserveRisk)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.rows[i].Line, err)
		}
		kept = min(kept, wholeGPU)
		if _, layered := o.Spec.Model.Activations(); layered && o.Spec.Model.Guess() == profile.CNN {
			ours.cnn = append(ours.cnn, len(ours.seen))
		}
		ours.add(at, float64(o.Peak), e.Value, float64(kept))
		for k, risk := range calibrationRisks {
			kept, err := model.Reserve(&o.Spec, on, risk)
			if err != nil {
				return fmt.Errorf("line %d: %w", t.rows[i].Line, err)
			}
			if o.Peak > min(kept, wholeGPU) {
				ours.exceeded[k]++
			}
		}
	}
	return nil
}

// fit fits on the rows given. A set with further training files fits on those
// and only calibrates the host's context on its own rows.
func (t *memoryTable) fit(rows []int) (*memory.Predictor, *predict.Host, error) {
	own := make([]memory.Observation, len(rows))
	for k, i := range rows {
		own[k] = t.rows[i].Observation
	}
	if len(t.set.fitOn) == 0 {
		m, err := memory.Fit(own, nil)
		return m, nil, err
	}
	m, err := memory.Fit(t.fitOn, nil)
	if err != nil {
		return nil, nil, err
	}
	host, err := m.Calibrate("calibrated", own)
	return m, &host, err
}

// result computes the metrics of one model.
func (s *memoryScores) result() result {
	r, err := predict.Score(s.seen, s.predicted, s.kept)
	if err != nil { // the three grow together
		return result{model: s.model}
	}
	var under10, reserved, used float64
	for i, y := range s.seen {
		if s.predicted[i] < 0.9*y {
			under10++
		}
		reserved += s.kept[i]
		used += y
	}
	metrics := []metric{
		{"mape_pct", 100 * r.MAPE},
		{"mae_gib", r.MAE / float64(profile.GiB)},
		{"under_pct", 100 * r.UnderRate},
		{"under10_pct", 100 * under10 / float64(r.N)},
		{"coverage_pct", 100 * r.Coverage},
		{"waste_pct", 100 * r.Waste},
		{"not_covered", math.Round(float64(r.N) * (1 - r.Coverage))},
		{"reserved_over_used", reserved / used},
		{"worst_coverage_pct", 100 * s.inFolds.worst()},
		{"groups", float64(s.inFolds.groups())},
	}
	if s.model == "colloc" {
		for k, risk := range calibrationRisks {
			name := fmt.Sprintf("oom_pct_at_%g", 100*risk)
			metrics = append(metrics, metric{name, 100 * s.exceeded[k] / float64(r.N)})
		}
	}
	if n := float64(len(s.cnn)); n > 0 && len(s.cnn) < r.N {
		var off, under float64
		for _, i := range s.cnn {
			off += math.Abs(s.predicted[i]-s.seen[i]) / s.seen[i]
			if s.predicted[i] < 0.9*s.seen[i] {
				under++
			}
		}
		metrics = append(metrics, metric{"mape_cnn_pct", 100 * off / n}, metric{"under10_cnn_pct", 100 * under / n})
	}
	return result{model: s.model, n: r.N, metrics: metrics, picture: s.picture()}
}

// picture is what is drawn of the library's own predictions.
func (s *memoryScores) picture() picture {
	if s.model != "colloc" {
		return picture{}
	}
	p := picture{unit: "GiB"}
	for i, y := range s.seen {
		p.points = append(p.points, guessed{seen: y / float64(profile.GiB), predicted: s.predicted[i] / float64(profile.GiB)})
	}
	for k, asked := range calibrationRisks {
		p.risks = append(p.risks, risk{asked, s.exceeded[k] / float64(len(s.seen))})
	}
	return p
}
