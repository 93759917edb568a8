package colloc

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
)

// Best returns the place of the GPU among gpus on which the task scores most, see
// [Planner.Score], with the verdict there; on ties the one with less memory, then
// the one whose ID comes first. Where it fits nowhere the place is -1, and the
// verdict that of the GPU that comes first in the order of these ties. Errors as for
// [Planner.Fit]; no GPUs give -1 and no verdict. Of a gang Best speaks on one of its GPUs,
// a [Planner.Plan] and a [Planner.Scheduler] of all.
//
// GPUs that differ in nothing but their IDs, labels that the task does not ask for and
// the IDs of residents, which have the same Profiles or the same Kind, are judged once:
// the cost is one Score for each class of GPUs, and a look at each GPU. What that takes
// for 800 GPUs of ten classes, and for 800 of which each is like no other, tells
//
//	go test ./colloc -run '^$' -bench BenchmarkBest
func (p *Planner) Best(task Task, gpus []GPU) (int, Verdict, error) {
	if err := p.ready(); err != nil {
		return -1, Verdict{}, err
	}
	if err := task.Validate(); err != nil {
		return -1, Verdict{}, err
	}
	needed, err := p.needs(&task)
	if err != nil {
		return -1, Verdict{}, err
	}
	s := p.acquire()
	defer p.release(s)
	b := p.choice(len(gpus))
	defer p.forget(b)
	best, no := -1, -1
	var most float64
	for i := range gpus {
		j, err := p.judgeOnce(&task, &gpus[i], s, b, &needed)
		if err != nil {
			return -1, Verdict{}, err
		}
		switch {
		case !j.fits:
			if no < 0 || preferred(&gpus[i], &gpus[no]) {
				no = i
			}
		case best < 0 || j.gain > most || j.gain == most && preferred(&gpus[i], &gpus[best]):
			best, most = i, j.gain
		}
	}
	if best < 0 && no < 0 {
		return -1, Verdict{}, nil
	}
	s.reset()
	at := best
	if best < 0 {
		at = no
	}
	v, err := p.fitNeed(&task, &gpus[at], s, p.scale().onItsOwn(), &needed)
	return best, v, err
}

// preferred decides ties between GPUs.
func preferred(a, b *GPU) bool {
	return cmp.Or(cmp.Compare(a.Total(), b.Total()), cmp.Compare(a.ID, b.ID)) < 0
}

// judged is what Best knows of the GPUs of one class.
type judged struct {
	fits bool
	gain float64
	like *GPU // the first of them
}

// choice is the working memory of Best: a hash table of classes.
type choice struct {
	judged []judged
	slots  []int32 // one more than the index of a class, or 0
	seed   maphash.Seed
}

// choice returns an empty table for n GPUs.
func (p *Planner) choice(n int) *choice {
	b, ok := p.choices.Get().(*choice)
	if !ok {
		b = &choice{seed: maphash.MakeSeed()}
	}
	size := 64
	for size < 2*n {
		size *= 2
	}
	if len(b.slots) < size {
		b.slots = make([]int32, size)
	}
	clear(b.slots)
	return b
}

// forget empties the table of what it points to and gives it back.
func (p *Planner) forget(b *choice) {
	clear(b.judged)
	b.judged = b.judged[:0]
	p.choices.Put(b)
}

// judgeOnce is what is known of the class of a GPU, of which the first is judged.
// Probing ends: the table has twice as many slots as there are GPUs.
func (p *Planner) judgeOnce(task *Task, g *GPU, s *scratch, b *choice, needed *need) (judged, error) {
	at := b.hash(g) & uint64(len(b.slots)-1)
	for ; b.slots[at] != 0; at = (at + 1) & uint64(len(b.slots)-1) {
		j := &b.judged[b.slots[at]-1]
		if j.like.alike(g, task) {
			return *j, p.distinct(task, g)
		}
	}
	s.reset()
	v, gain, err := p.score(task, g, s, needed)
	j := judged{v.Fits, max(0, gain), g}
	b.judged = append(b.judged, j)
	b.slots[at] = int32(len(b.judged))
	return j, err
}

// distinct reports a fault of the IDs on a GPU that is otherwise like a valid one.
func (p *Planner) distinct(task *Task, g *GPU) error {
	ok := checkID(g.ID) == "" && g.repeated(task) < 0
	for i := range g.Residents {
		ok = ok && checkID(g.Residents[i].ID) == ""
	}
	if ok {
		return nil
	}
	_, err := p.Fit(*task, *g)
	return err
}

// hash is equal for GPUs that are alike.
func (b *choice) hash(g *GPU) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(len(g.Residents))
	mix := func(x uint64) { h = (h ^ x) * odd; h ^= h >> 29 }
	mix(uint64(g.Memory))
	mix(uint64(g.Model.Memory))
	mix(uint64(g.Model.SMs))
	for i := range g.Residents {
		r := &g.Residents[i]
		mix(uint64(r.Reserved))
		mix(math.Float64bits(r.Weight))
		if r.Kind == "" {
			mix(maphash.Comparable(b.seed, r.Profile))
		} else {
			mix(maphash.String(b.seed, r.Kind))
		}
	}
	return h
}

// alike reports whether a and g cannot be told apart by what is said of task there.
func (g *GPU) alike(o *GPU, task *Task) bool {
	if len(g.Residents) != len(o.Residents) || g.Memory != o.Memory || g.Slice != o.Slice || !g.Model.Equal(&o.Model) ||
		!slices.Equal(g.Mechanisms, o.Mechanisms) || len(task.On) > 0 && !slices.Equal(g.Labels, o.Labels) ||
		task.Home != "" && (g.ID == task.Home || o.ID == task.Home) {
		return false
	}
	for i := range g.Residents {
		if !g.Residents[i].alike(&o.Residents[i]) {
			return false
		}
	}
	return true
}

// alike reports whether two residents can be told apart by their IDs alone.
func (t *Task) alike(o *Task) bool {
	return (t.Profile == o.Profile || t.Kind != "" && t.Kind == o.Kind) &&
		t.Reserved == o.Reserved && t.Weight == o.Weight && t.MaxSlowdown == o.MaxSlowdown &&
		t.Alone == o.Alone && t.GPUs == o.GPUs && t.Foreign == o.Foreign && slices.Equal(t.Elsewhere, o.Elsewhere) &&
		slices.Equal(t.Labels, o.Labels) && slices.Equal(t.Avoid, o.Avoid) && slices.Equal(t.Only, o.Only)
}
