// Package taskfile reads and writes task files: what is known of tasks, for
// whoever plans them. colloc profile writes one; quickstart, describe, sweep,
// slurm and simulate read it.
//
// A task file is JSON. Unknown keys are errors; every key but format, version and
// tasks may be absent, and what is absent is not known:
//
//	{
//	  "format": "colloc-tasks", "version": 1, "about": "what these are",
//	  "tasks": [{
//	    "id": "bert-1",
//	    "model": {"name": "bert", "layers": [...]}, "dataset": {"samples": 25000},
//	    "training": {"batch_size": 8, "optimizer": "adam", "precision": "fp32"},
//	    "solo": {"gpu": "A100-40GB", "gpu_busy": 0.89, "mem_used": "9.5GiB", "step_time": "120ms"},
//	    "command": ["python", "train.py"]
//	  }]
//	}
//
// model, dataset, training, traced and warnings are those of a [profile.Spec], as
// colloc describe -spec prints it. In place of the layers, model_file names a file
// that package modelfile reads, relative to the task file. solo is what was seen
// of the task alone on a GPU, see [Solo]; missing is what is not known and how to
// get it; elsewhere is a list of what was seen of it on other products, each a [Solo].
//
// What a plan must respect is as in [colloc.Task], each with 0, false or "" for its
// default: weight, priority, max_slowdown, alone, labels, avoid, only, on, home,
// move_cost, kind, gpus and reserved. How the task runs is command, env, dir, cpus,
// memory and time.
// Settings of one tool stand beside the tasks under its name, as "slurm" does.
//
// # Other forms
//
// Also read are a list of tasks without format and version, as people write it by hand,
// with the settings of colloc slurm at its top; and a single [profile.Spec], as colloc
// describe -spec and the exporter for PyTorch write it. A version that is not known is refused.
package taskfile
