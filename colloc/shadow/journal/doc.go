// Package journal keeps what somebody who looks on saw of a site, round by round, in a
// file that grows at its end and never beyond a bound.
//
//	w, err := journal.Open("shadow.jsonl", 0)
//	err = w.Write(&journal.Snapshot{At: now, GPUs: gpus, Jobs: jobs})     // each round
//	damage, err := journal.Read("shadow.jsonl", func(s *journal.Snapshot) error { ... })
//
// # The file
//
// It is JSON Lines: a header, then one line a round, which holds what changed since the last. Every
// 64th line, and the first after Open, holds all. A line that was cut off, because the
// process was killed or the disk was full, is taken off when the file is opened again, and
// one that is damaged costs what changed until the next that holds all. When the file is
// half as large as the bound it is renamed to NAME.old, in the place of the one before: the
// oldest is forgotten.
package journal
