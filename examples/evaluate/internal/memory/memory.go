package memory

import (
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

// settings are what sets of measured peak memory differ in.
type settings struct {
	// others are the estimates by other programs that the file quotes.
	others []string
	// fitOn are further training files in the folder of -train.
	fitOn []string
	// splits are those of the set; nil deals rows at random and leaves out families.
	splits func(t *memoryTable) []protocol.Split
}

// set is one of measured peak memory.
func set(name string, s settings) protocol.Set { return protocol.NewSet(name, s.open) }

func (s settings) open(folder, base string) (*memoryTable, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadMemory, excluded)
	if err != nil {
		return nil, err
	}
	t := &memoryTable{settings: s, rows: rows}
	for _, other := range s.fitOn {
		more, err := protocol.OpenFile(folder, other, dataset.ReadMemory, excluded)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the folder of -test has no training files
		}
		if err != nil {
			return nil, err
		}
		for _, r := range more {
			if r.Unclear == "" {
				t.more = append(t.more, r.Observation)
			}
		}
	}
	return t, nil
}

// memoryTable is one file of a memory set.
type memoryTable struct {
	settings
	rows  []dataset.MemoryRow
	more  []memory.Observation // of the further files
	once  sync.Once            // fits on more
	base  *memory.Predictor
	fault error
}

// excluded are the rows that must not be used.
func excluded(r dataset.MemoryRow) bool { return r.Excluded != "" }

func (t *memoryTable) Size() int           { return len(t.rows) }
func (t *memoryTable) family(i int) string { return t.rows[i].Observation.Group }

func (t *memoryTable) Splits() []protocol.Split {
	if t.splits != nil {
		return t.splits(t)
	}
	return protocol.RandomAndFamily(t.Size(), t.family)
}

func (t *memoryTable) Score(train *memoryTable, folds []protocol.Fold) ([]protocol.Result, error) {
	ours, formula := &memoryScores{model: "colloc"}, &memoryScores{model: "horus"}
	others := make([]memoryScores, len(t.others))
	for k, name := range t.others {
		others[k].model = name
	}
	quoted := slices.Contains(t.others, "horus")
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
			for k, name := range t.others {
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
	fold, err := train.fit(f.Train)
	if err != nil {
		return err
	}
	for _, i := range f.Test {
		o := &t.rows[i].Observation
		if o.Censored {
			continue
		}
		model, on := fold.of(o)
		e, err := model.Peak(&o.Spec, on)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.rows[i].Line, err)
		}
		kept, err := model.Reserve(&o.Spec, on, reserveRisk)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.rows[i].Line, err)
		}
		kept = min(kept, wholeGPU)
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

// fitted is what is known without the rows left out.
type fitted struct {
	model *memory.Predictor
	base  *memory.Predictor // for what model was not fitted to; nil where it is for all
	host  predict.Host      // the rows', as base sees it
}

// of is the model for a task, and the host that it knows the task's by.
func (f *fitted) of(o *memory.Observation) (*memory.Predictor, predict.Host) {
	if f.base == nil || refitted(o) {
		return f.model, o.Host
	}
	return f.base, f.host
}

// refitted says whether a task is of a kind of which the sets of real and of generated
// networks both have many: these are fitted together.
func refitted(o *memory.Observation) bool {
	_, layered := o.Spec.Model.Activations()
	family := o.Spec.Model.Guess()
	return layered && (family == profile.CNN || family == profile.Transformer)
}

// fit fits on the rows given, and in a set with further training files on those, too:
// once on all of them, and with the rows given on those of the kinds that rows of the
// set are of, without what is of a group that was left out.
func (t *memoryTable) fit(rows []int) (*fitted, error) {
	var own []memory.Observation
	there := make(map[string]bool) // groups that are not left out whole
	for _, i := range rows {
		r := &t.rows[i]
		there[r.Observation.Group] = true
		if r.Unclear == "" {
			own = append(own, r.Observation)
		}
	}
	if len(t.fitOn) == 0 {
		m, err := memory.Fit(own, nil)
		return &fitted{model: m}, err
	}
	t.once.Do(func() { t.base, t.fault = memory.Fit(t.more, nil) })
	if t.fault != nil {
		return nil, t.fault
	}
	host, err := t.base.Calibrate("calibrated", own)
	if err != nil {
		return nil, err
	}
	kinds, left := make(map[profile.Family]bool), make(map[string]bool)
	for i := range t.rows {
		o := &t.rows[i].Observation
		left[o.Group] = !there[o.Group]
		if refitted(o) {
			kinds[o.Spec.Model.Guess()] = true
		}
	}
	var obs []memory.Observation
	for _, o := range slices.Concat(own, t.more) {
		if refitted(&o) && kinds[o.Spec.Model.Guess()] && !left[o.Group] {
			obs = append(obs, o)
		}
	}
	if len(obs) == 0 {
		return &fitted{t.base, t.base, host}, nil
	}
	m, err := memory.Fit(obs, nil)
	return &fitted{m, t.base, host}, err
}
