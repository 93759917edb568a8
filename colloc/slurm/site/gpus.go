package site

import (
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// GPUOptions says how a Planner is to see the GPUs of a cluster. The zero value,
// or nil, is the documented default.
type GPUOptions struct {
	// Models names the product of a type, as [profile.LookupGPU] knows it:
	// {"a100": "A100-40GB"}. A type that is not listed is looked up by itself,
	// without the digits of a pinned one ("a100i3" is "a100") and without the
	// profile of a MIG instance, and by the node's features.
	Models map[string]string
	// Partition takes only the nodes of one partition; empty takes all.
	Partition string
	// Residents tells which task a running job is; nil knows none. A GPU with a
	// job that is not known is left out: nothing can be predicted for strangers.
	Residents func(*JobInfo) (colloc.Task, bool)
}

// GPUs returns those that a plan may use, ready for Planner.Plan: of nodes that
// take jobs, of a known product, with something left that no job has or waits
// for; the ID is that of [Device.ID]. The second result tells for each of the
// others why not.
func (s *State) GPUs(o *GPUOptions) ([]colloc.GPU, []Skipped) {
	if o == nil {
		o = &GPUOptions{}
	}
	nodes := make(map[string]*Node, len(s.Nodes))
	for i := range s.Nodes {
		nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	var gpus []colloc.GPU
	var skipped []Skipped
	for _, d := range s.Devices() {
		node := nodes[d.Node]
		if o.Partition != "" && !slices.Contains(node.Partitions, o.Partition) {
			continue
		}
		gpu, why := s.gpu(&d, node, o)
		if why != "" {
			skipped = append(skipped, Skipped{GPU: d.ID(), Why: why})
			continue
		}
		gpus = append(gpus, gpu)
	}
	return gpus, skipped
}

// Skipped is a GPU that no plan can use, and why.
type Skipped struct {
	GPU string `json:"gpu"`
	Why string `json:"why"`
}

// gpu describes one device, or says why it cannot be used.
func (s *State) gpu(d *Device, n *Node, o *GPUOptions) (colloc.GPU, string) {
	model, ok := o.Model(d, n)
	switch {
	case !d.Up:
		return colloc.GPU{}, "the node takes no jobs: " + strings.Join(n.State, "+")
	case !ok:
		return colloc.GPU{}, fmt.Sprintf("no product is known as %q: say which it is in models", d.Type)
	case d.Unclear:
		return colloc.GPU{}, "it is in use, or may be: Slurm does not tell by which job"
	}
	gpu := colloc.GPU{ID: d.ID(), Model: model, Mechanisms: d.mechanisms()}
	for _, id := range d.Jobs {
		job := s.Job(id)
		var task colloc.Task
		known := false
		if o.Residents != nil && job != nil {
			task, known = o.Residents(job)
		}
		if !known {
			return colloc.GPU{}, fmt.Sprintf("job %d runs there, and which task that is is not known", id)
		}
		gpu.Residents = append(gpu.Residents, task)
	}
	switch {
	case d.Whole:
		return colloc.GPU{}, fmt.Sprintf("job %d has all of it", d.Jobs[0])
	case d.Share != "" && d.Free() == 0:
		return colloc.GPU{}, fmt.Sprintf("jobs %d have all of its shares", d.Jobs)
	case len(d.Waiting) > 0:
		return colloc.GPU{}, fmt.Sprintf("job %d waits for it", d.Waiting[0])
	}
	return gpu, ""
}

// Model returns the product of a GPU: by its type, which the options or the
// catalogue know, or by one of its node's features. Of a MIG instance, whose type ends
// with its profile ("1g.10gb", "a100_3g.20gb"), it is the card's, with the instance's
// name and memory, such as "A100-80GB MIG 1g.10gb".
func (o *GPUOptions) Model(d *Device, n *Node) (profile.GPUModel, bool) {
	kind, slice := cutSlice(d.Type)
	base, _ := cutNumber(kind)
	for _, k := range []string{d.Type, kind, base} {
		if name, ok := o.Models[k]; ok {
			m, known := profile.LookupGPU(name)
			return sliced(m, known, slice)
		}
	}
	for _, k := range append([]string{kind, base}, n.Features...) {
		if k == "" {
			continue
		}
		if m, ok := profile.LookupGPU(k); ok {
			return sliced(m, true, slice)
		}
	}
	return profile.GPUModel{}, false
}

// cutNumber takes the number from the type of a pinned GPU: "a100i3" is "a100".
func cutNumber(kind string) (base string, numbered bool) {
	base, numbered = strings.CutSuffix(strings.TrimRight(kind, "0123456789"), "i")
	if !numbered || base == "" {
		return kind, false
	}
	return base, true
}

// cutSlice takes the profile of a MIG instance from its type: "a100_3g.20gb" is "a100" and
// "3g.20gb".
func cutSlice(kind string) (card, slice string) {
	dot := strings.LastIndex(kind, "g.")
	if dot < 1 || kind[dot-1] < '1' || kind[dot-1] > '9' || !strings.HasSuffix(kind, "gb") {
		return kind, ""
	}
	if memory := kind[dot+len("g.") : len(kind)-len("gb")]; memory == "" || strings.Trim(memory, "0123456789") != "" {
		return kind, ""
	}
	return strings.TrimRight(kind[:dot-1], "_-."), kind[dot-1:]
}

// sliced is the model of an instance of a card; a card without such a profile has none.
func sliced(card profile.GPUModel, known bool, slice string) (profile.GPUModel, bool) {
	if slice == "" || !known {
		return card, known
	}
	i := slices.IndexFunc(card.MIG, func(p profile.MIGProfile) bool { return p.Name == slice })
	if i < 0 {
		return profile.GPUModel{}, false
	}
	card.Name, card.Memory = card.Name+" MIG "+slice, card.MIG[i].Memory
	return card, true
}

// mechanisms are the ways to share that the site offers: time-slicing for GPUs with shards, MPS for those with mps, and none
// for others.
func (d *Device) mechanisms() []profile.Mechanism {
	switch d.Share {
	case "mps":
		return []profile.Mechanism{profile.MPS}
	case "shard":
		return []profile.Mechanism{profile.TimeSlice}
	default:
		return []profile.Mechanism{profile.Exclusive}
	}
}
