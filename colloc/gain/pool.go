package gain

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// pool is GPUs of one product and the jobs that could have run there.
type pool struct {
	name       string
	word       string // the site's type of the first job; empty for none
	partitions []string
	model      profile.GPUModel
	known      bool // the catalogue knows the model, and how much memory it has
	cluster    *sim.Cluster
	jobs       []job // by submission
}

// job is a job within the history that is replayed.
type job struct {
	*records.Job
	kind  string
	alone bool // it shares with nobody
	first bool // it is the first of its kind
	seen  *profile.Profile
	need  profile.Bytes // its peak on each GPU
}

// unnamed is the type of jobs that name none.
const unnamed = "unnamed"

// product is the product behind a word of the site's.
func (o *Options) product(word string) (profile.GPUModel, bool) {
	name, ok := o.Models[word]
	if !ok {
		name = word
	}
	if m, ok := profile.LookupGPU(name); ok && m.Memory > 0 {
		return m, true
	}
	return profile.GPUModel{Name: cmp.Or(name, unnamed)}, false
}

// forest is a union-find over names.
type forest map[string]string

func (f forest) root(name string) string {
	top := name
	for f[top] != "" && f[top] != top {
		top = f[top]
	}
	for name != top { // halve the way for the next
		f[name], name = top, f[name]
	}
	return top
}

func (f forest) join(a, b string) {
	if a, b = f.root(a), f.root(b); a != b {
		f[max(a, b)] = min(a, b)
	}
}

// words returns the type of each job: what it says, or what others on its node do.
func words(jobs []records.Job) []string {
	of := map[string]string{} // by node
	for i := range jobs {
		if j := &jobs[i]; j.Product != "" && len(j.Nodes) > 0 && of[j.Nodes[0]] == "" {
			of[j.Nodes[0]] = j.Product
		}
	}
	words := make([]string, len(jobs))
	for i := range jobs {
		words[i] = jobs[i].Product
		if words[i] == "" && len(jobs[i].Nodes) > 0 {
			words[i] = of[jobs[i].Nodes[0]]
		}
	}
	return words
}

// pools divides jobs, which are in the order of submission, by product, and by the nodes
// and partitions that their jobs have in common.
func (o *Options) pools(jobs []records.Job) []*pool {
	word := words(jobs)
	models := map[string]profile.GPUModel{}
	known := map[string]bool{}
	near := forest{}
	key := func(i int, what string) string { return models[word[i]].Name + "\x00" + what }
	for i := range jobs {
		if _, ok := models[word[i]]; !ok {
			models[word[i]], known[word[i]] = o.product(word[i])
		}
		for _, n := range jobs[i].Nodes {
			near.join(key(i, "p"+o.partition(&jobs[i])), key(i, "n"+n))
		}
	}
	byRoot := map[string]*pool{}
	var list []*pool
	for i := range jobs {
		root := near.root(key(i, "p"+o.partition(&jobs[i])))
		p := byRoot[root]
		if p == nil {
			p = &pool{model: models[word[i]], known: known[word[i]], name: models[word[i]].Name, word: word[i]}
			byRoot[root] = p
			list = append(list, p)
		}
		p.jobs = append(p.jobs, job{Job: &jobs[i]})
		if at, found := slices.BinarySearch(p.partitions, jobs[i].Partition); !found && jobs[i].Partition != "" {
			p.partitions = slices.Insert(p.partitions, at, jobs[i].Partition)
		}
	}
	slices.SortStableFunc(list, func(a, b *pool) int { return cmp.Compare(len(b.jobs), len(a.jobs)) })
	return list
}

// partition is what divides jobs: nothing, where the GPUs are given.
func (o *Options) partition(j *records.Job) string {
	if o.Cluster != nil {
		return ""
	}
	return j.Partition
}

// equip gives the pool its GPUs, and returns how many jobs cannot run there.
func (p *pool) equip(o *Options) (outside int) {
	if o.Cluster != nil {
		p.given(o.Cluster)
	} else {
		p.used()
	}
	largest := 0
	for _, n := range p.cluster.Nodes {
		largest = max(largest, len(n.GPUs))
	}
	total := p.cluster.GPUs()
	before := len(p.jobs)
	p.jobs = slices.DeleteFunc(p.jobs, func(j job) bool { return j.GPUs > total || len(j.Nodes) == 1 && j.GPUs > largest })
	return before - len(p.jobs)
}

// given takes the GPUs of the pool's product.
func (p *pool) given(c *sim.Cluster) {
	p.cluster = &sim.Cluster{}
	for _, n := range c.Nodes {
		own := slices.DeleteFunc(slices.Clone(n.GPUs), func(g sim.GPU) bool { return g.Model.Name != p.model.Name })
		if len(own) > 0 {
			p.cluster.Nodes = append(p.cluster.Nodes, sim.Node{Name: n.Name, GPUs: own})
		}
	}
}

// change is GPUs that are taken or given back.
type change struct {
	at   time.Time
	gpus int
}

// used counts the GPUs that were in use at once, on each node.
func (p *pool) used() {
	changes := map[string][]change{}
	var nodes []string
	for i := range p.jobs {
		j := &p.jobs[i]
		on := j.Nodes
		if len(on) == 0 {
			on = []string{""}
		}
		each := (j.GPUs + len(on) - 1) / len(on)
		for _, n := range on {
			if changes[n] == nil {
				nodes = append(nodes, n)
			}
			changes[n] = append(changes[n], change{j.Started, each}, change{j.Ended, -each})
		}
	}
	p.cluster = &sim.Cluster{}
	for _, n := range nodes {
		own := make([]sim.GPU, peak(changes[n]))
		for i := range own {
			own[i] = sim.GPU{Model: p.model, Memory: p.memory()}
		}
		p.cluster.Nodes = append(p.cluster.Nodes, sim.Node{Name: n, GPUs: own})
	}
}

// memory is that of a GPU; where nobody knows, a number for jobs that are alone anyway.
func (p *pool) memory() profile.Bytes { return cmp.Or(p.model.Memory, profile.GiB) }

// peak is the most that is taken at once. What is given back in a second can be taken in it.
func peak(changes []change) int {
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.gpus, b.gpus)) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.gpus
		most = max(most, now)
	}
	return most
}
