package fleet_test

import (
	"fmt"

	"example.com/colloc/packer/fleet"
)

func ExampleFleet() {
	// Whole GPUs are asked for as often as halves.
	past := []fleet.Demand{{CPU: 4000, GPUs: 1}, {CPU: 4000, GPUs: 1, Share: 500}}
	mix, err := fleet.Mix(past, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes := []fleet.Node{{ID: "n0", CPU: 32000, GPUs: 2}, {ID: "n1", CPU: 32000, GPUs: 2}}
	f, err := fleet.New(nodes, mix, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		slot, ok, err := f.Place(fleet.Demand{CPU: 4000, GPUs: 1, Share: 500})
		fmt.Println(nodes[slot.Node].ID, slot.GPUs, ok, err)
		fmt.Printf("%.2f GPUs are no use to the next task\n", f.Unusable())
	}
	// Output:
	// n0 [0] true <nil>
	// 0.25 GPUs are no use to the next task
	// n0 [0] true <nil>
	// 0.00 GPUs are no use to the next task
}
