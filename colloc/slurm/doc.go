// Package slurm brings plans to a Slurm cluster and what happened there back.
//
// Three ways lead from a plan to GPUs that are shared, from the one that needs
// nothing of the site to the one that needs most:
//
//   - [Script] writes one batch job, or a job array, in which the tasks of a set
//     are processes or overlapping job steps on the same GPU, by turns or under an
//     MPS daemon of their own. Any site and any version will run it.
//   - A [Client] submits each task as a job of its own that asks for shards of a
//     GPU (gres/shard). Where the administrator gave each GPU of a node a type of
//     its own, the job names the GPU; otherwise Slurm chooses.
//   - A job_submit plugin asks a program which decides: see job_submit.lua
//     beside this file, and colloc slurm decide, which it calls.
//
// [Steps] and [Distributed] write scripts for tasks that share nothing, and
// [Advise] says what to ask for.
//
// # Scripts
//
// What a script is given, names, arguments, variables, folders, its tasks
// receive byte for byte; NUL alone is refused. The header cannot be quoted:
// there, what is not plain text is an error that names the field. Scripts need
// bash 4.3 or later, and contain no secrets unless a task's Env does.
//
// A script passes TERM, INT and USR1 on to its tasks, waits for each of them,
// and leaves nothing behind: what a task left running is told to stop and, after
// the 30 s that Slurm itself grants by default, killed. Processes that leave
// their process group, with setsid, are beyond it: there Slurm's cgroups see to
// the end.
//
// When a job is cancelled Slurm tells all of its processes, and so does the
// script: a task may see TERM twice.
//
// # The cluster's state
//
// [Client] reads the commands' JSON as Slurm 22.05 writes it and as 23.02 to
// 25.05 do, or talks to slurmrestd. What is free of a shared GPU it computes
// from the jobs, because Slurm's own count is of GPUs.
package slurm
