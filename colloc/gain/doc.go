// Package gain says what sharing GPUs would have gained a site, from what the site wrote
// down of its own past.
//
//	log, err := records.ReadFile("sacct.txt", nil)
//	report, err := gain.Replay(ctx, log.Jobs, gain.Options{})
//	fmt.Print(report)
//
// The jobs are replayed twice on the GPUs that they had, by the same scheduler, short
// ones first: once each on GPUs of its own, and once with sharing where
// colloc would let them. The difference is the gain; what the site's own scheduler did with
// priorities and reservations is in neither of the two, and stands beside them.
//
// # What is assumed
//
//   - A job stays on the product that it ran on, and as long as it did; jobs that ran in one
//     partition, or on one node, could have run wherever these did.
//   - How fast jobs run together is predicted from what was observed: how busy they keep
//     the GPU, and the memory that they take. A job that nobody watched is taken to be as
//     others of its user with its name; failing that it runs alone, or is as Options.Prior says.
//   - The first job of a kind runs alone, as nothing is known of it yet. A job that takes
//     more memory than 95 % of its kind may die beside others and start again.
//   - Nothing is stopped or moved once it runs.
//
// # The interval
//
// Every replication has another world within the prediction's own interval, see
// [speed.Drawn], other arrivals and lengths, and, of a long history, another part of it. Within each, stretches
// of time are drawn with replacement (a block bootstrap: Künsch 1989,
// doi:10.1214/aos/1176347265). The interval holds 95 % of what comes of that. It does not hold what
// is assumed.
package gain
