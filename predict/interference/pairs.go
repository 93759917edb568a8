package interference

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/colloc/predict"
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
		w.trees.Prune(r.trees, columns[:])
		w.trees.Predict(w.asked, w.learned)
	}
	for j := range members {
		other := &members[j]
		learned := 0.0
		if share := r.treeShare(own, other); share > 0 {
			learned = float64(share * w.learned[w.at[j]])
		}
		loss := max(0, r.pairLoss(own, other, learned)) + r.ownLoss(own, other.present)
		if other.present == 0 {
			loss = 0
		}
		dst[j] = float32(min(1, max(predict.LeastSpeed, speedOf(max(0, loss)))))
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
			var n trees.Rest
			columns := members[i].treeColumns()
			copy(n[:], columns[:])
			all = append(all, n)
		}
		at[i] = k
	}
	return all, at
}
