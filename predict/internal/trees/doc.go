// Package trees boosts regression trees: [Fit] makes an [Ensemble] of rows and
// targets, [Pruned] answers many questions that share their leading columns.
package trees
