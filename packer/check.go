package packer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Check reports every way in which s is not a feasible answer to p: a task on
// two GPUs, a GPU over its memory, a set that is too large, a member that must
// be alone or is too slow, a forbidden mechanism, residents left out, a speed or
// value that the Model does not give, a Throughput that is not the sum of the
// sets' values or exceeds Bound, a task without set and without Reason. It
// shares no code with the methods. O(tasks + GPUs) questions to the model.
func (p *Problem) Check(s *Solution) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if s == nil {
		return errors.New("packer: check: the solution is nil")
	}
	c := &checker{p: p, unit: p.Unit(), seen: make([]int, len(p.Tasks)), taken: make([]bool, len(p.GPUs))}
	last := -1
	sum := 0.0
	for i := range s.Sets {
		set := &s.Sets[i]
		if set.GPU <= last || set.GPU >= len(p.GPUs) {
			c.fault("Sets[%d]: GPU %d; want ascending indices below %d", i, set.GPU, len(p.GPUs))
			return errors.Join(c.faults...)
		}
		for g := last + 1; g < set.GPU; g++ {
			c.idle(g)
		}
		last = set.GPU
		c.set(i, set)
		sum += set.Value
	}
	for g := last + 1; g < len(p.GPUs); g++ {
		c.idle(g)
	}
	if !(math.Abs(sum-s.Throughput) <= 1e-9*math.Abs(sum)) {
		c.fault("Throughput is %v; the sets' values sum to %v", s.Throughput, sum)
	}
	if !(s.Throughput <= s.Bound) {
		c.fault("Throughput %v exceeds Bound %v", s.Throughput, s.Bound)
	}
	c.reasons(s)
	return errors.Join(c.faults...)
}

type checker struct {
	p      *Problem
	seen   []int // how often each task is placed
	unit   float64
	taken  []bool // GPUs that a gang takes beside the one that stands for it
	faults []error
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("packer: check: "+format, args...))
}

// idle is called for each GPU without a set.
func (c *checker) idle(g int) {
	if n := len(c.p.GPUs[g].Residents); n > 0 {
		c.fault("GPU %q has %d residents and no set; residents stay", c.p.GPUs[g].ID, n)
	}
}

// set checks the set at index i.
func (c *checker) set(i int, set *Set) {
	gpu := &c.p.GPUs[set.GPU]
	if c.taken[set.GPU] {
		c.fault("Sets[%d]: GPU %q is taken by a gang", i, gpu.ID)
	}
	var members []*Task
	for k := range gpu.Residents {
		members = append(members, &gpu.Residents[k])
	}
	for k, t := range set.Tasks {
		if t < 0 || t >= len(c.p.Tasks) || k > 0 && t <= set.Tasks[k-1] {
			c.fault("Sets[%d]: Tasks %v; want ascending indices below %d", i, set.Tasks, len(c.p.Tasks))
			return
		}
		if c.seen[t]++; c.seen[t] > 1 {
			c.fault("Sets[%d]: task %q is already in another set", i, c.p.Tasks[t].ID)
		}
		members = append(members, &c.p.Tasks[t])
	}
	if len(members) == 0 || len(set.Speeds) != len(members) {
		c.fault("Sets[%d]: %d members and %d speeds; want as many, and one at least", i, len(members), len(set.Speeds))
		return
	}
	if len(set.Tasks) > 0 {
		c.limits(i, set, gpu, members)
	}
	c.gang(i, set, gpu, members)
	c.value(i, set, gpu, members)
}

// gang checks that the set has as many equal GPUs as each of its members needs.
func (c *checker) gang(i int, set *Set, gpu *GPU, members []*Task) {
	want := 1
	if len(gpu.Residents) == 0 {
		want = max(1, members[0].GPUs)
	}
	if len(set.Gang) != want-1 {
		c.fault("Sets[%d]: %d GPUs; %q needs %d", i, len(set.Gang)+1, members[0].ID, want)
	}
	for _, t := range members[1:] {
		if a, b := max(1, t.GPUs), max(1, members[0].GPUs); a != b {
			c.fault("Sets[%d]: %q needs %d GPUs and %q %d; gangs share all or none", i, t.ID, a, members[0].ID, b)
		}
	}
	last := set.GPU
	for _, g := range set.Gang {
		if g <= last || g >= len(c.p.GPUs) {
			c.fault("Sets[%d]: Gang %v; want ascending indices above %d and below %d", i, set.Gang, set.GPU, len(c.p.GPUs))
			return
		}
		last = g
		o := &c.p.GPUs[g]
		if c.taken[g] || len(o.Residents) > 0 || !gpu.Alike(o) {
			c.fault("Sets[%d]: GPU %q of the gang is taken or unlike GPU %q", i, o.ID, gpu.ID)
		}
		c.taken[g] = true
	}
}

