package bound

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Options say what is bounded. Truth is required.
type Options struct {
	// Truth is how fast tasks really run. Its answers must not depend on the order of a set.
	Truth sim.Model
	// MaxSet is the most tasks that a policy puts on a GPU; 0 means 4.
	MaxSet int
	// Alike names tasks that Truth takes to be alike; nil goes by all that a model may know of
	// them, see [sim.Task]. Fewer names are less work.
	Alike func(*sim.Task) string
	// FreeStarts says that start-ups cost no place on a GPU, or that tasks of a machine slow
	// each other down beyond Truth: see [sim.Options].RestartAll and ShareCPU. It lowers the
	// bound.
	FreeStarts bool
	// Moments is into how many parts prices divide the day; 0 means 64. More are nearer to
	// the best bound, and more work.
	Moments int
}

// ErrNowhere says that a task fits no GPU and never ends.
var ErrNowhere = errors.New("fits no GPU of the cluster")

// ErrKinds says that there are too many sets of tasks that differ.
var ErrKinds = errors.New("too many kinds of tasks to look at all sets; say with Alike which are alike, or lower MaxSet")

// day is the day in numbers. Times are seconds, of what is given as nanoseconds.
type day struct {
	Options
	tasks []task
	kinds []kind
	cards []card
	// hosts are the tasks without GPUs: their ends.
	hosts []end
	first float64 // arrival
}

// task is one that needs GPUs.
type task struct {
	task    *sim.Task
	kind    int
	arrival float64
	width   float64 // GPUs
	work    float64 // with that of its start-up
	fast    float64 // the highest speed
	alone   float64 // the earliest end
}

// end is when a task without GPUs ends, and how long after its arrival.
type end struct{ at, stay float64 }

// kind are tasks that are alike.
type kind struct {
	members []*sim.Task     // by memory
	memory  []profile.Bytes // of the n smallest
	fast    float64
	slow    float64 // the lowest speed in any set
}

// card is GPUs that are alike.
type card struct {
	gpu    *sim.GPU
	count  int
	memory profile.Bytes
}

// newDay checks what is given and puts alike together.
func newDay(c *sim.Cluster, tasks []sim.Task, o Options) (*day, error) {
	if o.Truth == nil {
		return nil, errors.New("bound: no Truth")
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("bound: %w", err)
	}
	if len(tasks) == 0 {
		return nil, errors.New("bound: no tasks; want one at least")
	}
	o.MaxSet, o.Moments = cmp.Or(o.MaxSet, 4), cmp.Or(o.Moments, 64)
	if o.MaxSet < 1 || o.Moments < 1 || o.Moments > maxMoments {
		return nil, fmt.Errorf("bound: MaxSet is %d, Moments %d; want 1 or more, and at most %d moments", o.MaxSet, o.Moments, maxMoments)
	}
	d := &day{Options: o, first: math.Inf(1)}
	for i := range tasks {
		t := &tasks[i]
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("bound: %w", err)
		}
		arrival := below(t.Arrival)
		d.first = min(d.first, above(t.Arrival))
		if t.HostOnly {
			d.hosts = append(d.hosts, end{below(t.Arrival + t.Startup + t.Work), below(t.Startup + t.Work)})
			continue
		}
		d.tasks = append(d.tasks, task{task: t, arrival: arrival, width: float64(max(1, t.GPUs))})
	}
	d.gatherCards(c)
	return d, d.gatherKinds()
}

const maxMoments = 1 << 12

// gatherCards counts GPUs that are alike.
func (d *day) gatherCards(c *sim.Cluster) {
	for i := range c.Nodes {
		for j := range c.Nodes[i].GPUs {
			g := &c.Nodes[i].GPUs[j]
			memory := cmp.Or(g.Memory, g.Model.Memory, math.MaxInt64)
			k := slices.IndexFunc(d.cards, func(o card) bool {
				return o.gpu.Model.Name == g.Model.Name && o.memory == memory && o.gpu.Slice == g.Slice
			})
			if k < 0 {
				k = len(d.cards)
				d.cards = append(d.cards, card{gpu: g, memory: memory})
			}
			d.cards[k].count++
		}
	}
}

// alike is the name of a task's kind, but for its memory.
func (d *day) alike(t *sim.Task) string {
	var name string
	if d.Alike != nil {
		name = d.Alike(t)
	} else {
		name = fmt.Sprintf("%q %q %p %v %v %v %v", t.Type, t.Class, t.Profile, t.Stages, t.Busy, t.Bandwidth, t.Occupancy)
	}
	return fmt.Sprintf("%s %v %t", name, t.Only, t.Service != nil)
}

// gatherKinds puts tasks together that are alike, and need so much memory alike that all
// sets can be looked at.
func (d *day) gatherKinds() error {
	largest := profile.Bytes(0)
	for i := range d.cards {
		largest = max(largest, d.cards[i].memory)
	}
	names := make([]string, len(d.tasks))
	for i := range d.tasks {
		names[i] = d.alike(d.tasks[i].task)
	}
	const finest = 64
	for parts := finest; parts > 0; parts /= 2 {
		before := len(d.kinds)
		if d.divide(names, largest/profile.Bytes(parts)+1); len(d.kinds) == before {
			continue // as many sets as before
		}
		n := 0
		for k := range d.cards {
			d.walk(k, func([]member) bool { n++; return n <= maxSets })
		}
		if n <= maxSets {
			return d.measure()
		}
	}
	return fmt.Errorf("bound: %d kinds of %d tasks: %w", len(d.kinds), len(d.tasks), ErrKinds)
}

