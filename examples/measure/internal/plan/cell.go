package plan

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// Cell is one thing to measure once: a set of tasks that share the GPU.
type Cell struct {
	// Mechanism is how they share. A task that is alone is Exclusive, or MPS to
	// see what MPS itself costs.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Tasks are in the catalogue's order; a task may be there twice.
	Tasks []string `json:"tasks"`
	// Threads caps the share of the multiprocessors of each task, in (0, 1];
	// empty means no caps.
	Threads []float64 `json:"threads,omitempty"`
	// Repeat numbers the repetitions from 0.
	Repeat int `json:"repeat"`
}

// ID names the cell in files and on the screen: "mps gpt2@0.5+lstm@0.5 r0".
func (c *Cell) ID() string {
	return c.Mechanism.String() + " " + c.Set() + " r" + strconv.Itoa(c.Repeat)
}

// Set names the tasks with their caps.
func (c *Cell) Set() string {
	var b strings.Builder
	for i, name := range c.Tasks {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(name)
		if i < len(c.Threads) {
			fmt.Fprintf(&b, "@%g", c.Threads[i])
		}
	}
	return b.String()
}

// Alone reports whether the cell is a reference: a task with the GPU to itself.
func (c *Cell) Alone() bool { return c.Mechanism == profile.Exclusive && len(c.Tasks) == 1 }

// Slot is the kind of process that member i needs.
func (c *Cell) Slot(i int) Slot {
	s := Slot{Task: c.Tasks[i], MPS: c.Mechanism == profile.MPS}
	if i < len(c.Threads) {
		s.Threads = c.Threads[i]
	}
	return s
}

// Slot is a kind of process: what is fixed when it starts.
type Slot struct {
	Task    string
	MPS     bool
	Threads float64 // 0 is no cap
}