// limits checks what new tasks on a GPU must respect.
func (c *checker) limits(i int, set *Set, gpu *GPU, members []*Task) {
	if len(members) > c.p.Limits.LargestSet() {
		c.fault("Sets[%d]: %d members; MaxSet is %d", i, len(members), c.p.Limits.LargestSet())
	}
	used := 0.0
	for k, t := range members {
		used += float64(t.Memory)
		if t.Alone && len(members) > 1 {
			c.fault("Sets[%d]: %q must be alone and has company", i, t.ID)
		}
		if k >= len(gpu.Residents) {
			c.labels(i, gpu, t, members[:k])
		}
		if s := set.Speeds[k]; !(s > 0 && s >= t.MinSpeed) {
			c.fault("Sets[%d]: %q runs at speed %v; its limit is %v, and above 0", i, t.ID, s, t.MinSpeed)
		}
	}
	if more := float64(len(members)-1) * float64(c.p.Limits.Together); len(members) > 1 && set.Mechanism != profile.MIG && used+more > float64(gpu.Total())*(1+1e-12) && c.p.Limits.beyond(gpu) > 0 {
		c.fault("Sets[%d]: %d tasks on GPU %q would need %v and %v beyond; it has %v", i, len(members), gpu.ID, profile.BytesOf(used), profile.BytesOf(more), gpu.Total())
	}
	room := float64(gpu.Total()) * (1 - c.p.Limits.headroom())
	if used > room*(1+1e-12) {
		c.fault("Sets[%d]: GPU %q would use %v of %v; headroom leaves %v", i, gpu.ID,
			profile.BytesOf(used), gpu.Total(), profile.BytesOf(room))
	}
	allowed := gpu.Mechanisms
	if len(allowed) == 0 {
		allowed = []profile.Mechanism{profile.TimeSlice}
	}
	switch {
	case len(members) == 1 && len(gpu.Instances) == 0 && set.Mechanism != profile.Exclusive:
		c.fault("Sets[%d]: one task by %v; want exclusive", i, set.Mechanism)
	case len(members) > 1 && (set.Mechanism == profile.Exclusive || !slices.Contains(allowed, set.Mechanism)):
		c.fault("Sets[%d]: GPU %q does not allow sharing by %v", i, gpu.ID, set.Mechanism)
	}
}

// labels checks that gpu carries what t asks for and that t and the members
// before it accept each other.
func (c *checker) labels(i int, gpu *GPU, t *Task, others []*Task) {
	carried := slices.Clone(gpu.Labels)
	if gpu.Type != nil {
		carried = append(carried, gpu.Type.Name)
	}
	for _, label := range t.On {
		if !slices.Contains(carried, label) {
			c.fault("Sets[%d]: %q asks for label %q; GPU %q carries %q", i, t.ID, label, gpu.ID, carried)
		}
	}
	for _, o := range others {
		for _, way := range [2][2]*Task{{t, o}, {o, t}} {
			a, b := way[0], way[1]
			shun, liked := false, len(a.Only) == 0
			for _, label := range b.Labels {
				shun = shun || slices.Contains(a.Avoid, label)
				liked = liked || slices.Contains(a.Only, label)
			}
			if shun || !liked {
				c.fault("Sets[%d]: %q does not accept the labels %q of %q", i, a.ID, b.Labels, b.ID)
			}
		}
	}
}

// worth returns what t counts for on gpu at speed 1.
func (c *checker) worth(t *Task, gpu *GPU) (float64, error) {
	pace, err := AskPace(c.p.Model, t, gpu)
	return t.EffectiveWeight() * pace, err
}

// value checks speeds and value against the model.
func (c *checker) value(i int, set *Set, gpu *GPU, members []*Task) {
	speeds := make([]float64, len(members))
	if err := c.speeds(set, gpu, members, speeds); err != nil {
		c.fault("Sets[%d]: model: %w", i, err)
		return
	}
	homely := ""
	value, saved, what := 0.0, 0.0, "weight times speed"
	if _, ok := c.p.Model.(PaceModel); ok {
		what = "weight times pace times speed"
	}
	for k, t := range members {
		worth, err := c.worth(t, gpu)
		if err != nil {
			c.fault("Sets[%d]: %w", i, err)
			return
		}
		value += worth * speeds[k]
		if k >= len(gpu.Residents) && t.Home == gpu.ID {
			saved += worth * t.MoveCost
			homely = ", and MoveCost at home,"
		}
		if !(math.Abs(speeds[k]-set.Speeds[k]) <= 1e-9) {
			c.fault("Sets[%d]: speed of %q is %v; the model says %v", i, t.ID, set.Speeds[k], speeds[k])
		}
	}
	c.gain(i, set, gpu, members, set.Value-saved)
	unit := c.unit
	if !(math.Abs(value+saved-set.Value) <= unit*float64(2*len(members))) {
		c.fault("Sets[%d]: value is %v; %s sum to %v", i, set.Value, what+homely, value+saved)
	}
}

