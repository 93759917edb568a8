package pace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"example.com/colloc/predict/internal/conformal"
)

// paceFile is the form of a saved Predictor.
type paceFile struct {
	Format    string        `json:"format"`
	Version   int           `json:"version"`
	Reference kindFile      `json:"reference"`
	Fit       *coefficients `json:"coefficients"`
	Tasks     []taskRow     `json:"tasks,omitempty"`
}

type kindFile struct {
	Name  string `json:"name"`
	Rates rates  `json:"log_rates"`
	Known bool   `json:"known"`
}

// taskRow is what was observed of one task on one kind of card.
type taskRow struct {
	taskKey
	GPU kindFile `json:"gpu"`
	Log float64  `json:"log_throughput"`
	N   int      `json:"n"`
	// Order is that of the last observation; files of old have none.
	Order uint64 `json:"order,omitempty"`
}

const (
	paceFormat  = "colloc pace"
	paceVersion = 1
)

// Save writes the coefficients and what was observed since as JSON. The same
// Predictor gives the same bytes.
func (m *Predictor) Save(w io.Writer) error {
	s := m.load()
	f := paceFile{Format: paceFormat, Version: paceVersion, Reference: kindFile{s.reference.name, s.reference.rates, s.reference.known}, Fit: &s.coefficients}
	for key, list := range s.tasks {
		for _, x := range list {
			f.Tasks = append(f.Tasks, taskRow{key, kindFile{x.name, x.rates, x.known}, x.log, x.n, x.order})
		}
	}
	slices.SortFunc(f.Tasks, func(a, b taskRow) int {
		return cmp.Or(a.compare(&b.taskKey), cmp.Compare(a.GPU.Name, b.GPU.Name))
	})
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("predict/pace: save: %w", err)
	}
	return nil
}

// Load reads what Save wrote; another format or version and numbers that no fit
// can have produced are errors.
func Load(r io.Reader) (*Predictor, error) {
	var f paceFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("predict/pace: load: %w", err)
	}
	if f.Format != paceFormat || f.Version != paceVersion || f.Fit == nil {
		return nil, fmt.Errorf("predict/pace: load: format %q, version %d; want %q, %d: fit again", f.Format, f.Version, paceFormat, paceVersion)
	}
	s := &state{coefficients: *f.Fit, reference: f.Reference.kind(), tasks: make(map[taskKey][]seen)}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("predict/pace: load: %w", err)
	}
	for i, t := range f.Tasks {
		x := seen{t.GPU.kind(), t.Log, t.N, t.Order}
		if err := x.check(); err != nil {
			return nil, fmt.Errorf("predict/pace: load: task %d: %w", i, err)
		}
		list := s.tasks[t.taskKey]
		at, twice := slices.BinarySearchFunc(list, x.name, func(x seen, name string) int { return cmp.Compare(x.name, name) })
		if twice {
			return nil, fmt.Errorf("predict/pace: load: task %d: GPU %q appears twice", i, x.name)
		}
		s.tasks[t.taskKey], s.told = slices.Insert(list, at, x), max(s.told, x.order)
	}
	if len(s.tasks) > mostTasks {
		return nil, fmt.Errorf("predict/pace: load: %d tasks, want at most %d", len(s.tasks), mostTasks)
	}
	m := &Predictor{}
	m.state.Store(s)
	return m, nil
}

func (k *kindFile) kind() kind { return kind{k.Name, k.Rates, k.Known} }

// check refuses weights below 0 and beyond what any card's rates bear.
func (s *state) check() error {
	if err := conformal.CheckConfidence(s.Confidence); err != nil {
		return err
	}
	for f := range s.Weights {
		for _, w := range s.Weights[f] {
			for _, v := range w {
				if !(v >= 0 && v <= 10) {
					return fmt.Errorf("weight of family %d is %v, want 0 to 10", f, v)
				}
			}
		}
	}
	if !(s.Fullness >= 0 && s.Fullness <= 10) || !(s.Factor >= 0 && s.Factor <= 10) || s.Rows < 0 || s.Groups < 0 {
		return fmt.Errorf("fullness %v, factor %v, %d rows of %d groups: want 0 to 10 and counts", s.Fullness, s.Factor, s.Rows, s.Groups)
	}
	for _, r := range []rates{s.Lo, s.Hi, s.reference.rates} {
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses rates beyond those that kindOf makes.
func (r *rates) check() error {
	for _, v := range [...]float64{r.Narrow, r.Wide, r.Bandwidth, r.FP32} {
		if !(v >= 0 && v <= 60) {
			return fmt.Errorf("log rate is %v, want 0 to 60", v)
		}
	}
	return nil
}

func (x *seen) check() error {
	if x.name == "" || x.n < 1 || x.order > 1<<62 || !(math.Abs(x.log) <= 42) {
		return fmt.Errorf("GPU %q, log throughput %v of %d runs: want a name, -42 to 42 and at least 1", x.name, x.log, x.n)
	}
	return x.rates.check()
}
