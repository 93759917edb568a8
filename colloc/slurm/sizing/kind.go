package sizing

import (
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Kind is how a job asks for GPUs of a kind: by their type, by features of their
// nodes, or by neither where all GPUs will do.
type Kind struct {
	// Type is what --gres calls them; empty is any.
	Type string `json:"type,omitempty"`
	// Constraint is what --constraint asks of the nodes; empty is nothing.
	Constraint string `json:"constraint,omitempty"`
	// Products are the GPUs that the job may get, sorted.
	Products []string `json:"products"`
	// Nodes is how many nodes have some; PerNode, CPUs and Memory are the most that
	// one of them has.
	Nodes   int           `json:"nodes"`
	PerNode int           `json:"per_node"`
	CPUs    int           `json:"cpus"`
	Memory  profile.Bytes `json:"memory_bytes"`
}

// offer is GPUs of one product, one type and one set of features.
type offer struct {
	gpu   profile.GPUModel
	known bool
	kind  string
	nodes []*site.Node
}

// KindOf turns "a GPU with at least this much memory" into what a site offers: its
// types and features. It takes the whole site if every GPU has that much, else what
// leaves most GPUs to choose from: the features that tell them from the others, or one
// type. suits says which nodes count; nil is all. Memory of 0 asks for nothing.
//
// No GPU with that much memory is [site.ErrImpossible], and so is a site on which
// neither type nor feature tells them from smaller ones. GPUs of an unknown product
// count as too small. O(nodes x GPUs x features).
func KindOf(state *site.State, memory profile.Bytes, o *site.GPUOptions, suits func(*site.Node) bool) (Kind, error) {
	large, small, most := offers(state, memory, o, suits)
	if len(large) == 0 {
		return Kind{}, fmt.Errorf("slurm: %w: no GPU has %v: the largest that is known has %v", site.ErrImpossible, memory, most)
	}
	if len(small) == 0 {
		return kindOf(large, "", ""), nil
	}
	var best Kind
	count := 0
	take := func(k Kind, of []offer) {
		n := 0
		for _, w := range of {
			n += len(w.nodes)
		}
		if n > count {
			best, count = k, n
		}
	}
	if features := telling(large, small); features != "" {
		take(kindOf(large, "", features), large)
	}
	for i, w := range large {
		same := slices.ContainsFunc(small, func(s offer) bool { return s.kind == w.kind })
		if w.kind != "" && !same {
			take(kindOf(large[i:i+1], w.kind, ""), large[i:i+1])
		} else if features := telling(large[i:i+1], small); features != "" {
			take(kindOf(large[i:i+1], "", features), large[i:i+1])
		}
	}
	if count == 0 {
		return Kind{}, fmt.Errorf("slurm: %w: neither a type nor a feature tells GPUs with %v from smaller ones: the site must name one", site.ErrImpossible, memory)
	}
	return best, nil
}

// offers are what the nodes have, with enough memory and with less; most is the
// largest memory of a GPU.
func offers(state *site.State, memory profile.Bytes, o *site.GPUOptions, suits func(*site.Node) bool) (large, small []offer, most profile.Bytes) {
	for _, d := range state.Devices() {
		n := state.Node(d.Node)
		if n == nil || suits != nil && !suits(n) {
			continue
		}
		model, known := o.Model(&d, n)
		most = max(most, model.Memory)
		list := &small
		if memory == 0 || known && model.Memory >= memory {
			list = &large
		}
		kind := d.Type
		if d.Numbered() { // such a type is one GPU of a node
			kind = ""
		}
		i := slices.IndexFunc(*list, func(w offer) bool { return w.gpu.Name == model.Name && w.kind == kind })
		if i < 0 {
			i, *list = len(*list), append(*list, offer{gpu: model, known: known, kind: kind})
		}
		(*list)[i].nodes = append((*list)[i].nodes, n)
	}
	return large, small, most
}

func kindOf(list []offer, kind, constraint string) Kind {
	k := Kind{Type: kind, Constraint: constraint}
	on := make(map[string]int)
	for _, w := range list {
		if w.known && !slices.Contains(k.Products, w.gpu.Name) {
			k.Products = append(k.Products, w.gpu.Name)
		}
		for _, n := range w.nodes {
			on[n.Name]++
			k.PerNode, k.CPUs, k.Memory = max(k.PerNode, on[n.Name]), max(k.CPUs, n.CPUs), max(k.Memory, n.Memory)
		}
	}
	k.Nodes = len(on)
	slices.Sort(k.Products)
	return k
}

// telling are features, joined by |, of which every node of some has one and no node
// of others; one feature where that will do, and empty if there are none.
func telling(some, others []offer) string {
	nodes, avoid := nodesOf(some), nodesOf(others)
	has := func(f string) func(*site.Node) bool {
		return func(n *site.Node) bool { return slices.Contains(n.Features, f) }
	}
	lacks := func(f string) bool { return slices.ContainsFunc(nodes, func(n *site.Node) bool { return !has(f)(n) }) }
	var chosen []string
	for _, n := range nodes {
		good := slices.DeleteFunc(slices.Clone(n.Features), func(f string) bool { return slices.ContainsFunc(avoid, has(f)) })
		if i := slices.IndexFunc(good, func(f string) bool { return !lacks(f) }); i >= 0 {
			return good[i]
		}
		switch {
		case len(good) == 0:
			return ""
		case !slices.ContainsFunc(chosen, func(f string) bool { return has(f)(n) }):
			chosen = append(chosen, good[0])
		}
	}
	return strings.Join(chosen, "|")
}

func nodesOf(list []offer) []*site.Node {
	var nodes []*site.Node
	for _, w := range list {
		for _, n := range w.nodes {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// String says which products these are, and how a job asks for them.
func (k Kind) String() string {
	text := strings.Join(k.Products, ", ")
	switch {
	case k.Type != "":
		text += ", by their type " + k.Type
	case k.Constraint != "":
		text += ", by the constraint " + k.Constraint
	}
	return text
}
