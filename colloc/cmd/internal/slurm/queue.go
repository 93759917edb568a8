package slurm

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// kind is GPUs that a job gets by asking for a type, on whatever node.
type kind struct {
	gres   string // the type as --gres names it; empty is any
	model  profile.GPUModel
	count  int
	cpus   int           // of the largest node that has some
	memory profile.Bytes // of the node with most
}

// kinds are those whose request means one product, the most numerous first. Where
// each GPU has a type of its own, asking for any GPU is one if all are alike.
func (s *sweep) kinds(state *site.State) []kind {
	o := &site.GPUOptions{Models: s.Models, Partition: s.Partition}
	list := []kind{}
	products := make(map[string]map[string]bool) // by type, "" for all
	for _, d := range state.Devices() {
		n := state.Node(d.Node)
		model, known := o.Model(&d, n)
		if !d.Up || !s.Suits(n) || !s.large(model) {
			continue
		}
		for _, gres := range slices.Compact([]string{"", d.Type}) {
			if products[gres] == nil {
				products[gres] = make(map[string]bool)
				list = append(list, kind{gres: gres})
			}
			products[gres][model.Name] = true
			products[gres][""] = products[gres][""] || !known || gres != "" && d.Numbered() // such a type is one GPU of a node
			k := &list[slices.IndexFunc(list, func(k kind) bool { return k.gres == gres })]
			k.model, k.count = model, k.count+1
			k.cpus, k.memory = max(k.cpus, n.CPUs), max(k.memory, n.Memory)
		}
	}
	list = slices.DeleteFunc(list, func(k kind) bool {
		p := products[k.gres]
		return len(p) != 2 || p[""]
	})
	slices.SortStableFunc(list, func(a, b kind) int {
		return cmp.Or(cmp.Compare(b.count, a.count), -cmp.Compare(a.gres, b.gres)) // a named type before any
	})
	return list
}

// whole writes jobs with a whole GPU of a kind for the tasks of a set: one, or
// several where no node has the CPUs and the memory of all. Tasks that no node
// has room for get none.
func (s *sweep) whole(out *outline, p *colloc.Placement, k kind, node string) error {
	var parts []script.Set
	for _, m := range p.Members {
		t := s.run(s.byID[m.Task])
		t.GPUMemory = m.Reserved
		if !k.room(t) {
			out.refused = append(out.refused, refusal{t.Name, fmt.Sprintf("asks for %d CPUs and %v: no node with such GPUs has more than %d and %v", max(1, t.CPUs), t.Memory, k.cpus, k.memory)})
			continue
		}
		i := slices.IndexFunc(parts, func(part script.Set) bool { return k.room(append(slices.Clone(part.Tasks), t)...) })
		if i < 0 {
			i, parts = len(parts), append(parts, script.Set{Mechanism: p.Mechanism})
		}
		parts[i].Tasks = append(parts[i].Tasks, t)
	}
	for _, part := range parts {
		if len(part.Tasks) == 1 {
			part.Mechanism = profile.Exclusive
		}
		j, err := s.write(part, p.GPU, script.Request{Name: "set", NodeList: node, Gres: []site.Gres{{Name: "gpu", Type: k.gres, Count: 1}}})
		if err != nil {
			return err
		}
		out.jobs = append(out.jobs, j)
	}
	return nil
}

// room reports whether a node can hold all of these tasks at once; memory that
// is not stated is the site's to give.
func (k *kind) room(tasks ...script.Task) bool {
	cpus, memory := 0, profile.Bytes(0)
	for _, t := range tasks {
		cpus, memory = cpus+max(1, t.CPUs), memory+t.Memory
	}
	return (k.cpus == 0 || cpus <= k.cpus) && (k.memory == 0 || memory <= k.memory)
}
