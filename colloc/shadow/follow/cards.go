package follow

import (
	"example.com/colloc/colloc"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/profile"
)

// cards are the GPUs of one round, with what runs there.
type cards struct {
	list []colloc.GPU
	at   map[string]int
}

// newCards are those that are up and of a product that model knows.
func newCards(gpus []journal.GPU, model func(word string) (profile.GPUModel, bool)) *cards {
	c := &cards{at: map[string]int{}}
	for _, g := range gpus {
		m, ok := model(g.Product)
		if _, twice := c.at[g.ID]; !ok || g.Down || twice {
			continue
		}
		c.at[g.ID] = len(c.list)
		c.list = append(c.list, colloc.GPU{ID: g.ID, Model: m, Memory: g.Memory})
	}
	return c
}

// put adds a task to its GPUs.
func (c *cards) put(t colloc.Task, on []string) {
	for _, id := range on {
		if i, ok := c.at[id]; ok {
			c.list[i].Residents = append(c.list[i].Residents, t)
		}
	}
}

// of returns GPUs as they are now.
func (c *cards) of(ids []string) []colloc.GPU {
	var list []colloc.GPU
	for _, id := range ids {
		if i, ok := c.at[id]; ok {
			list = append(list, c.list[i])
		}
	}
	return list
}

// company are the jobs that are not alone on a GPU.
func (c *cards) company() []string {
	var ids []string
	for i := range c.list {
		if len(c.list[i].Residents) < 2 {
			continue
		}
		for _, r := range c.list[i].Residents {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
