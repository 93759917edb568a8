package packer

import "example.com/colloc/profile"

// Model predicts speeds. It must give the same answer to the same question,
// whatever the order of the calls.
type Model interface {
	// Speeds fills dst[i] with the speed of set[i] when exactly the tasks of
	// set run together on gpu by mech: throughput divided by solo throughput,
	// finite, at least 0 and at most 16; 1 for a single task (less where the
	// GPU is smaller than the one that solo refers to, a MIG instance). A set
	// of one task is asked with Exclusive. len(dst) == len(set). The slices
	// belong to the caller and are used again.
	Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error
}

// BatchModel is a Model that answers for many pairs in one call. n tasks have
// n²/2 pairs, so the calls are what packing costs; this form lets a model
// keep what it knows of one task while it walks over the partners, and costs no
// allocation per pair.
type BatchModel interface {
	Model
	// PairSpeeds fills own[j] with the speed of task beside partners[j], and
	// other[j] with the speed of partners[j] beside task, each the same number
	// as Speeds gives for that pair.
	PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error
}

// MonotoneModel is a Model in which company only hurts. It spares methods and
// [Certificate.Verify] most questions about large sets: where a task is slow
// beside one companion, it is no faster beside that one and others.
type MonotoneModel interface {
	Model
	// Monotone promises that on gpu by mech no task is faster in a set than in
	// any smaller set that holds it, or alone by Exclusive:
	//
	//	speed(i, S) <= speed(i, R)  for i ∈ R ⊆ S
	//
	// A bound that rests on a broken promise is none.
	Monotone(gpu *GPU, mech profile.Mechanism) bool
}

// AdditiveModel is a MonotoneModel in which what companions cost a task adds up.
// It spares [ColumnGen] nearly all questions about sets of three and more that
// earn nothing.
type AdditiveModel interface {
	MonotoneModel
	// Additive promises that on gpu by mech, in every set S of two tasks and more
	// that holds task,
	//
	//	speed(S) <= max(least, 1/(1 + Σ cost(j) - (|S| - 2)·once))
	//	cost(j)   = 1/speed({task, j}) - 1      for each companion j
	//
	// where once >= 0 is the part of a companion's cost that is there whoever it
	// is, and counts once however many they are, and least the lowest speed that
	// the model ever says. Nothing is promised where the denominator is not
	// positive. A bound that rests on a broken promise is none.
	Additive(task *Task, gpu *GPU, mech profile.Mechanism) (once, least float64, ok bool)
}

// SliceModel is a Model that knows what a task does on each size of MIG
// instance. With it, packer chooses the layout itself on GPUs that list
// [profile.MIG] among their Mechanisms and whose Type has MIG profiles: the
// value of a set is that of its best layout, in which each task has an instance
// of its own, and Set.Instances says who sits where. Of another Model it asks
// Speeds with [profile.MIG], and no layout is told.
type SliceModel interface {
	Model
	// SliceSpeeds fills dst[p] with the speed of task alone on an instance of
	// profile gpu.Type.MIG[p], relative to solo throughput on the whole GPU, 0
	// where it cannot run. Packer looks after memory itself. len(dst) ==
	// len(gpu.Type.MIG).
	SliceSpeeds(task *Task, gpu *GPU, dst []float64) error
}
