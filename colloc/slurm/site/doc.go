// Package site is what a Slurm cluster has and what is going on there: nodes,
// GPUs, partitions and jobs, read from what Slurm 22.05 to 25.05 prints or answers.
//
// Each source has one reader: [ParseJobs] for squeue --json and slurmrestd,
// [ParseAccounting] for sacct --json, [ParseNodes] for sinfo --json and slurmrestd,
// [ParsePartitions] for scontrol show partition. What is free of a shared GPU,
// [State.Devices] computes from the jobs, because Slurm's own count is of GPUs.
package site
