package sizing_test

import (
	"fmt"
	"time"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
	"example.com/colloc/profile"
)

func ExampleAdvise() {
	cluster := site.Cluster{
		Partitions: []site.Partition{{Name: "gpu", Default: true, MaxTime: 24 * time.Hour}},
		Nodes: []site.NodeType{
			{Count: 8, Partitions: []string{"gpu"}, CPUs: 64, Memory: 512 * profile.GiB, GPU: "a100", GPUs: 4},
		},
	}
	advice, err := sizing.Advise(sizing.Need{
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
