// Package script writes batch scripts for Slurm: what a job asks for and what it
// runs. [Shared] puts tasks that share a GPU into one job, [Array] into
// a job array; [Steps] and [Distributed] are for tasks that share nothing.
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
package script
