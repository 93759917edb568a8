// Package history predicts tasks from those of their kind that came before them on the
// same day, as a scheduler does that nobody tells lengths and memory:
//
//	h := history.New(tasks)
//	result, err := sim.Run(ctx, cluster, tasks, policy, sim.Options{Length: h.Length, Reserve: h.Memory(guess), OnEvent: h.Note})
//
// A History follows one run and is for that run only.
package history
