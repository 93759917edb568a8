// Package agenda says what comes next in a simulation: a heap of times by task,
// and queues of tasks, by priority, that may leave from anywhere.
package agenda
