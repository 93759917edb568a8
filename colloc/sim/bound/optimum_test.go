package bound_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// tiny is a day small enough to try everything on it.
type tiny struct {
	tasks []sim.Task
	gpus  *sim.Cluster
	truth classTruth
}

// classTruth slows tasks down by class, and is another on cards of another name.
type classTruth struct{ scale, second float64 }

func (m classTruth) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	for i, t := range set {
		slow := 1.0
		for j, o := range set {
			if j != i {
				slow += m.scale * math.Sqrt(pressure(t)*pressure(o))
			}
		}
		dst[i] = 1 / slow
		if gpu.Model.Name == "second" {
			dst[i] *= m.second
		}
	}
	return nil
}

func pressure(t *sim.Task) float64 {
	return map[string]float64{"light": 0.1, "medium": 0.35, "heavy": 0.6}[t.Class]
}

// drawTiny draws a day of up to most tasks on two GPUs.
func drawTiny(seed uint64, most int) tiny {
	r := rand.New(rand.NewPCG(seed, 7))
	card := func(name string, memory profile.Bytes) sim.GPU {
		return sim.GPU{Model: profile.GPUModel{Name: name, Memory: memory * profile.GiB}}
	}
	d := tiny{
		gpus:  &sim.Cluster{Nodes: []sim.Node{{GPUs: []sim.GPU{card("first", 16), card("first", 16)}}}},
		truth: classTruth{scale: 0.3 + 2*r.Float64(), second: 0.3 + r.Float64()},
	}
	if r.IntN(3) == 0 {
		d.gpus.Nodes[0].GPUs[1] = card("second", profile.Bytes(8+r.IntN(16)))
	}
	startup := time.Duration(r.IntN(2)*r.IntN(90)) * time.Second
	for i := range 2 + r.IntN(most-1) {
		t := sim.Task{
			ID: string(rune('a' + i)), Arrival: time.Duration(r.IntN(1800)) * time.Second, Work: time.Duration(60+r.IntN(1800)) * time.Second,
			Memory: profile.Bytes(1+r.IntN(8)) * profile.GiB, Class: []string{"light", "medium", "heavy"}[r.IntN(3)], Startup: startup,
		}
		if r.IntN(6) == 0 {
			t.GPUs = 2
		}
		d.tasks = append(d.tasks, t)
	}
	return d
}

// best tries every way to start tasks at arrivals and ends, without stops, and returns the
// least makespan and the least sum of times from arrival to end, in seconds.
func (d *tiny) best() (makespan, sum float64) {
	slices.SortFunc(d.tasks, func(x, y sim.Task) int { return int(x.Arrival - y.Arrival) })
	first := d.tasks[0].Arrival.Seconds()
	return d.search(true) - first, d.search(false)
}

// search finds the least last end, or the least sum.
func (d *tiny) search(end bool) float64 {
	b := &brute{tiny: d, end: end, best: math.Inf(1)}
	for i := range d.tasks {
		t := &d.tasks[i]
		b.on = append(b.on, waiting)
		b.left = append(b.left, t.Work.Seconds())
		b.ready = append(b.ready, 0)
		fast := 1.0
		if d.gpus.Nodes[0].GPUs[1].Model.Name == "second" {
			fast = max(1, d.truth.second)
		}
		b.fast = append(b.fast, fast)
	}
	b.decide(d.tasks[0].Arrival.Seconds(), 0, 0, 0)
	return b.best
}

const (
	waiting = 0 // else a mask of GPUs
	ended   = 4
)

type brute struct {
	*tiny
	on          []int
	left, ready []float64
	fast        []float64
	end         bool // of the last task, else the sum
	best        float64
}

// score is what is searched for the least of.
func (b *brute) score(sum, last float64) float64 {
	if b.end {
		return last
	}
	return sum
}

