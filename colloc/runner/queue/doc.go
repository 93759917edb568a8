// Package queue is what a task is and what is known of it: the words that a
// runner's queue file, its events and programs beside it have in common.
//
// Package runner gives all of it under its own name; who only reads and writes
// tasks and records, as a client of a program that runs them, needs no more
// than this package.
package queue
