package interleave

import (
	"context"
	"strconv"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// Matcher finds maximum-weight matchings by [solve.Matching].
type Matcher struct {
	tasks []packer.Task
	gpus  []packer.GPU
}

// Pairs returns the partner of each of n nodes, or -1, such that the sum of
// weights is largest. Only pairs of positive weight are formed.
func (m *Matcher) Pairs(n int, weight func(i, j int) float64) ([]int, error) {
	partner := make([]int, n)
	for i := range partner {
		partner[i] = -1
	}
	if n < 2 {
		return partner, nil
	}
	for i := len(m.tasks); i < n; i++ {
		m.tasks = append(m.tasks, packer.Task{ID: strconv.Itoa(i), Memory: 1})
		m.gpus = append(m.gpus, packer.GPU{ID: strconv.Itoa(i), Memory: 4})
	}
	p := &packer.Problem{Tasks: m.tasks[:n], GPUs: m.gpus[:n/2], Model: matchModel(weight), Limits: packer.Limits{MaxSet: 2}}
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		return nil, err
	}
	for _, set := range s.Sets {
		if len(set.Tasks) == 2 {
			i, j := set.Tasks[0], set.Tasks[1]
			partner[i], partner[j] = j, i
		}
	}
	return partner, nil
}

// matchModel makes the value of a pair its weight and that of one node nothing.
type matchModel func(i, j int) float64

// Speeds implements [packer.Model].
func (w matchModel) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	if len(set) == 1 {
		dst[0] = 0
		return nil
	}
	i, err := strconv.Atoi(set[0].ID)
	if err != nil {
		return err
	}
	j, err := strconv.Atoi(set[1].ID)
	if err != nil {
		return err
	}
	dst[0] = w(i, j) / 2
	dst[1] = dst[0]
	return nil
}