// gain checks that a set that new tasks share does more than its best member,
// or than its residents, would without company.
func (c *checker) gain(i int, set *Set, gpu *GPU, members []*Task, value float64) {
	if len(set.Tasks) == 0 || len(members) == 1 {
		return
	}
	ref := 0.0
	for k, t := range members {
		if one := make([]float64, 1); k >= len(gpu.Residents) && len(gpu.Residents) == 0 &&
			c.p.Model.Speeds(members[k:k+1], gpu, profile.Exclusive, one) == nil && one[0] >= t.MinSpeed {
			worth, _ := c.worth(t, gpu) // value has asked
			ref = max(ref, worth*one[0])
		}
	}
	if len(gpu.Residents) > 0 {
		ref = c.undisturbed(gpu)
	}
	unit := c.unit
	if least := (1 + c.p.Limits.MinGain) * ref; value < least-unit*float64(len(members))*(2+c.p.Limits.MinGain) {
		c.fault("Sets[%d]: value is %v; without company its best member or resident has %v, so MinGain asks for %v", i, value, ref, least)
	}
}

// undisturbed returns what the residents of gpu are worth without company, by the
// best mechanism that gpu allows. Of MIG with a [SliceModel] it knows the layout
// in Instances alone: without one they may be worth more.
func (c *checker) undisturbed(gpu *GPU) float64 {
	n := len(gpu.Residents)
	mechs := gpu.Mechanisms
	switch {
	case n == 1 && len(gpu.Instances) == 0:
		mechs = []profile.Mechanism{profile.Exclusive}
	case len(mechs) == 0:
		mechs = []profile.Mechanism{profile.TimeSlice}
	}
	members, speeds := make([]*Task, n), make([]float64, n)
	for k := range members {
		members[k] = &gpu.Residents[k]
	}
	best := 0.0
	for _, mech := range mechs {
		set := Set{Mechanism: mech}
		if mech == profile.MIG {
			set.Instances = gpu.Instances
		}
		if mech == profile.Exclusive && len(mechs) > 1 || c.speeds(&set, gpu, members, speeds) != nil {
			continue
		}
		value := 0.0
		for k, t := range members {
			worth, _ := c.worth(t, gpu) // value has asked
			value += worth * speeds[k]
		}
		best = max(best, value)
	}
	return best
}

// reasons checks that every task that is in no set has a reason.
func (c *checker) reasons(s *Solution) {
	explained := make([]bool, len(c.p.Tasks))
	for i := range s.Reasons {
		t := s.Reasons[i].Task
		if t < 0 || t >= len(c.p.Tasks) {
			c.fault("Reasons[%d]: no task %d", i, t)
			continue
		}
		explained[t] = true
		if s.Reasons[i].Placed != (c.seen[t] > 0) {
			c.fault("Reasons[%d]: Placed is %v for task %q in %d sets", i, s.Reasons[i].Placed, c.p.Tasks[t].ID, c.seen[t])
		}
	}
	for t := range c.p.Tasks {
		if c.seen[t] == 0 && !explained[t] {
			c.fault("task %q is in no set and has no reason", c.p.Tasks[t].ID)
		}
	}
}

// speeds asks the model for the speeds of a set: together, or each on its
// instance.
func (c *checker) speeds(set *Set, gpu *GPU, members []*Task, dst []float64) error {
	m := sliced(c.p, gpu)
	if set.Mechanism != profile.MIG || m == nil {
		if len(set.Instances) > 0 {
			return errors.New("there are Instances, and no SliceModel for this GPU")
		}
		return c.p.Model.Speeds(members, gpu, set.Mechanism, dst)
	}
	if len(set.Instances) != len(members) {
		return fmt.Errorf("%d Instances for %d members; want one each", len(set.Instances), len(members))
	}
	table, err := mig.New(gpu.Type)
	if err != nil {
		return err
	}
	layout := mig.Layout(slices.Clone(set.Instances))
	slices.SortFunc(layout, func(a, b mig.Placement) int { return a.Start - b.Start })
	if err := table.Check(layout); err != nil {
		return err
	}
	for k, at := range set.Instances {
		if err := c.instance(gpu, members[k], k, at); err != nil {
			return err
		}
		all := make([]float64, len(gpu.Type.MIG))
		if err := m.SliceSpeeds(members[k], gpu, all); err != nil {
			return err
		}
		dst[k] = all[at.Profile]
	}
	return nil
}

// instance checks that the k-th member can be where it is.
func (c *checker) instance(gpu *GPU, t *Task, k int, at mig.Placement) error {
	if k < len(gpu.Instances) {
		if at != gpu.Instances[k] {
			return fmt.Errorf("%q is on instance %+v; it runs on %+v, and residents stay", t.ID, at, gpu.Instances[k])
		}
		return nil
	}
	size := gpu.Type.MIG[at.Profile]
	if room := float64(size.Memory) * (1 - c.p.Limits.headroom()); float64(t.Memory) > math.Ceil(room) {
		return fmt.Errorf("%q needs %v; headroom leaves %v of %s", t.ID, t.Memory, profile.BytesOf(room), size.Name)
	}
	return nil
}
