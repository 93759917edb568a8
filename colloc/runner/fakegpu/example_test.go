package fakegpu_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/runner/fakegpu"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "fakegpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "gpus.json")
	if err := os.WriteFile(file, []byte(`{"gpus": [{"name": "A100-40GB"}, {"name": "RTX 3090", "foreign": "2GiB"}]}`), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	source, err := fakegpu.Open(file, filepath.Join(dir, "uses"))
	if err != nil {
		fmt.Println(err)
		return
	}
	devices, err := source.Devices(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range devices {
		fmt.Println(d.ID, d.Name, d.Memory)
	}
	// Output:
	// GPU-fake-0 A100-40GB 40 GiB
	// GPU-fake-1 RTX 3090 24 GiB
}
