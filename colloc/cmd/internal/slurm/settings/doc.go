// Package settings is the section "slurm" of a sweep file: how its tasks are to run
// on a cluster, and which of the cluster's nodes and GPUs suit them.
package settings
