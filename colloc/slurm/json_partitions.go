package slurm

import (
	"fmt"
	"slices"
)

// jsonPartition is a partition of slurmrestd: of 22.05 in the first fields, of
// later versions in the last two, which do not say which one is the default.
type jsonPartition struct {
	Name     text   `json:"name"`
	Flags    words  `json:"flags"`
	State    words  `json:"state"`
	MaxTime  number `json:"max_time_limit"`
	MaxNodes number `json:"maximum_nodes_per_job"`
	Maximums struct {
		Time  number `json:"time"`
		Nodes number `json:"nodes"`
	} `json:"maximums"`
	Partition struct {
		State words `json:"state"`
	} `json:"partition"`
}

// partitionsOf reads what slurmrestd answers to GET partitions. Errors are those
// of [ParseJobs].
func partitionsOf(data []byte) ([]Partition, error) {
	var answer struct {
		envelope
		Partitions *[]jsonPartition `json:"partitions"`
	}
	if err := open("partitions", data, &answer, &answer.envelope); err != nil {
		return nil, err
	}
	if answer.Partitions == nil {
		return nil, unreadable("partitions", errMissing("partitions"))
	}
	list := make([]Partition, 0, len(*answer.Partitions))
	for i := range *answer.Partitions {
		p := &(*answer.Partitions)[i]
		if p.Name == "" {
			return nil, unreadable("partitions", fmt.Errorf("partitions[%d]: %w", i, errMissing("name")))
		}
		list = append(list, Partition{
			Name: string(p.Name), Default: slices.Contains(p.Flags, "default"),
			Down:    !slices.Contains(slices.Concat(p.State, p.Partition.State), "UP"),
			MaxTime: max(p.MaxTime.minutes(), p.Maximums.Time.minutes()), MaxNodes: max(p.MaxNodes.count(), p.Maximums.Nodes.count()),
		})
	}
	return list, nil
}
