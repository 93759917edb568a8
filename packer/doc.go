// Package packer decides which tasks share which GPU, and proves how good the
// decision is.
//
// A [Problem] holds tasks with memory reservations, weights and slowdown
// limits, GPUs of any kinds with the tasks that already run there, a [Model]
// that predicts speeds, and [Limits]. A [Method] answers with a [Solution]: the
// sets, a [Reason] for every task that waits or has a GPU to itself, and a
// [Certificate] that proves a bound on every other plan. [Problem.Check] and
// [Certificate.Verify] examine an answer without any code of the methods.
//
// Package packer is the language of these questions and answers, and the check of
// the answers; it holds no search. Methods and what is built from them:
//
//   - [example.com/colloc/packer/solve]: the methods, exact or with a certified gap, or quick
//   - [example.com/colloc/packer/online]: a scheduler, for tasks that come and go
//   - [example.com/colloc/packer/matching]: maximum-weight matching of integers, for anyone
//   - [example.com/colloc/packer/mig]: layouts of MIG instances
//
// Ten lines ask a question and check the answer:
//
//	p := &packer.Problem{
//		Tasks: []packer.Task{{ID: "bert", Memory: 9 * profile.GiB}, {ID: "mlp", Memory: profile.GiB}},
//		GPUs:  []packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}},
//		Model: model, // how fast tasks run beside each other
//	}
//	s, err := solve.Auto{}.Pack(ctx, p)
//	if err == nil {
//		err = p.Check(s)
//	}
//
// # Formulation
//
// Set S may run on GPU g if it respects memory after headroom, Limits.MaxSet,
// Alone, and every member's MinSpeed under some mechanism that g allows. Its
// value is the best over mechanisms:
//
//	W(g, S) = max over mechanisms of Σ weight(i)·pace(i, g)·speed(i, S, g)  for i ∈ S
//
// where pace, 1 but for a [PaceModel], is what the task does alone on g, relative to
// other GPUs. The mechanism is thus chosen inside the value and never enters the
// optimisation. Residents R(g) are in every set of g, and W(g, R(g)) counts
// whatever the limits say, for they run anyway. The integer program over
// columns x(g, S), and the dual of its linear relaxation:
//
//	max  Σ W(g, S)·x(g, S)
//	     Σ x(g, S: i ∈ S) <= 1        for each task i        price u(i)
//	     Σ x(g, S)        <= 1        for each GPU g         price λ(g)
//	     Σ x(g, S: |S ∩ B| = 2) <= ⌊|B|/2⌋  for odd sets B   price z(B), pairs only
//
//	min  Σ u(i) + Σ λ(g) + Σ z(B)·⌊|B|/2⌋
//	     Σ u(i: i ∈ S) + λ(g) + Σ z(B: S ⊆ B) >= W(g, S),  all >= 0
//
// Any u and z give a valid bound after one pass that prices all sets. For pairs
// on one kind of GPU the odd sets make the relaxation integral (Edmonds 1965),
// so the bound is the optimum. For larger sets nothing does; the relaxation of
// measured instances is within 0.3 % of the best plan all the same.
//
// GPUs that no plan can tell apart share a row, Σ x(g, S) <= their number. So do
// tasks of one type, see ColumnGen of package solve: with n(t) tasks of type t and S a multiset
// that holds t m(t, S) times,
//
//	Σ m(t, S)·x(g, S) <= n(t)        for each type t        price u(t)
//
// There are then as many rows as types and kinds of GPU, however many tasks.
//
// # Mechanisms
//
// With a [SliceModel] the value of a set by MIG is that of its best layout, which
// package mig finds among all that leave the residents' instances alone.
//
// # Waiting
//
// Where a set is worth less than one of its members alone, a plan could let the
// others wait inside the set. The methods search over such plans too (the
// values are closed under taking subsets) but never write them down: a task
// that would wait is in no set and has a Reason. Residents never wait.
//
// # Labels, homes and gangs
//
// Labels (Task.Avoid, Only, On) remove sets. A Home adds to the value of the sets
// with which the task stays there,
//
//	W(g, S) + Σ weight(i)·pace(i, g)·MoveCost(i)  for i ∈ S with home(i) = g
//
// so that a plan moves a running task if that gains more than MoveCost. Sets of
// gangs of size w take w GPUs of one type; their constraint in the dual is
// Σ u(i: i ∈ S) + w·λ >= W(S), and the sum of w·x(S) over a type is at most its
// number of GPUs. Matching and ColumnGen of package solve prove such bounds.
//
// # Resolution
//
// Values are rounded, task by task, to 2^-20 of the largest weight times pace
// rounded up to a power of two: what runs at a hundredth of the highest pace is
// rounded to a hundredth of a per cent of what it does. All sums of values are then exact, so that neither the order of
// the input nor the compiler's choice of instructions changes a result, and the
// matching works on integers. Residents count for the largest weight, and those
// tasks that some GPU has the labels, the memory and the seat for, and enough of
// its kind; a task that fits nowhere changes nobody's values. A task that runs is
// worth one unit at least: one whose weight times pace times speed is below 2^-20 of the
// largest counts as that much, and two such tasks count the same. Where rounding
// makes plans equal, weights before rounding decide: no task waits while a lighter
// one runs whose place it could take at the same value in units and a higher one
// before. This is looked after where the lighter one is worth less than 16 units, or
// its weight is within two units of the other's, 65,536 times in a plan at most.
//
// # Order
//
// Methods work on tasks and GPUs by ID: reordering the input reorders the
// output and changes nothing else. Remaining ties go to the lower ID.
//
// # Concurrency
//
// Methods keep no state and modify nothing they are given. They call the Model
// from the caller's goroutine only.
//
// # References
//
//   - Edmonds, Maximum matching and a polyhedron with 0,1-vertices, 1965,
//     doi:10.6028/jres.069B.013.
//   - Farley, A note on bounding a class of linear programming problems, 1990,
//     doi:10.1287/opre.38.5.922: a bound from any prices.
//   - Smith, Winkler, The optimizer's curse, 2006, doi:10.1287/mnsc.1050.0451: why
//     the plan that looks best was over-estimated.
//   - Li et al., MISO: exploiting multi-instance GPU capability, SoCC 2022,
//     doi:10.1145/3542929.3563510.
//   - Narayanan et al., Heterogeneity-aware cluster scheduling policies for
//     deep learning workloads (Gavel), OSDI 2020, arXiv:2008.09213: pair
//     throughputs as the input of an optimisation.
package packer
