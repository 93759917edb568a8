package session

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// capacity is a GPU's memory as packer counts it: limited, so that sums do not
// overflow.
func capacity(g *sim.GPUView) profile.Bytes { return min(g.Total, 1<<50) }

// Card describes a GPU to packer. Its labels name its machine.
func Card(g *sim.GPUView) packer.GPU {
	return packer.GPU{ID: strconv.Itoa(g.Index), Type: &g.Model, Memory: capacity(g), Labels: []string{nodeLabel(g.Node)}}
}

func nodeLabel(node int) string { return "node" + strconv.Itoa(node) }
