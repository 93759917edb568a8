// Package corun keeps measured co-runs: what a fit reads of them and nothing more, in
// memory and in files. Like footprint it knows what a task is.
package corun
