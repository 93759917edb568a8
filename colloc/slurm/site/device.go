package site

import (
	"slices"
	"strconv"
)

// Device is one GPU of a node, and who has it.
type Device struct {
	// Node and Index name it: the index is Slurm's, which CUDA_VISIBLE_DEVICES
	// and IDX show.
	Node  string `json:"node"`
	Index int    `json:"index"`
	// Type is what --gres calls it; empty if the site gives no types. Pinned
	// says that no other GPU of the node has this type, so that a request can
	// name this very GPU.
	Type   string `json:"type,omitempty"`
	Pinned bool   `json:"pinned,omitempty"`
	// Share is how the site shares it, "shard" or "mps"; empty if it does not.
	// Shares is how many there are, Used how many jobs hold.
	Share  string `json:"share,omitempty"`
	Shares int    `json:"shares,omitempty"`
	Used   int    `json:"used,omitempty"`
	// Whole says that a job has all of it.
	Whole bool `json:"whole,omitempty"`
	// Unclear says that a job of the node has GPUs of this type and Slurm does
	// not tell which.
	Unclear bool `json:"unclear,omitempty"`
	// Up says that the node takes new jobs.
	Up bool `json:"up"`
	// Jobs are those that have some of it, ascending.
	Jobs []JobID `json:"jobs,omitempty"`
	// Waiting are the jobs that have not started and that want this GPU: those
	// that name it by its type, and those that name the node, each counted on
	// the first GPUs that it could have. Jobs that name no node could go
	// anywhere and are not counted.
	Waiting []JobID `json:"waiting,omitempty"`
}

// Numbered reports whether the type is that of one GPU of a node, such as a100i3, and not
// that of a kind of GPU.
func (d *Device) Numbered() bool {
	_, numbered := cutNumber(d.Type)
	return d.Pinned && numbered
}

// ID returns node/index, "g1/3": the ID of the GPU in plans.
func (d *Device) ID() string { return d.Node + "/" + strconv.Itoa(d.Index) }

// Free returns how many shares a new job could have; 0 if a job has the whole
// GPU, or if the node takes no jobs.
func (d *Device) Free() int {
	if !d.Up || d.Whole || d.Unclear {
		return 0
	}
	return max(0, d.Shares-d.Used)
}

// Empty reports whether a new job could have the whole GPU.
func (d *Device) Empty() bool { return d.Up && !d.Whole && !d.Unclear && d.Used == 0 }

// Devices returns the GPUs of all nodes, in the order of the nodes and by index,
// with what the jobs hold of each. A node's own count of what is in use is of no
// help: up to 22.05 it counts the GPUs that are shared, not the shares.
//
// The indices follow the order in which the node lists its types, as Slurm
// numbers them when gres.conf lists them in the same order. Shares are spread
// evenly over the GPUs of their type, as Slurm does unless gres.conf says
// otherwise. O(nodes x GPUs + jobs x GPUs).
func (s *State) Devices() []Device {
	var all []Device
	first := make(map[string]int) // node: its first device
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if _, twice := first[n.Name]; twice {
			continue
		}
		first[n.Name] = len(all)
		all = append(all, n.devices()...)
	}
	of := func(node string) []Device {
		at, known := first[node]
		if !known {
			return nil
		}
		end := at
		for end < len(all) && all[end].Node == node {
			end++
		}
		return all[at:end]
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k := range min(len(j.Held), len(j.Nodes)) {
			if j.State.Holds() {
				take(of(j.Nodes[k]), j.ID, j.Held[k])
			}
		}
	}
	for i := range s.Nodes {
		hidden(of(s.Nodes[i].Name), s.Nodes[i].Used)
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.State.Holds() || j.State.Over() {
			continue
		}
		for _, node := range j.Required {
			want(of(node), j.ID, j.Asked)
		}
	}
	return all
}

