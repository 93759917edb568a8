// Package slurm is the command colloc slurm. It brings a sweep of training tasks to
// a Slurm cluster so that tasks which get along share a GPU, and learns from how they ran.
//
//	colloc slurm new    -gpus 4 -- python train.py
//	colloc slurm plan   -sweep sweep.json
//	colloc slurm submit -sweep sweep.json -dry-run
//	colloc slurm submit -sweep sweep.json
//	colloc slurm submit -sweep sweep.json -wait
//	colloc slurm add    sweep.json -- python train.py --lr 0.3
//	colloc slurm watch  -sweep sweep.json
//	colloc slurm advise -point a100:1=210 -point a100:2=400
//	colloc slurm decide -decisions decisions.json TASK
//
// new writes a sweep file, add puts tasks into it, also while it runs. plan reads the tasks and the state of the cluster and prints who should share
// which GPU, with predicted speeds and the reason for each task that waits or
// runs alone. submit does the same and submits, and with -wait
// stays until every task is over. watch follows the jobs, compares
// the predicted speeds with those seen, and saves what it learned for the next
// plan. advise says what a measured task should ask for. decide answers the plugin job_submit.lua, which puts jobs that users
// submit themselves where the plan wants them.
//
// It needs Slurm's commands on PATH and whatever rights the user has. Every
// subcommand explains itself with -h.
//
// Exit status: 0 on success, 1 when Slurm or a task failed, 2 for input that is
// wrong.
package slurm
