// Package trees boosts regression trees: [Fit] makes an [Ensemble] of rows and
// targets, [Pruned] answers many questions that share their first or last columns.
package trees
