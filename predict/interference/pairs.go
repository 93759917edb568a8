package interference

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// PairSpeeds fills dst with the speed of every task beside every other:
// dst[i*n+j] is that of task i beside task j, and dst[i*n+i] that of task i
// beside a copy of itself; the values are those of [Predictor.Speeds]. dst
// must have n² entries. One model state answers for all pairs, however long it
// takes. The work is divided over the CPUs that Go may use.
//
// It returns an error for a dst of another length, for a mechanism that shares
// nothing, and ctx.Err() when cancelled: dst is then partly filled. O(n²).
func (m *Predictor) PairSpeeds(ctx context.Context, gpu *profile.GPUModel, mech profile.Mechanism, tasks []*profile.Profile, dst []float32) error {
	n := len(tasks)
	if len(dst) != n*n {
		return fmt.Errorf("predict: interference: %d entries for %d tasks, want %d", len(dst), n, n*n)
	}
	if err := checkSharing(mech); err != nil {
		return err
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	members := make([]member, n)
	for i, p := range tasks {
		members[i] = r.roster.member(p)
	}
	asked, at := distinct(members)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			w := pairRow{asked: asked, at: at, learned: make([]float64, len(asked))}
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				w.fill(r, members, i, dst[i*n:(i+1)*n])
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// pairRow is the working memory for one task beside all others.
type pairRow struct {
	asked   []trees.Rest // all that differ, and
	at      []int        // which of them each task is
	learned []float64    // what the trees say of each
	trees   trees.Pruned
}

func (w *pairRow) fill(r *regime, members []member, i int, dst []float32) {
	own := &members[i]
	if r.trees != nil && !own.stranger() {
		columns := own.treeColumns()
		w.trees.Prune(r.trees, columns[:], 0)
		w.trees.Predict(w.asked, w.learned)
	}
	for j := range members {
		other := &members[j]
		learned := 0.0
		if share := r.treeShare(own, other); share > 0 {
			learned = float64(share * w.learned[w.at[j]])
		}
		dst[j] = float32(r.curve().counted(r.lossBeside(own, other, learned)))
	}
}

// distinct lists the neighbours that trees can tell apart, in order of first
// appearance, and for each member which of them it is. Clusters run the same few
// types again and again.
func distinct(members []member) (all []trees.Rest, at []int) {
	at = make([]int, len(members))
	known := make(map[memberBits]int)
	for i := range members {
		k, ok := known[members[i].bits]
		if !ok {
			k = len(all)
			known[members[i].bits] = k
			all = append(all, members[i].rest())
		}
		at[i] = k
	}
	return all, at
}

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
