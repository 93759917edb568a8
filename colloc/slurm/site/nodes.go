package site

import (
	"fmt"
	"slices"
	"strings"
)

// jsonNode is a node of sinfo --json up to 22.05, of scontrol show nodes --json
// from 23.02 on, and of slurmrestd.
type jsonNode struct {
	Name       text   `json:"name"`
	State      words  `json:"state"`
	Flags      words  `json:"state_flags"`
	Reason     text   `json:"reason"`
	Partitions words  `json:"partitions"`
	Features   words  `json:"features"`
	CPUs       number `json:"cpus"`
	Memory     number `json:"real_memory"`
	UsedCPUs   number `json:"alloc_cpus"`
	UsedMemory number `json:"alloc_memory"`
	Gres       text   `json:"gres"`
	Used       text   `json:"gres_used"`
}

// jsonGroup is a row of sinfo --json from 23.02 on: nodes that are alike, once
// for every partition that they are in.
type jsonGroup struct {
	Node struct {
		State words `json:"state"`
	} `json:"node"`
	Nodes struct {
		Names words `json:"nodes"`
	} `json:"nodes"`
	CPUs struct {
		Minimum   number `json:"minimum"`
		Allocated number `json:"allocated"`
	} `json:"cpus"`
	Memory struct {
		Minimum   number `json:"minimum"`
		Allocated number `json:"allocated"`
	} `json:"memory"`
	Features struct {
		Total text `json:"total"`
	} `json:"features"`
	Gres struct {
		Total text `json:"total"`
		Used  text `json:"used"`
	} `json:"gres"`
	Reason struct {
		Description text `json:"description"`
	} `json:"reason"`
	Partition struct {
		Name text `json:"name"`
	} `json:"partition"`
}

// ParseNodes reads what sinfo --json and scontrol show nodes --json print and
// what slurmrestd answers to GET nodes, of Slurm 22.05 to 25.05. The nodes come
// in Slurm's order, each once. Errors are those of [ParseJobs].
func ParseNodes(data []byte) ([]Node, error) {
	var answer struct {
		envelope
		Nodes  *[]jsonNode  `json:"nodes"`
		Groups *[]jsonGroup `json:"sinfo"`
	}
	if err := open("nodes", data, &answer, &answer.envelope); err != nil {
		return nil, err
	}
	var nodes []Node
	var err error
	switch {
	case answer.Nodes != nil:
		nodes, err = nodesOf(*answer.Nodes)
	case answer.Groups != nil:
		nodes, err = nodesOfGroups(*answer.Groups)
	default:
		err = errMissing("nodes")
	}
	if err != nil {
		return nil, Unreadable("nodes", err)
	}
	return nodes, nil
}

func nodesOf(list []jsonNode) ([]Node, error) {
	nodes := make([]Node, 0, len(list))
	for i := range list {
		n := &list[i]
		gres, err := ParseGres(string(n.Gres))
		if err == nil && n.Name == "" {
			err = errMissing("name")
		}
		if err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
		nodes = append(nodes, Node{
			Name: string(n.Name), State: nodeState(slices.Concat(n.State, n.Flags)), Reason: nothing(string(n.Reason)),
			Partitions: n.Partitions, Features: n.Features,
			CPUs: n.CPUs.count(), Memory: n.Memory.mebibytes(), Gres: gres,
			UsedCPUs: n.UsedCPUs.count(), UsedMemory: n.UsedMemory.mebibytes(), Used: inUse(n.Used),
		})
	}
	return nodes, nil
}

func nodesOfGroups(groups []jsonGroup) ([]Node, error) {
	var nodes []Node
	at := make(map[string]int)
	for i := range groups {
		g := &groups[i]
		names, err := ExpandNodes(strings.Join(g.Nodes.Names, ","))
		if err != nil {
			return nil, fmt.Errorf("sinfo[%d]: %w", i, err)
		}
		gres, err := ParseGres(string(g.Gres.Total))
		if err != nil {
			return nil, fmt.Errorf("sinfo[%d]: %w", i, err)
		}
		if len(nodes)+len(names) > maxNodes {
			return nil, tooManyNodes()
		}
		for _, name := range names {
			k, known := at[name]
			if !known {
				k = len(nodes)
				at[name] = k
				nodes = append(nodes, Node{
					Name: name, State: nodeState(g.Node.State), Reason: nothing(string(g.Reason.Description)), Features: splitList(nothing(string(g.Features.Total))),
					CPUs: g.CPUs.Minimum.count(), Memory: g.Memory.Minimum.mebibytes(), Gres: gres,
				})
				if len(names) == 1 { // of several it is not told which has what
					n := &nodes[k]
					n.UsedCPUs, n.UsedMemory, n.Used = g.CPUs.Allocated.count(), g.Memory.Allocated.mebibytes(), inUse(g.Gres.Used)
				}
			}
			if p := strings.TrimSuffix(string(g.Partition.Name), "*"); p != "" && !slices.Contains(nodes[k].Partitions, p) {
				nodes[k].Partitions = append(nodes[k].Partitions, p)
			}
		}
	}
	return nodes, nil
}

// inUse reads what is in use; what cannot be read is not told.
func inUse(list text) []Held {
	held, err := ParseGres(string(list))
	if err != nil {
		return nil
	}
	held = slices.DeleteFunc(held, func(h Held) bool { return h.Count == 0 })
	return slices.Clip(held)
}

// nodeState puts Slurm's words in capitals, without what it appends to them:
// "down*" does not respond, "idle~" sleeps.
func nodeState(list []string) []string {
	var state []string
	for _, w := range list {
		for w := range strings.SplitSeq(strings.ToUpper(w), "+") {
			base := strings.TrimRight(w, "*~#!%$@^-")
			if base == "" {
				continue
			}
			if state = append(state, base); strings.HasSuffix(w, "*") {
				state = append(state, "NOT_RESPONDING")
			}
		}
	}
	return state
}
