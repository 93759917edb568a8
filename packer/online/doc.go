// Package online packs tasks as they come and go: a [Session] puts each arriving task
// where it adds most, lets it wait if that is better, starts those that wait as GPUs
// become free, and moves running tasks when it is told to.
//
//	s, err := online.NewSession(gpus, model, packer.Limits{}, nil)
//	if err != nil {
//		return err
//	}
//	d, err := s.Arrive(packer.Task{ID: "bert", Memory: 9 * profile.GiB})
//	if err == nil && d.Placed {
//		fmt.Println("start bert on", d.GPU, "by", d.Mechanism)
//	}
//	started, err := s.Finish("bert")        // what takes its place
//	moves, err := s.Rebalance(ctx, 4)       // four moves at most
//
// What a set is worth is said in package packer: the sum of weight times pace times speed. A
// task t joins set S on GPU g if
//
//	W(g, S + t) - W(g, S) >= threshold · weight(t) · speed(t alone on g)
//
// and goes where the left side is largest. An arrival costs O(GPUs · MaxSet²), and
// allocates nothing once the session has seen as many tasks at once.
//
// A [Scheduler] knows time as well: told how long tasks still run, it plays the rest of
// the day under one rule after the other, and starts what the best of them starts, but
// for single tasks that had better go elsewhere.
package online

// A Session and a Scheduler call nothing of each other, and share what a [Decision] is, how
// GPUs are grouped (class), what is wrong with GPUs (check), the threshold and the errors.
// Of the Scheduler are books.go (who runs where and waits), memory.go (what is reserved), cluster.go
// and tasks.go (what it is told), decide.go (a decision), ahead.go
// (which rule is best), why.go (why a task waits) and scheduler.go. All
// others are of the Session.