// maxSets bounds the sets that are looked at: some 100 MiB.
const maxSets = 1 << 20

// divide sorts tasks into kinds by name and memory, in steps.
func (d *day) divide(names []string, step profile.Bytes) {
	type key struct {
		name string
		step profile.Bytes
	}
	at := map[key]int{}
	d.kinds = d.kinds[:0]
	for i := range d.tasks {
		t := &d.tasks[i]
		k := key{names[i], t.task.Memory / step}
		n, ok := at[k]
		if !ok {
			n = len(d.kinds)
			at[k] = n
			d.kinds = append(d.kinds, kind{})
		}
		t.kind = n
		d.kinds[n].members = append(d.kinds[n].members, t.task)
	}
	for n := range d.kinds {
		k := &d.kinds[n]
		slices.SortStableFunc(k.members, func(a, b *sim.Task) int { return cmp.Compare(a.Memory, b.Memory) })
		k.memory = make([]profile.Bytes, 1, len(k.members)+1)
		for _, t := range k.members {
			k.memory = append(k.memory, saturate(k.memory[len(k.memory)-1], t.Memory))
		}
	}
}

// saturate adds without wrapping around.
func saturate(a, b profile.Bytes) profile.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// member is a kind with how many tasks of it are in a set.
type member struct{ kind, count int }

// walk visits the sets that fit a card, until visit returns false. The slice is used again.
func (d *day) walk(c int, visit func([]member) bool) {
	var set []member
	var extend func(from, left int, memory profile.Bytes) bool
	extend = func(from, left int, memory profile.Bytes) bool {
		for k := from; k < len(d.kinds); k++ {
			if only := d.kinds[k].members[0].Only; len(only) > 0 && !slices.Contains(only, d.cards[c].gpu.Model.Name) {
				continue
			}
			for n := 1; n <= min(left, len(d.kinds[k].members)); n++ {
				with := saturate(memory, d.kinds[k].memory[n])
				if with > d.cards[c].memory {
					break
				}
				set = append(set, member{k, n})
				if !visit(set) || left > n && !extend(k+1, left-n, with) {
					return false
				}
				set = set[:len(set)-1]
			}
		}
		return true
	}
	extend(0, d.MaxSet, 0)
}

// speeds asks the truth how fast the tasks of a set are on a card, all of them as the
// members of their kinds that need least memory, and gives visit the sum of each kind's
// speeds, for each mechanism that differs.
func (d *day) speeds(c int, set []member, visit func(rates, each []float64)) error {
	var tasks []*sim.Task
	for _, m := range set {
		tasks = append(tasks, d.kinds[m.kind].members[:m.count]...)
	}
	mechanisms := []profile.Mechanism{profile.TimeSlice, profile.MPS}
	if len(tasks) == 1 {
		mechanisms = []profile.Mechanism{profile.Exclusive}
	}
	var last []float64
	for _, by := range mechanisms {
		each := make([]float64, len(tasks))
		if err := d.Truth.Speeds(d.cards[c].gpu, by, tasks, each); err != nil {
			return fmt.Errorf("bound: model: %w", err)
		}
		for i, v := range each {
			if !(v >= 0 && v <= sim.MaxSpeed) {
				return fmt.Errorf("bound: model: task %q: %v: %w", tasks[i].ID, v, sim.ErrSpeed)
			}
			if tasks[i].Service != nil && v > 0 {
				each[i] = 1 // it is up or not
			}
		}
		if slices.Equal(each, last) {
			continue
		}
		last = each
		rates := make([]float64, len(set))
		at := 0
		for i, m := range set {
			for range m.count {
				rates[i] = up(rates[i] + each[at])
				at++
			}
		}
		visit(rates, each)
	}
	return nil
}

// measure notes the highest and lowest speeds of the kinds, and what they make of tasks.
func (d *day) measure() error {
	for k := range d.kinds {
		d.kinds[k].fast, d.kinds[k].slow = 0, math.Inf(1)
	}
	for c := range d.cards {
		var fault error
		d.walk(c, func(set []member) bool {
			fault = d.speeds(c, set, func(_, each []float64) {
				for _, m := range set {
					k := &d.kinds[m.kind]
					k.fast, k.slow = max(k.fast, slices.Max(each[:m.count])), min(k.slow, slices.Min(each[:m.count]))
					each = each[m.count:]
				}
			})
			return fault == nil
		})
		if fault != nil {
			return fault
		}
	}
	for i := range d.tasks {
		t := &d.tasks[i]
		k := &d.kinds[t.kind]
		room := 0
		for c := range d.cards {
			if only := t.task.Only; t.task.Memory <= d.cards[c].memory && (len(only) == 0 || slices.Contains(only, d.cards[c].gpu.Model.Name)) {
				room += d.cards[c].count
			}
		}
		if float64(room) < t.width || k.fast == 0 {
			return fmt.Errorf("bound: task %q: %w", t.task.ID, ErrNowhere)
		}
		t.fast = k.fast
		t.work = below(t.task.Work)
		t.alone = down(below(t.task.Arrival+t.task.Startup) + down(t.work/t.fast))
		if !d.FreeStarts {
			t.work = down(t.work + down(below(t.task.Startup)*k.slow))
		}
	}
	return nil
}

// below and above are a duration in seconds, rounded.
func below(d time.Duration) float64 { return down(d.Seconds()) }
func above(d time.Duration) float64 { return up(d.Seconds()) }

// up and down are a rounded result, or what lies beside it: no less, and no more, than the
// true one.
func up(x float64) float64   { return math.Nextafter(x, math.Inf(1)) }
func down(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
