package memory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// memorySet is a set of measured peak memory.
type memorySet struct {
	title string
	// file holds the rows; "" is the title.
	file string
	// others are the estimates by other programs that the file quotes.
	others []string
	// fitOn are further training files in the folder of -train.
	fitOn []string
}

func (s memorySet) Name() string { return s.title }
func (s memorySet) File() string { return cmp.Or(s.file, s.title) }

func (s memorySet) Open(folder, base string) (protocol.Table, error) { return s.open(folder, base) }

func (s memorySet) open(folder, base string) (*memoryTable, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadMemory)
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
		more, err := protocol.OpenFile(folder, other, dataset.ReadMemory)
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
	once  sync.Once // fits on fitOn
	base  *memory.Predictor
	fault error
}

// memory is t, for tables that hold one.
func (t *memoryTable) memory() *memoryTable { return t }

func (t *memoryTable) Size() int           { return len(t.rows) }
func (t *memoryTable) Family(i int) string { return t.rows[i].Observation.Group }

func (t *memoryTable) Score(from protocol.Table, folds []protocol.Fold) ([]protocol.Result, error) {
	other, ok := from.(interface{ memory() *memoryTable })
	if !ok {
		return nil, protocol.ErrSet
	}
	train := other.memory()
	ours := &memoryScores{model: "colloc", inFolds: protocol.Coverage{}}
	formula := &memoryScores{model: "horus", inFolds: protocol.Coverage{}}
	others := make([]memoryScores, len(t.set.others))
	for k, name := range t.set.others {
		others[k] = memoryScores{model: name, inFolds: protocol.Coverage{}}
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
	var results []protocol.Result
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
func (t *memoryTable) scoreFold(train *memoryTable, f protocol.Fold, at int, ours *memoryScores) error {
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
	t.once.Do(func() { t.base, t.fault = memory.Fit(t.fitOn, nil) })
	if t.fault != nil {
		return nil, nil, t.fault
	}
	host, err := t.base.Calibrate("calibrated", own)
	return t.base, &host, err
}
