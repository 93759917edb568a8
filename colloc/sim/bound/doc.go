// Package bound says how good a day could have been: a time that no policy comes below,
// whatever it knows, proven.
//
//	b, err := bound.Find(ctx, cluster, tasks, bound.Options{Truth: truth})
//	if err != nil {
//		return err
//	}
//	gap := result.MeanJCT.Seconds()/b.MeanJCT.Seconds() - 1
//
// # What is bounded
//
// Makespan and mean completion time of every policy that puts at most
// [Options].MaxSet tasks on a GPU, of whole cards, such that their memory fits. It may know
// everything, stop and move tasks at no cost, cut time as finely as it likes, and run the
// GPUs of a gang at different times. Of what a machine adds only one start-up of each task
// counts. What the first part of a set does that exceeds the memory, until a task of it
// dies, does not count either.
//
// # How it is proven
//
// By prices, those of a linear program over sets and time. Task i comes at a(i), needs the
// work W(i) on each of G(i) GPUs, does it at a rate of v(i) at most, and weighs u(i). Let
// β(τ, t) >= 0 be what work of a task of kind τ is worth at time t, and μ(τ) >= 0 what it
// costs that such a task is on a GPU. A GPU earns no more than its best set,
//
//	γ(t) = max over S of Σ over i in S of (speed(i, S)·β(τ(i), t) − μ(τ(i))),
//
// and the work is done, so that for all numbers α(i), and 0 <= λ(i) <= u(i) − G(i)·μ(τ(i)),
//
//	Σ u(i)·C(i) >= Σ α(i)·W(i) − Σ v(i)·∫ max(0, α(i) − G(i)·β(τ(i), t) − λ(i)·t/W(i)) dt − Σ over GPUs ∫ γ(t) dt
//	             + Σ λ(i)·W(i)/(2·v(i)) + G(i)·μ(τ(i))·a(i) + (u(i) − λ(i) − G(i)·μ(τ(i)))·e(i),
//
// where e(i) is the earliest end of the task, were it alone. It rests on three facts: a task
// ends no sooner than in the mean it works, and half its work at the highest rate (Queyranne
// 1993, Goemans 1997, for scheduling without sharing); no sooner than it was on GPUs since
// it came; and no sooner than e(i). A makespan follows in the same way with λ = μ = 0.
//
// Prices that run straight from one moment to the next make all of it finite: γ is convex
// between two moments, so that its ends bound it. [Certificate.Verify] knows nothing of how
// prices are found: any give a valid bound, bad ones a low one. It prices every set itself,
// and rounds against itself at each step.
//
// Where all tasks weigh the same a second proof counts if it proves more. With prices of work
// that stay, a GPU earns γ in a second at most, whatever it runs: so all of them do no more tasks
// by any time than one machine that earns as much as they do together, and there nobody does
// more than who runs the task of which least is left (Schrage 1968). The first, the second, …
// task ends no sooner than the first, the second, … there, or alone.
//
// Start-ups: a task makes no progress for Startup, but holds its place in a set, where it
// would have worked at its least speed or more: so much is added to its work. That holds for
// all policies where every start costs the start-up; see [Options].FreeStarts.
//
// # What holds for what
//
// Every bound holds for policies that know everything and stop at no cost, so for all others. A
// start-up is counted once for each task, which makes the bound tighter than that of a day on
// which starts are free. For policies that stop nothing, and for those that do not know lengths,
// nothing tighter is proven: programs of this kind know how much of a task is done in a part of
// the day, not that it goes on without a break, nor who knew of it. What that leaves open is
// measured on days so small that all can be tried (go test ./colloc/sim/bound -run Tiny -v): the
// best day without stops lies 2 % above the bound in makespan and 9 % in mean completion.
package bound
