package script_test

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// tasks are two that share a GPU in the examples.
func tasks() []script.Task {
	return []script.Task{
		{Name: "resnet", Command: []string{"python", "train.py", "--model", "resnet50"}, CPUs: 4, Memory: 16 * profile.GiB},
		{Name: "bert", Command: []string{"python", "bert.py", "it's bert"}, CPUs: 2, Memory: 8 * profile.GiB},
	}
}

// Tasks that share a GPU start with the same one, each with its share of its memory to respect.
func ExampleJob_Text() {
	pair := script.Set{Mechanism: profile.TimeSlice, Tasks: tasks()}
	pair.Tasks[0].GPUMemory, pair.Tasks[1].GPUMemory = 12*profile.GiB, 20*profile.GiB
	job, err := script.Shared([]script.Set{pair}, &script.Options{Request: script.Request{Name: "pair", Time: time.Hour}})
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
	set := script.Set{Mechanism: profile.MPS, Tasks: tasks()}
	job, err := script.Shared([]script.Set{set}, &script.Options{Request: script.Request{
		Partition: "gpu", Gres: []site.Gres{{Name: "gpu", Type: "a100"}}, // as many as there are sets
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

// Steps that add up to more than the job asks for would wait for one another:
// that is an error.
func ExampleSteps() {
	request := script.Request{CPUsPerTask: 5}
	_, err := script.Steps(tasks(), &script.Options{Request: request})
	fmt.Println(err)
	// Output: slurm: request: CPUsPerTask is 5, but the tasks need 6: leave it 0 or raise it
}

func ExampleDistributed() {
	gang := script.Gang{
		Task:  script.Task{Name: "llm", Command: []string{"train.py", "--fsdp"}, CPUs: 32},
		Nodes: 2, GPUs: 4,
	}
	job, err := script.Distributed(gang, nil)
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
