// Package cluster is what there is of a cluster and who is where: nodes and their cards,
// pods of ours with what was decided for them, and what pods and claims of others take.
// Pods carry their decisions whether a card is there or not. It decides nothing and locks
// nothing; [Bounds.Takes] says whether a card takes those who are put there.
package cluster
