package predict

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/colloc/profile"
)

// PairSpeeds fills dst with the speed of every task beside every other:
// dst[i*n+j] is that of task i beside task j, and dst[i*n+i] that of task i
// beside a copy of itself; the values are those of [Interference.Speeds]. dst
// must have n² entries. One model state answers for all pairs, however long it
// takes. The work is divided over the CPUs that Go may use.
//
// It returns an error for a dst of another length, for a mechanism that shares
// nothing, and ctx.Err() when cancelled: dst is then partly filled. O(n²).
func (m *Interference) PairSpeeds(ctx context.Context, gpu *profile.GPUModel, mech profile.Mechanism, tasks []*profile.Profile, dst []float32) error {
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
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			var row pairRow
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				row.fill(r, members, i, dst[i*n:(i+1)*n])
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// pairRow is the working memory for one task beside all others.
type pairRow struct {
	pair   [2]member
	pruned trees
}

func (w *pairRow) fill(r *regime, members []member, i int, dst []float32) {
	base := r.ownLoss(&members[i])
	t := r.trees
	if t != nil {
		row := treeRow(&members[i], &members[i])
		w.prune(t, row[:])
		t = &w.pruned
	}
	var sum terms
	for j := range members {
		own, other, alone := &members[i], &members[j], base
		if own.stranger() || other.stranger() {
			w.pair = [2]member{*own, *other}
			settle(w.pair[:])
			own, other = &w.pair[0], &w.pair[1]
			alone = r.ownLoss(own)
		}
		present := other.presence()
		loss := max(0, r.pairLoss(own, other, t, &sum)) + damp(alone, present)
		if present == 0 {
			loss = 0
		}
		dst[j] = float32(min(1, max(leastSpeed, speedOf(max(0, loss)))))
	}
}

// prune decides once for the row what depends on the task alone: of each tree
// only the decisions about the neighbour stay. O(nodes).
func (w *pairRow) prune(t *trees, row []float64) {
	w.pruned = trees{Columns: t.Columns, Base: t.Base, Roots: w.pruned.Roots[:0], Nodes: w.pruned.Nodes[:0]}
	for _, root := range t.Roots {
		at := int32(len(w.pruned.Nodes))
		w.keep(t, root, row)
		if w.pruned.Nodes[at].Feature < 0 { // nothing left to decide
			w.pruned.Base += w.pruned.Nodes[at].Threshold
			w.pruned.Nodes = w.pruned.Nodes[:at]
			continue
		}
		w.pruned.Roots = append(w.pruned.Roots, at)
	}
}

// keep appends the subtree at a node without decisions about the task.
func (w *pairRow) keep(t *trees, at int32, row []float64) {
	n := t.Nodes[at]
	for n.Feature >= 0 && n.Feature < treeColumns/2 {
		if row[n.Feature] > n.Threshold {
			at = n.Right
		} else {
			at++
		}
		n = t.Nodes[at]
	}
	here := len(w.pruned.Nodes)
	w.pruned.Nodes = append(w.pruned.Nodes, n)
	if n.Feature < 0 {
		return
	}
	w.keep(t, at+1, row)
	w.pruned.Nodes[here].Right = int32(len(w.pruned.Nodes))
	w.keep(t, n.Right, row)
}
