// Package colloc decides which GPU training tasks should share a GPU. It is the
// facade that a scheduler embeds; the stages behind it are packages profile,
// predict and packer.
//
// A [Planner] answers three questions about a [Task], described by its
// [profile.Profile], and a [GPU] with the tasks that already run there:
//
//   - [Planner.Fit], the filter step of a scheduler: may the task run there
//     without exceeding memory or slowing anyone beyond its limit?
//   - [Planner.Score], the score step: how much throughput would it add?
//   - [Planner.Plan], the whole round: which tasks share which GPU, with the
//     predicted speed and the reserved memory of each, and a proven bound on
//     what any plan could reach.
//
// [Planner.Best] asks Fit and Score about many GPUs, and [Planner.Scheduler] starts a
// scheduler for tasks that come and go. [Planner.Observe] feeds a measured co-run back, so that the next answer for
// tasks like these is better.
//
// Memory is reserved as an upper bound at a chosen risk, see [Config].Risk, and a
// part of each GPU, the headroom, stays free. A speed is a fraction of the speed
// that the task has alone on the same kind of GPU, a pace the speed that it has there
// alone relative to a reference card; what a set is worth is the sum over its tasks of
// weight, pace and speed multiplied. Every number that was predicted is a [predict.Estimate] and says how far it can be trusted.
//
// That a task does not fit is an answer, not an error: a [Verdict] or a
// [packer.Reason] names the binding limit. Errors are for input that cannot be
// understood. No call panics on data.
//
// Beside it stand package ledger, which keeps the books for schedulers that run
// at the same time, and package advise, which says what holds a task back.
//
// A Planner is safe for concurrent use. Fit and Score allocate nothing once warm.
package colloc