// devices lists the GPUs of an empty node.
func (n *Node) devices() []Device {
	var list []Device
	up := n.Up()
	for _, g := range n.Gres {
		if g.Name != "gpu" {
			continue
		}
		for range min(g.Count, maxDevices-len(list)) {
			list = append(list, Device{Node: n.Name, Index: len(list), Type: g.Type, Pinned: g.Type != "" && g.Count == 1, Up: up})
		}
	}
	for i := range list {
		if list[i].Pinned {
			list[i].Pinned = countFunc(list, func(d *Device) bool { return d.Type == list[i].Type }) == 1
		}
	}
	for _, g := range n.Gres {
		if g.Name != "shard" && g.Name != "mps" {
			continue
		}
		mine := func(d *Device) bool { return g.Type == "" || d.Type == g.Type }
		gpus := countFunc(list, mine)
		rest := g.Count
		for i := range list {
			if d := &list[i]; mine(d) {
				d.Share = g.Name
				share := rest / gpus
				d.Shares += share
				rest -= share
				gpus--
			}
		}
	}
	return list
}

func countFunc(list []Device, f func(*Device) bool) int {
	n := 0
	for i := range list {
		if f(&list[i]) {
			n++
		}
	}
	return n
}

// take books what a job holds of the GPUs of one node.
func take(gpus []Device, id JobID, held []Held) {
	for _, h := range held {
		shared := h.Name == "shard" || h.Name == "mps"
		if h.Count == 0 || !shared && h.Name != "gpu" {
			continue
		}
		for i := range gpus {
			d := &gpus[i]
			switch amount := h.On(d.Index); {
			case h.Index == nil && (h.Type == "" || h.Type == d.Type):
				d.Unclear = true
			case amount == 0:
				continue
			case shared:
				d.Used += amount
			default:
				d.Whole = true
			}
			if k, known := slices.BinarySearch(d.Jobs, id); !known {
				d.Jobs = slices.Insert(d.Jobs, k, id)
			}
		}
	}
}

// hidden marks GPUs that are in use by jobs which the caller may not see.
func hidden(gpus []Device, used []Held) {
	for _, h := range used {
		if h.Name != "gpu" && h.Name != "shard" && h.Name != "mps" {
			continue
		}
		mine := func(d *Device) bool { return h.Type == "" || h.Type == d.Type }
		known := countFunc(gpus, func(d *Device) bool { return mine(d) && len(d.Jobs) > 0 })
		for i := range gpus {
			d := &gpus[i]
			there := slices.Contains(h.Index, d.Index) || h.Index == nil && h.Name == "gpu" && h.Count > known
			if there && mine(d) && len(d.Jobs) == 0 {
				d.Unclear = true
			}
		}
	}
}

// want books what a job waits for on the GPUs of one node.
func want(gpus []Device, id JobID, asked []Gres) {
	for _, g := range asked {
		shared := g.Name == "shard" || g.Name == "mps"
		left := 1 // GPUs
		switch {
		case g.Name == "gpu":
			left = g.Count
		case !shared:
			continue
		}
		for i := range gpus {
			d := &gpus[i]
			named := d.Pinned && d.Type == g.Type
			fits := d.Empty() || shared && d.Free() >= g.Count
			if left > 0 && (named || fits && len(d.Waiting) == 0 && (g.Type == "" || g.Type == d.Type)) {
				d.Waiting = append(d.Waiting, id)
				left--
			}
		}
	}
}

// Cluster returns what the cluster offers, whether or not it is free: nodes that
// are alike and in service are one [NodeType].
func (s *State) Cluster() Cluster {
	c := Cluster{Partitions: slices.Clone(s.Partitions)}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !n.Up() {
			continue
		}
		t := NodeType{Count: 1, Partitions: n.Partitions, CPUs: n.CPUs, Memory: n.Memory, Features: n.Features}
		types := 0
		for _, g := range n.Gres {
			switch g.Name {
			case "gpu":
				t.GPU, t.GPUs = g.Type, t.GPUs+g.Count
				types++
			case "shard":
				t.Shards += g.Count
			}
		}
		if types > 1 {
			t.GPU = "" // several types: only the number is common to all
		}
		same := func(o NodeType) bool {
			return o.CPUs == t.CPUs && o.Memory == t.Memory && o.GPU == t.GPU && o.GPUs == t.GPUs && o.Shards == t.Shards &&
				slices.Equal(o.Partitions, t.Partitions) && slices.Equal(o.Features, t.Features)
		}
		if k := slices.IndexFunc(c.Nodes, same); k >= 0 {
			c.Nodes[k].Count++
		} else {
			c.Nodes = append(c.Nodes, t)
		}
	}
	return c
}
