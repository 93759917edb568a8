// Package wire is how colloc's servers speak JSON over HTTP: they read requests strictly,
// and an answer that is no answer is an [Error], with what is wrong, where, and what to do.
package wire
