package packtest

import (
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Duo slows both tasks of a pair to the speed given for their IDs.
type Duo map[string]float64

// Speeds implements packer.Model.
func (d Duo) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	dst[0] = 1
	if len(set) == 2 {
		dst[0] = max(d[set[0].ID+set[1].ID], d[set[1].ID+set[0].ID])
		dst[1] = dst[0]
	}
	return nil
}

// Even slows every member of a set to the same speed, set by the set's size.
type Even []float64

// Speeds implements packer.Model.
func (e Even) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = e[min(len(set), len(e))-1]
	}
	return nil
}
