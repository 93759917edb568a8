// Package oom finds out whether a program ended because memory ran out: the GPU's,
// as its output tells, or the host's, as the kernel's counters do.
//
// Programs print that memory ran out and go on, with a smaller batch for one. What
// counts is how a program ended: a line that it survived, because it took further
// steps or because another exception ended it, is none.
package oom
