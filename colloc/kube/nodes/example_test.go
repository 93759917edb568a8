package nodes_test

import (
	"fmt"

	"example.com/colloc/colloc/kube/nodes"
)

func Example() {
	node := labelled("gpu.product", "NVIDIA-A100-SXM4-40GB", "gpu.memory", "40960", "gpu.count", "2", "gpu.replicas", "4")
	var r nodes.Reader
	cards, _ := r.Cards(node, nil)
	for _, c := range cards {
		fmt.Println(c.GPU.ID, c.GPU.Model.Name, c.GPU.Memory, c.Address)
	}
	// Output:
	// n1/gpu-0 A100-40GB 40 GiB 0
	// n1/gpu-1 A100-40GB 40 GiB 1
}
