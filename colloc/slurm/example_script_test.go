package slurm_test

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/profile"
)

// tasks are two that share a GPU in the examples.
func tasks() []slurm.Task {
	return []slurm.Task{
		{Name: "resnet", Command: []string{"python", "train.py", "--model", "resnet50"}, CPUs: 4, Memory: 16 * profile.GiB},
		{Name: "bert", Command: []string{"python", "bert.py", "it's bert"}, CPUs: 2, Memory: 8 * profile.GiB},
	}
}

// A plan becomes a script: the tasks that share a GPU start with the same one,
// each with its share of its memory to respect.
func ExampleScript() {
	plan := &colloc.Plan{Placements: []colloc.Placement{{
		GPU: "g1/0", Mechanism: profile.TimeSlice,
		Members: []colloc.Member{{Task: "resnet", Reserved: 12 * profile.GiB}, {Task: "bert", Reserved: 20 * profile.GiB}},
	}}}
	job, err := slurm.Script(plan, tasks(), &slurm.Options{Request: slurm.Request{Name: "pair", Time: time.Hour}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := job.Text()
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(text) {
		for _, part := range []string{"#!", "#SBATCH", "  exec -- python", "COLLOC_GPU_MEMORY_MIB", "start \"$logs\""} {
			if strings.Contains(line, part) {
				fmt.Print(line)
			}
		}
	}
	// Output:
	// #!/bin/bash
	// #SBATCH --job-name=pair
	// #SBATCH --nodes=1
	// #SBATCH --ntasks-per-node=1
	// #SBATCH --cpus-per-task=6
	// #SBATCH --mem=24576M
	// #SBATCH --gres=gpu:1
	// #SBATCH --time=01:00:00
	//   export COLLOC_GPU_MEMORY_MIB=12288
	//   exec -- python train.py --model resnet50
	//   export COLLOC_GPU_MEMORY_MIB=20480
	//   exec -- python bert.py 'it'\''s bert'
	// start "$logs"-0-resnet.log resnet task_0 "${gpus[0]}"
	// start "$logs"-1-bert.log bert task_1 "${gpus[0]}"
}

// The header of a script in which two tasks share a GPU under MPS.
func ExampleShared() {
	set := slurm.Set{Mechanism: profile.MPS, Tasks: tasks()}
	job, err := slurm.Shared([]slurm.Set{set}, &slurm.Options{Request: slurm.Request{
		Partition: "gpu", Gres: []slurm.Gres{{Name: "gpu", Type: "a100"}}, // as many as there are sets
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	header, err := job.Request.Header()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(header)
	// Output:
	// #SBATCH --partition=gpu
	// #SBATCH --nodes=1
	// #SBATCH --ntasks-per-node=1
	// #SBATCH --cpus-per-task=6
	// #SBATCH --mem=24576M
	// #SBATCH --gres=gpu:a100:1
}

// A sweep of 300 sets, of which 16 run at a time.
func ExampleArray() {
	sets := make([]slurm.Set, 300)
	for i := range sets {
		sets[i].Tasks = []slurm.Task{{Name: fmt.Sprint("seed-", i), Command: []string{"python", "train.py", fmt.Sprint("--seed=", i)}}}
	}
	job, err := slurm.Array(sets, &slurm.Options{Limit: 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.Request.Array)
	// Output: 0-299%16
}

// Steps that add up to more than the job asks for would wait for one another:
// that is an error.
func ExampleSteps() {
	request := slurm.Request{CPUsPerTask: 5}
	_, err := slurm.Steps(tasks(), &slurm.Options{Request: request})
	fmt.Println(err)
	// Output: slurm: request: CPUsPerTask is 5, but the tasks need 6: leave it 0 or raise it
}

func ExampleDistributed() {
	gang := slurm.Gang{
		Task:  slurm.Task{Name: "llm", Command: []string{"train.py", "--fsdp"}, CPUs: 32},
		Nodes: 2, GPUs: 4,
	}
	job, err := slurm.Distributed(gang, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(job.Body) {
		if strings.Contains(line, "torchrun") || strings.HasPrefix(line, "start ") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Output:
	// exec -- torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id="$SLURM_JOB_ID" --rdzv_endpoint="$MASTER_ADDR:$MASTER_PORT" train.py --fsdp
	// start "$logs"-0-llm.log llm step task_0 '' --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=32 --kill-on-bad-exit=1 --gres=gpu:4
}

// A task that was measured on up to eight GPUs, and a site with nodes of four.
func ExampleAdvise() {
	cluster := slurm.Cluster{
		Partitions: []slurm.Partition{{Name: "gpu", Default: true, MaxTime: 24 * time.Hour}},
		Nodes: []slurm.NodeType{
			{Count: 8, Partitions: []string{"gpu"}, CPUs: 64, Memory: 512 * profile.GiB, GPU: "a100", GPUs: 4},
		},
	}
	advice, err := slurm.Advise(slurm.Need{
		Scaling: []advise.ScalingPoint{
			{GPU: "a100", GPUs: 1, Throughput: 100},
			{GPU: "a100", GPUs: 2, Throughput: 190},
			{GPU: "a100", GPUs: 4, Throughput: 350},
			{GPU: "a100", GPUs: 8, Throughput: 430},
		},
		Work:      350 * 3600 * 2, // samples
		GPUMemory: 22 * profile.GiB,
	}, cluster)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(advice)
	// Output:
	// # communication-bound: beyond 4 GPUs each more would add 20 %; without a profile, slow input cannot be told from it
	// # partition gpu: the default
	// #SBATCH --partition=gpu
	// # one node: no network between the GPUs
	// #SBATCH --nodes=1
	// #SBATCH --ntasks-per-node=1
	// # 16 CPUs for each GPU: the GPU's share of 64 on the node
	// #SBATCH --cpus-per-task=64
	// # 128 GiB for each GPU: the GPU's share of 512 GiB on the node
	// #SBATCH --mem=524288M
	// # 4 x a100: throughput 350, 88 % efficient; with 8 each more GPU would add only 20 %
	// # device memory: 22 GiB are needed of 40 GiB
	// #SBATCH --gres=gpu:a100:4
	// # expected 2h0m0s, half as much again in reserve
	// #SBATCH --time=03:00:00
}
