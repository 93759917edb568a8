// Package decisions is how job_submit.lua learns where a plan wants a task: a file of each
// user, written by colloc slurm plan and read by colloc slurm decide. A decision holds for
// minutes only, for its author's jobs only, and never longer than the site's configuration.
package decisions
