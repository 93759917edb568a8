package lifetime

import (
	"fmt"
	"math"
)

// State is what Lives know, as JSON bears it.
type State struct {
	All   Ends   `json:"all"`
	Kinds []Ends `json:"kinds,omitempty"` // in the order of their first ends
}

// Ends are the tasks of a kind that ended.
type Ends struct {
	Kind    string          `json:"kind,omitempty"`
	Spans   map[int]float64 `json:"spans,omitempty"` // how many ended in each
	N       float64         `json:"n,omitempty"`
	Sum     float64         `json:"sum,omitempty"`
	Squares float64         `json:"squares,omitempty"`
	Work    float64         `json:"work,omitempty"`
	Here    bool            `json:"here,omitempty"`
}

// State returns what is known, but for who is open.
func (l *Lives) State() State {
	st := State{All: l.all.state()}
	for _, f := range l.kinds {
		st.Kinds = append(st.Kinds, f.state())
	}
	return st
}

func (f *life) state() Ends {
	e := Ends{Kind: f.name, N: f.n, Sum: f.sum, Squares: f.squares, Work: f.work, Here: f.here}
	for k, n := range f.ended {
		if n > 0 {
			if e.Spans == nil {
				e.Spans = map[int]float64{}
			}
			e.Spans[k] = n
		}
	}
	return e
}

// Restored returns what a State says, or what is wrong with it.
func Restored(st *State) (Lives, error) {
	l := Lives{named: map[string]int{}}
	if err := l.all.restore(&st.All); err != nil {
		return l, err
	}
	for i := range st.Kinds {
		f := &life{name: st.Kinds[i].Kind}
		if _, ok := l.named[f.name]; ok || f.name == "" {
			return l, fmt.Errorf("lives: kind %q is there twice, or is none", f.name)
		}
		if err := f.restore(&st.Kinds[i]); err != nil {
			return l, err
		}
		l.named[f.name] = len(l.kinds)
		l.kinds = append(l.kinds, f)
	}
	return l, nil
}

func (f *life) restore(e *Ends) error {
	for _, x := range []float64{e.N, e.Sum, e.Squares, e.Work} {
		if !(x >= 0 && x < math.MaxFloat64/4) {
			return fmt.Errorf("lives: kind %q: %v ends with sums %v, %v and %v", e.Kind, e.N, e.Sum, e.Squares, e.Work)
		}
	}
	f.n, f.sum, f.squares, f.work, f.here = e.N, e.Sum, e.Squares, e.Work, e.Here
	for k, n := range e.Spans {
		if k < 0 || k >= spans || !(n > 0 && n <= 2*aged) {
			return fmt.Errorf("lives: kind %q: %v ends in span %d", e.Kind, n, k)
		}
		f.ended[k] = n
	}
	return nil
}
