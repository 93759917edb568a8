// Package solo watches a run of a task that has its GPU to itself, and makes of what it
// saw a description of tasks like it.
package solo
