// Package solo says what was seen of a run of a task that had its GPU to itself: in task
// files, and to people. Package colloc/internal/solo watches.
package solo
