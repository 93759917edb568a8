// Package files reads and writes what colloc slurm keeps beside a sweep.
package files
