// Package slurm brings plans to a Slurm cluster and what happened there back.
//
// Three ways lead from a plan to GPUs that are shared, from the one that needs
// nothing of the site to the one that needs most:
//
//   - script.Shared writes one batch job in which the tasks of a set are processes on the
//     same GPU, by turns or under an MPS daemon of their own. Any site and any version
//     will run it.
//   - A [Client] submits each task as a job of its own that asks for shards of a
//     GPU (gres/shard). Where the administrator gave each GPU of a node a type of
//     its own, the job names the GPU; otherwise Slurm chooses.
//   - A job_submit plugin asks a program which decides: see job_submit.lua
//     beside this file, and colloc slurm decide, which it calls.
//
// Package script writes the jobs, package site reads what a cluster has and what
// goes on there, package sizing says what to ask for.
//
// # The cluster's state
//
// [Client] reads the commands' JSON as Slurm 22.05 writes it and as 23.02 to
// 25.05 do, or talks to slurmrestd. What is free of a shared GPU it computes
// from the jobs, because Slurm's own count is of GPUs.
package slurm
