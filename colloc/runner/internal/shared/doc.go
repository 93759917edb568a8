// Package shared is the book that the runners of one user on one host keep together:
// what each has reserved on which GPU, so that none takes for free what another
// one's task has not allocated yet.
package shared
