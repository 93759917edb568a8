// Package slurm brings plans to a Slurm cluster: batch scripts in which tasks
// share GPUs, and advice on what to ask Slurm for.
package slurm
