// Package workload is one task that runs: the Python scripts that train and infer
// (scripts), a process of them, the lines that it speaks with this program, and the
// ways in which it ends.
package workload
