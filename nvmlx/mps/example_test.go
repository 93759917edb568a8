package mps_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

func ExampleShare_Env() {
	share := mps.Share{Device: "GPU-7c1a", Threads: 0.5, Memory: 16 * profile.GiB}
	env, err := share.Env()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, variable := range env { // append them to exec.Cmd.Env
		fmt.Println(variable)
	}
	// Output:
	// CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps
	// CUDA_VISIBLE_DEVICES=GPU-7c1a
	// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50
	// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=16384M
}

func ExampleMaxClients() {
	gpu := nvmlx.DeviceInfo{Name: "NVIDIA H100 80GB HBM3"}
	fmt.Println(mps.MaxClients(nvmlx.SystemInfo{CUDA: "13.0"}, gpu), mps.MaxClients(nvmlx.SystemInfo{CUDA: "13.1"}, gpu))
	// Output:
	// 48 60
}

// A daemon of one's own for one GPU, and a task beside it. Where one runs already, as a
// system service, tasks only need its folder.
func ExampleStart() {
	ctx := context.Background()
	if mps.Running(mps.PipeDir(os.Environ())) {
		fmt.Println("the machine's own daemon is used")
		return
	}
	daemon, err := mps.Start(ctx, mps.Config{PipeDir: "/tmp/colloc-mps-gpu0", Devices: []nvmlx.DeviceID{"GPU-7c1a"}})
	if err != nil {
		fmt.Println(err) // nvidia-cuda-mps-control is not there, say
		return
	}
	defer func() { _ = daemon.Stop(ctx) }()
	env, err := daemon.Env(mps.Share{Device: "GPU-7c1a", Threads: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	task := exec.Command("python", "train.py")
	task.Env = append(os.Environ(), env...)
	fmt.Println(task.Run())
}
