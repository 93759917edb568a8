package interference

import (
	"fmt"
	"slices"
	"sync"

	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// rest is what trees that know one task of a pair ask about the other.
func (m *member) rest() (row trees.Rest) {
	columns := m.treeColumns()
	copy(row[:], columns[:])
	return row
}

// beside is the working memory of one [Predictor.Beside].
type beside struct {
	members     []member
	asked       []trees.Rest
	own, others []float64
	trees       trees.Pruned
}

//nolint:gochecknoglobals // a pool of working memory, without state
var besidePool = sync.Pool{New: func() any { return &beside{} }}

// Beside fills own[j] with the speed of task beside partners[j], and other[j] with that
// of partners[j] beside it: the values of [Predictor.Speeds], bit by bit, at a fraction
// of the cost where partners are many. own and other must be as long as partners.
//
// It returns an error for other lengths and for a mechanism that shares nothing. Safe
// for concurrent use. O(partners · (terms + trees)).
func (m *Predictor) Beside(gpu *profile.GPUModel, mech profile.Mechanism, task *profile.Profile, partners []*profile.Profile, own, other []float64) error {
	if len(own) != len(partners) || len(other) != len(partners) {
		return fmt.Errorf("predict: interference: %d and %d entries for %d partners, want as many", len(own), len(other), len(partners))
	}
	if err := checkSharing(mech); err != nil {
		return err
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	w, _ := besidePool.Get().(*beside)
	defer besidePool.Put(w)
	w.ask(r, task, partners)
	for j := range partners {
		a, b := &w.members[len(partners)], &w.members[j]
		share := r.treeShare(a, b) // and of b beside a
		own[j] = r.curve().counted(r.lossBeside(a, b, float64(share*w.own[j])))
		other[j] = r.curve().counted(r.lossBeside(b, a, float64(share*w.others[j])))
	}
	return nil
}

// ask looks the partners up, the task after them, and asks the trees about each pair.
func (w *beside) ask(r *regime, task *profile.Profile, partners []*profile.Profile) {
	n := len(partners)
	w.members, w.asked = w.members[:0], w.asked[:0]
	for _, p := range partners {
		w.members = append(w.members, r.roster.member(p))
		w.asked = append(w.asked, w.members[len(w.members)-1].rest())
	}
	w.members = append(w.members, r.roster.member(task))
	w.own, w.others = slices.Grow(w.own[:0], n)[:n], slices.Grow(w.others[:0], n)[:n]
	if r.trees == nil {
		clear(w.own)
		clear(w.others)
		return
	}
	columns := w.members[n].treeColumns()
	w.trees.Prune(r.trees, columns[:], 0)
	w.trees.Predict(w.asked, w.own)
	w.trees.Prune(r.trees, columns[:], ownTreeColumns)
	w.trees.Predict(w.asked, w.others)
}
