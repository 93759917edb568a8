// Package backlog is the queue itself: which task may start next, and the file in
// which all of them survive the runner.
package backlog
