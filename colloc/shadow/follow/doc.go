// Package follow plans beside a site, round by round, from a journal of what was seen there.
//
//	f, err := follow.New(follow.Config{})
//	plan, err := f.Take(ctx, snapshot)             // what colloc would do now
//	...
//	report, err := follow.Report(ctx, "shadow.jsonl", follow.Config{})
//	fmt.Print(report)
//
// What a job does with its GPU is known of its kind only, the earlier jobs of its user with its name,
// numbers aside. So it is with predictions, which are compared with what the job then did. A
// report has two halves: what [shadow.Report] says of starts and predictions, each by
// itself, and what [gain.Replay] says that sharing would have gained all in all.
package follow
