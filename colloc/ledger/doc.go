// Package ledger keeps the books for schedulers that run at the same time: which
// task holds how much memory of which GPU, and who shares it. A scheduler decides
// on a [Snapshot] and then writes its decision in three steps:
//
//	books, err := ledger.New(ledger.Config{GPUs: gpus, Now: time.Now})
//	...
//	now := books.Snapshot()
//	plan, err := planner.Plan(ctx, tasks, now.GPUs) // or Fit and Score
//	claims, err := ledger.Claims(plan, tasks)
//	lease, err := books.Reserve(now.Version, claims...)
//	... start the tasks ...
//	err = books.Commit(lease) // or Rollback(lease)
//	... a task ends ...
//	err = books.Release(taskID)
//
// [Ledger.Reserve] takes all its claims or none; a gang is one call with one
// claim per GPU: one task that says how many it takes, or workers with IDs of
// their own. It never promises more of a GPU than
//
//	(1 - headroom) total - foreign,
//
// where foreign is the memory that [Ledger.Reconcile] found in use by processes
// that nobody registered, and a task counts with the larger of what it reserved
// and what it was seen to use. It never lets more tasks than MaxSet share a GPU,
// nor any task with one that must be alone.
//
// Concurrency is optimistic: planning takes no lock. A reservation whose
// snapshot is out of date is refused with [ErrConflict] if a task joined one of
// its GPUs since, because the speeds were predicted without it; what happened
// elsewhere does not matter, and neither does a task that left. The refused
// scheduler takes a new snapshot and decides again.
//
// A lease that is not committed in time falls back. Time is the sum of the
// forward steps of the clock: a clock that is set back neither extends a lease
// nor brings one back, a clock that leaps forward ends leases early, which is
// safe. [Lease] values are fencing tokens: a scheduler that comes late with an old
// one gets [ErrLeaseOver] and cannot touch what was reserved since, nor can one from
// before a restart: see [Epoch]. After a restart [Ledger.Book] enters what runs.
//
// Cards come and go with [Ledger.AddGPU] and [Ledger.RemoveGPU].
package ledger