// decide tries all placements of the tasks from i on that wait at a time.
func (b *brute) decide(now float64, i int, sum, last float64) {
	if i == 0 && b.hopeless(now, sum, last) {
		return
	}
	for i < len(b.tasks) && (b.on[i] != waiting || b.tasks[i].Arrival.Seconds() > now) {
		i++
	}
	if i == len(b.tasks) {
		b.advance(now, sum, last)
		return
	}
	masks := []int{1, 2}
	if b.tasks[i].GPUs == 2 {
		masks = []int{3}
	}
	alike := b.gpus.Nodes[0].GPUs[0].Model.Name == b.gpus.Nodes[0].GPUs[1].Model.Name
	for _, mask := range masks {
		if mask == 2 && alike && !b.used() {
			continue // as on the other
		}
		if b.room(i, mask) {
			b.on[i], b.ready[i] = mask, now+b.tasks[i].Startup.Seconds()
			b.decide(now, i+1, sum, last)
			b.on[i] = waiting
		}
	}
	b.decide(now, i+1, sum, last)
}

// used reports whether a task is on a GPU.
func (b *brute) used() bool {
	return slices.ContainsFunc(b.on, func(on int) bool { return on != waiting && on != ended })
}

// hopeless reports that the score cannot become better.
func (b *brute) hopeless(now, sum, last float64) bool {
	for i := range b.tasks {
		if b.on[i] == ended {
			continue
		}
		t := &b.tasks[i]
		end := max(now, b.ready[i]) + b.left[i]/b.fast[i]
		if b.on[i] == waiting {
			end = max(now, t.Arrival.Seconds()) + t.Startup.Seconds() + b.left[i]/b.fast[i]
		}
		sum, last = sum+(end-t.Arrival.Seconds()), max(last, end)
	}
	return b.score(sum, last) >= b.best
}

func (b *brute) room(i, mask int) bool {
	for g := range 2 {
		used := b.tasks[i].Memory
		for j := range b.tasks {
			if b.on[j] != ended && b.on[j]>>g&1 == 1 {
				used += b.tasks[j].Memory
			}
		}
		if mask>>g&1 == 1 && used > b.gpus.Nodes[0].GPUs[g].Model.Memory {
			return false
		}
	}
	return true
}

// speeds are those of the tasks where they are.
func (b *brute) speeds() []float64 {
	out := make([]float64, len(b.tasks))
	for i := range out {
		out[i] = math.Inf(1)
	}
	for g := range 2 {
		var set []*sim.Task
		var who []int
		for i := range b.tasks {
			if b.on[i] != ended && b.on[i]>>g&1 == 1 {
				set, who = append(set, &b.tasks[i]), append(who, i)
			}
		}
		dst := make([]float64, len(set))
		if err := b.truth.Speeds(&b.gpus.Nodes[0].GPUs[g], profile.TimeSlice, set, dst); err != nil {
			panic(err)
		}
		for k, i := range who {
			out[i] = min(out[i], dst[k])
		}
	}
	return out
}

// advance goes to the next arrival or end.
func (b *brute) advance(now, sum, last float64) {
	speeds := b.speeds()
	next, left := math.Inf(1), 0
	for i := range b.tasks {
		if a := b.tasks[i].Arrival.Seconds(); a > now {
			next = min(next, a)
		}
		if b.on[i] != ended {
			left++
		}
		if b.on[i] != ended && b.on[i] != waiting {
			next = min(next, max(now, b.ready[i])+b.left[i]/speeds[i])
		}
	}
	if left == 0 {
		b.best = min(b.best, b.score(sum, last))
		return
	}
	if math.IsInf(next, 1) {
		return // all wait for nothing
	}
	keepLeft, keepOn := slices.Clone(b.left), slices.Clone(b.on)
	for i := range b.tasks {
		if b.on[i] == ended || b.on[i] == waiting {
			continue
		}
		b.left[i] -= speeds[i] * max(0, next-max(now, b.ready[i]))
		if b.left[i] <= 1e-9 {
			b.on[i] = ended
			sum, last = sum+(next-b.tasks[i].Arrival.Seconds()), max(last, next)
		}
	}
	b.decide(next, 0, sum, last)
	copy(b.left, keepLeft)
	copy(b.on, keepOn)
}
