// Package learned keeps what colloc slurm watch learned, in a folder that plan reads.
package learned
