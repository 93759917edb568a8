// Package shadow runs a Planner beside a scheduler that it does not touch: it decides,
// records, and changes nothing. Before a site lets colloc decide it wants to know what
// would have been different, and whether predictions hold there.
//
//	s, err := shadow.New(shadow.Config{Planner: planner})
//	...
//	decision, err := s.Waiting(ctx, now, queue, gpus) // what waits, and what runs where
//	err = s.Started(now, task, gpus...)               // what the site did
//	err = s.Seen(observation)                         // what was measured
//	s.Ended(now, task.ID, died)
//	...
//	fmt.Print(s.Report())
//
// Nothing here starts, stops or reserves, and no call waits for anything but the
// planner's own work. Whatever adapter feeds a Planner can feed a [Shadow]: the calls
// are those of one scheduling round, in the words of package colloc.
//
// # What the report can tell
//
// Predictions are compared with what was measured of the sets that the site made. What
// the sets would have reached that colloc would have made nobody knows: of these the
// report counts how they differ, and how long before the site each task could have
// started, each taken by itself, with all others as the site had them.
package shadow
