// Package simulated plays a GPU and the workloads on it, so that all the rest can be tried
// and tested on any machine: processes, pipes and faults are real, time and counters are
// made up.
package simulated
