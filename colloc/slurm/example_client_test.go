package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// place stands for a cluster: it answers every command with what was recorded of
// one, 22.05.8.
type place struct{}

func (place) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	files := map[string]string{"squeue": "squeue.json", "sinfo": "sinfo.json", "sacct": "sacct.json", "scontrol": "partitions.txt"}
	if file, ok := files[c.Args[0]]; ok {
		text, err := os.ReadFile("site/testdata/22.05/" + file)
		return slurm.Output{Stdout: text}, err
	}
	return slurm.Output{Stderr: []byte(c.Args[0] + ": error: Batch job submission failed: Invalid partition name specified\n"), Code: 1}, nil
}

func ExampleNewClient() {
	client := slurm.NewClient(slurm.Config{Runner: place{}}) // Config{} runs the commands
	state, err := client.State(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range state.Devices()[:3] {
		fmt.Printf("%s: %d of %d shards are free, jobs %v\n", d.ID(), d.Free(), d.Shares, d.Jobs)
	}
	// Output:
	// g1/0: 8 of 8 shards are free, jobs []
	// g1/1: 3 of 8 shards are free, jobs [1 4]
	// g1/2: 8 of 8 shards are free, jobs []
}

func ExampleClient_Submit() {
	client := slurm.NewClient(slurm.Config{Runner: place{}})
	job := &script.Job{
		Request: script.Request{Partition: "gpus", NodeList: "g1", Gres: []site.Gres{{Name: "shard", Type: "a100i1", Count: 4}}, Time: time.Hour},
		Body:    "exec python train.py\n",
	}
	_, err := client.Submit(context.Background(), job, nil)
	fmt.Println(errors.Is(err, site.ErrPartition))
	fmt.Println(err)
	// Output:
	// true
	// slurm: sbatch --parsable: unknown partition: Batch job submission failed: Invalid partition name specified
}

func ExamplePlace() {
	plan := &colloc.Plan{Placements: []colloc.Placement{{
		GPU: "g1/2", Mechanism: profile.TimeSlice,
		Members: []colloc.Member{{Task: "bert", Reserved: 20 * profile.GiB}, {Task: "resnet", Reserved: 10 * profile.GiB}},
	}}}
	client := slurm.NewClient(slurm.Config{Runner: place{}})
	state, err := client.State(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	placed, err := slurm.Place(plan, state.Devices(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range placed {
		fmt.Println(p.Task, "on", p.Request.NodeList, p.Request.Gres)
	}
	// Output:
	// bert on g1 [shard:a100i2:5]
	// resnet on g1 [shard:a100i2:3]
}
