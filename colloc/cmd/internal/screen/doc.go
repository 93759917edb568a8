// Package screen shows a sweep while it runs, as lines, as a table on a terminal, as
// JSON Lines or as Prometheus metrics, and reports in the end.
package screen
