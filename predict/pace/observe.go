package pace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// Observation is the measured solo throughput of one task on one kind of GPU.
type Observation struct {
	// Profile is the task's. Required.
	Profile *profile.Profile
	// GPU is where it ran; the zero value is the profile's own.
	GPU profile.GPUModel
	// Throughput is work in a second, more than 0. Its unit is the same for all
	// observations that are compared. 0 is the batch over the profile's median step time.
	Throughput float64
	// Task names what throughputs compare within, for [Fit]: the same network,
	// batch, precision and software. Not used by Observe.
	Task string
	// Group is what validation leaves out at once, for example the model. Not
	// used by Observe.
	Group string
}

// ErrUnnamed says that a task has neither a name nor a number of parameters and
// could not be recognised again.
var ErrUnnamed = errors.New("the model has neither a name nor layers to be recognised by")

// ErrOnSlice says that a throughput was measured on a MIG slice: learned under the name
// of the card it would make the whole card slow.
var ErrOnSlice = errors.New("the GPU is named as a MIG slice, want a whole card; leave the throughput out: how fast a slice is follows from its card, see MIGSpeed")

// maxThroughput bounds what is believed, either way.
const maxThroughput = 1e18

// throughput is what the observation says, checked.
func (o *Observation) throughput() (*profile.GPUModel, float64, error) {
	if o.Profile == nil {
		return nil, 0, errors.New("no profile; set Profile to the task's")
	}
	gpu := &o.GPU
	if gpu.Name == "" {
		gpu = &o.Profile.GPU
	}
	if gpu.Name == "" {
		return nil, 0, errors.New("the GPU has no name; set GPU to the product as NVML prints it")
	}
	if gpu.Sliced() {
		return nil, 0, fmt.Errorf("%q: %w", gpu.Name, ErrOnSlice)
	}
	t := o.Throughput
	if step, ok := o.Profile.Vector.Get(profile.MedianStepTime); t == 0 && ok && step > 0 {
		t = float64(o.Profile.Spec.Training.BatchSize) / step
	}
	if !(t >= 1/maxThroughput && t <= maxThroughput) {
		return nil, 0, fmt.Errorf("throughput is %v, want a number from 1e-18 to 1e18", t)
	}
	return gpu, t, nil
}

// Observe learns the solo throughput of a task, recognised by model name, data
// set, batch and precision, on one kind of GPU. Several of one kind are averaged.
// Ratios of measured kinds are then the measured ones. It returns an error, and
// learns nothing, for an observation without profile, GPU or a positive
// throughput, for a task that cannot be recognised ([ErrUnnamed]) and for a GPU that
// is named as a MIG slice ([ErrOnSlice]). A slice that goes by the name of its card
// cannot be recognised: observe none. The 10,000 tasks that were told of last are kept.
// O(tasks known).
func (m *Predictor) Observe(o Observation) error {
	gpu, t, err := o.throughput()
	if err != nil {
		return fmt.Errorf("predict/pace: observation: %w", err)
	}
	key, ok := keyOf(o.Profile)
	if !ok {
		return fmt.Errorf("predict/pace: observation: %w", ErrUnnamed)
	}
	m.writer.Lock()
	defer m.writer.Unlock()
	next := *m.load()
	next.tasks = maps.Clone(next.tasks)
	if next.tasks == nil {
		next.tasks = make(map[taskKey][]seen)
	}
	list := slices.Clone(next.tasks[key])
	card := kindOf(gpu)
	i, known := slices.BinarySearchFunc(list, card.name, func(x seen, name string) int { return cmp.Compare(x.name, name) })
	if !known {
		list = slices.Insert(list, i, seen{kind: card})
	}
	next.told++
	x := &list[i]
	x.n, x.order = x.n+1, next.told
	x.log += (math.Log(t) - x.log) / float64(x.n)
	next.tasks[key] = list
	next.forget()
	m.state.Store(&next)
	return nil
}

// mostTasks bounds the tasks whose throughputs are kept.
const mostTasks = 10_000

// forget drops the task that was told of least recently if there are too many. The
// map must be the state's own.
func (s *state) forget() {
	if len(s.tasks) <= mostTasks {
		return
	}
	var oldest taskKey
	least := uint64(math.MaxUint64)
	for key, list := range s.tasks {
		last := uint64(0)
		for i := range list {
			last = max(last, list[i].order)
		}
		if last < least || last == least && key.compare(&oldest) < 0 {
			oldest, least = key, last
		}
	}
	delete(s.tasks, oldest)
}

// compare orders tasks by what they are known by.
func (k *taskKey) compare(o *taskKey) int {
	return cmp.Or(cmp.Compare(k.Model, o.Model), cmp.Compare(k.Dataset, o.Dataset), cmp.Compare(k.Batch, o.Batch),
		cmp.Compare(k.Precision, o.Precision), cmp.Compare(k.Params, o.Params))
}

// Seen is what [Predictor.Observe] was told of one task on one kind of GPU.
type Seen struct {
	// GPU is the product's name in the catalogue, or as it was given.
	GPU string `json:"gpu"`
	// Throughput is the geometric mean of what was measured, in the unit that it was
	// told in, and Runs how often that was.
	Throughput float64 `json:"throughput"`
	Runs       int     `json:"runs"`
}

// Seen tells what was learned of a task, by GPU; nil is nothing.
func (m *Predictor) Seen(p *profile.Profile) []Seen {
	if p == nil {
		return nil
	}
	key, ok := keyOf(p)
	if !ok {
		return nil
	}
	var out []Seen
	for _, x := range m.load().tasks[key] {
		out = append(out, Seen{x.name, math.Exp(x.log), x.n})
	}
	return out
}
