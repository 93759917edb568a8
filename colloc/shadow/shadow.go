package shadow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Config says who decides.
type Config struct {
	// Planner is asked; required. A Shadow works with a copy of what it knows, and
	// Planner itself learns nothing.
	Planner *colloc.Planner
	// Learn lets the copy learn from what is seen, as it would in charge: a prediction
	// is compared before it is corrected.
	Learn bool
	// Keep is how many tasks that did not end are remembered; 0 means 10,000. The one
	// heard of least recently is forgotten first.
	Keep int
}

// Shadow compares. Make one with [New]. Safe for concurrent use.
type Shadow struct {
	planner *colloc.Planner
	learn   bool
	keep    int

	mu    sync.Mutex
	tasks map[string]*record
	heard uint64
	r     Report
	sums  sums
}

// record is what is known of a task that did not end.
type record struct {
	heard   uint64
	first   time.Time         // when colloc would first have started it; zero is not yet
	gpus    []string          // where it would start as of the last round; none if it would wait
	company bool              // beside others
	refused packer.ReasonCode // why colloc would not have put it where the site did
}

// sums are what means are made of.
type sums struct{ abs, bias, covered, waste float64 }

// New returns a Shadow that has seen nothing.
func New(c Config) (*Shadow, error) {
	if c.Planner == nil || c.Keep < 0 {
		return nil, fmt.Errorf("shadow: Planner is %v and Keep %d, want one and 0 or more", c.Planner, c.Keep)
	}
	config := c.Planner.Config()
	config.Shared = false
	own, err := colloc.New(config)
	if err != nil {
		return nil, fmt.Errorf("shadow: %w", err)
	}
	return &Shadow{
		planner: own, learn: c.Learn, keep: cmp.Or(c.Keep, 10_000), tasks: map[string]*record{},
		r: Report{Format: format, Version: version, Refused: []Refusal{}, Worst: []Miss{}},
	}, nil
}

// Waiting decides about what waits, given the GPUs and what runs there, as a
// [dispatch.Dispatcher] does, and records the decision. That is for the caller to look at;
// nothing follows from it. Errors as for [dispatch.Dispatcher.Tell]; then nothing is recorded.
func (s *Shadow) Waiting(ctx context.Context, at time.Time, waiting []colloc.Task, gpus []colloc.GPU) (*dispatch.Decision, error) {
	decision, err := dispatch.Once(ctx, s.planner, waiting, gpus)
	if err != nil {
		return nil, fmt.Errorf("shadow: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time(at)
	s.r.Rounds++
	for i := range waiting {
		t := s.task(waiting[i].ID)
		t.gpus, t.company = nil, false
	}
	for i := range decision.Placements {
		p := &decision.Placements[i]
		for _, m := range p.Members {
			if m.Resident {
				continue
			}
			t := s.task(m.Task)
			if t.first.IsZero() {
				t.first = at
			}
			t.gpus, t.company = append(t.gpus, p.GPU), len(p.Members) > 1
		}
	}
	return decision, nil
}

// Started records that the site started a task on gpus, which are as they were just
// before, with what ran there. It returns an error, and records nothing, for a task or
// a GPU that is described wrongly, and for no GPUs.
func (s *Shadow) Started(at time.Time, task colloc.Task, gpus ...colloc.GPU) error {
	if len(gpus) == 0 {
		return fmt.Errorf("shadow: task %q started on no GPU", task.ID)
	}
	var refused packer.ReasonCode
	company := false
	var ids []string
	for i := range gpus {
		v, err := s.planner.Fit(task, gpus[i])
		if err != nil {
			return fmt.Errorf("shadow: %w", err)
		}
		refused, company, ids = cmp.Or(refused, v.Code), company || len(gpus[i].Residents) > 0, append(ids, gpus[i].ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time(at)
	t := s.task(task.ID)
	t.refused = refused
	s.r.Started++
	if refused != 0 {
		s.refusal(refused).Tasks++
	}
	c := &s.r.Choices
	switch {
	case len(t.gpus) == 0:
		c.CollocWaits++
	case t.company && company:
		c.BothShare++
	case t.company:
		c.OnlyColloc++
	case company:
		c.OnlySite++
	default:
		c.BothAlone++
	}
	slices.Sort(ids)
	if want := slices.Sorted(slices.Values(t.gpus)); slices.Equal(ids, want) {
		c.SameGPUs++
	}
	if !t.first.IsZero() && at.After(t.first) {
		s.r.Earlier.Tasks++
		s.r.Earlier.Seconds += at.Sub(t.first).Seconds()
	}
	t.first = time.Time{} // if it is requeued it waits anew
	return nil
}

// Ended records that a task is gone; died says that it ran out of memory. A task that
// is not known is none.
func (s *Shadow) Ended(at time.Time, task string, died bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[task]
	if t == nil {
		return
	}
	s.time(at)
	delete(s.tasks, task)
	s.r.Ended++
	if died {
		s.r.Died++
		if t.refused != 0 {
			s.refusal(t.refused).Died++
		}
	}
}

// ErrNothingSeen is for an observation that has neither a speed nor a peak.
var ErrNothingSeen = errors.New("no speed of a set and no peak")

// Seen compares what was measured of a set with what is predicted of it: speeds with
// their intervals, peaks with what would be reserved. It returns an error, and compares
// nothing, for [ErrNothingSeen], for a member without a profile or with a speed or peak
// that cannot be, and for what [colloc.Planner.Observe] refuses where it learns.
func (s *Shadow) Seen(o colloc.Observation) error {
	for i := range o.Members {
		m := &o.Members[i]
		speed, peak := m.Speed.Or(1), m.Peak.Or(1)
		if m.Profile == nil || !(speed > 0 && speed <= predict.MostSpeed) || peak <= 0 || peak > profile.MaxCount {
			return fmt.Errorf("shadow: member %d: profile %v, speed %v, peak %v; want a profile, more than 0 up to %v, and 1 to 1e15 bytes",
				i, m.Profile != nil, m.Speed, m.Peak, predict.MostSpeed)
		}
	}
	predicted, err := s.speeds(&o)
	if err != nil {
		return fmt.Errorf("shadow: %w", err)
	}
	reserved := make([]profile.Bytes, len(o.Members))
	some := predicted != nil
	for i := range o.Members {
		m := &o.Members[i]
		if m.Peak.IsZero() {
			continue
		}
		some = true
		if _, reserved[i], err = s.planner.Memory(colloc.Task{ID: "m", Profile: m.Profile}); err != nil {
			return fmt.Errorf("shadow: member %d: %w", i, err)
		}
	}
	if !some {
		return fmt.Errorf("shadow: %w", ErrNothingSeen)
	}
	if s.learn {
		if err := s.planner.Observe(o); err != nil {
			return fmt.Errorf("shadow: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range o.Members {
		m := &o.Members[i]
		if seen, ok := m.Speed.Get(); ok && predicted != nil {
			s.speed(&o, i, seen, predicted[i])
		}
		if peak, ok := m.Peak.Get(); ok {
			s.peak(peak, reserved[i], m.OutOfMemory)
		}
	}
	return nil
}

// speeds are what is predicted of the members of a set; nil where no speed of one was
// measured.
func (s *Shadow) speeds(o *colloc.Observation) ([]predict.Estimate, error) {
	measured := func(m colloc.Measurement) bool { return !m.Speed.IsZero() }
	if len(o.Members) < 2 || !slices.ContainsFunc(o.Members, measured) {
		return nil, nil
	}
	const plenty = profile.Bytes(1) << 50 // speeds are asked for, whatever the memory
	gpu := colloc.GPU{ID: "g", Model: o.GPU, Memory: plenty, Mechanisms: []profile.Mechanism{cmp.Or(o.Mechanism, profile.TimeSlice)}}
	for i := range o.Members {
		gpu.Residents = append(gpu.Residents, colloc.Task{
			ID: strconv.Itoa(i), Profile: o.Members[i].Profile, Reserved: 1, GPUs: 1, MaxSlowdown: math.Inf(1),
		})
	}
	last := gpu.Residents[len(gpu.Residents)-1]
	gpu.Residents = gpu.Residents[:len(gpu.Residents)-1]
	p, err := s.planner.Judge(last, gpu)
	if err != nil {
		return nil, err
	}
	out := make([]predict.Estimate, len(o.Members))
	for i := range p.Members { // the residents, then the last
		out[i] = p.Members[i].Speed
	}
	return out, nil
}

// time widens the span of the report.
func (s *Shadow) time(at time.Time) {
	if s.r.From.IsZero() || at.Before(s.r.From) {
		s.r.From = at
	}
	if at.After(s.r.To) {
		s.r.To = at
	}
}

// task returns what is known of a task, and makes room for it.
func (s *Shadow) task(id string) *record {
	s.heard++
	t := s.tasks[id]
	if t == nil {
		t = &record{}
		if len(s.tasks) >= s.keep {
			s.forget()
		}
		s.tasks[id] = t
		s.r.Tasks++
	}
	t.heard = s.heard
	return t
}

// forget drops the tenth of the tasks that was heard of least recently, one at least,
// so that not every task looks at all others.
func (s *Shadow) forget() {
	ids := slices.SortedFunc(maps.Keys(s.tasks), func(a, b string) int { return cmp.Compare(s.tasks[a].heard, s.tasks[b].heard) })
	for _, id := range ids[:max(1, len(ids)/10)] {
		delete(s.tasks, id)
		s.r.Forgotten++
	}
}

// Report returns what was found until now. O(1).
func (s *Shadow) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.r
	r.Refused = slices.Clone(r.Refused)
	slices.SortStableFunc(r.Refused, func(a, b Refusal) int { return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.Code, b.Code)) })
	r.Worst = slices.Clone(r.Worst)
	if n := float64(r.Speeds.Seen); n > 0 {
		r.Speeds.MAE, r.Speeds.Bias, r.Speeds.Covered = s.sums.abs/n, s.sums.bias/n, s.sums.covered/n
	}
	if n := float64(r.Memory.Seen - r.Memory.Under); n > 0 {
		r.Memory.Waste = s.sums.waste / n
	}
	return r
}

// refusal returns the entry of a code.
func (s *Shadow) refusal(code packer.ReasonCode) *Refusal {
	i := slices.IndexFunc(s.r.Refused, func(r Refusal) bool { return r.Code == code })
	if i < 0 {
		i = len(s.r.Refused)
		s.r.Refused = append(s.r.Refused, Refusal{Code: code})
	}
	return &s.r.Refused[i]
}

// speed compares one speed.
func (s *Shadow) speed(o *colloc.Observation, i int, seen float64, e predict.Estimate) {
	s.r.Speeds.Seen++
	s.r.Speeds.Confidence = e.Confidence
	s.sums.abs += math.Abs(seen - e.Value)
	s.sums.bias += seen - e.Value
	if e.Lo <= seen && min(seen, 1) <= e.Hi { // no prediction exceeds 1, a measurement may
		s.sums.covered++
	}
	miss := Miss{GPU: o.GPU.Canonical(), Task: o.Members[i].Profile.Spec.Type(), Beside: []string{}, Seen: seen, Predicted: e}
	if len(s.r.Worst) == mostWorst && miss.size() <= s.r.Worst[mostWorst-1].size() {
		return
	}
	for j := range o.Members {
		if j != i {
			miss.Beside = append(miss.Beside, o.Members[j].Profile.Spec.Type())
		}
	}
	s.r.Worst = append(s.r.Worst, miss)
	slices.SortStableFunc(s.r.Worst, func(a, b Miss) int { return cmp.Compare(b.size(), a.size()) })
	s.r.Worst = s.r.Worst[:min(len(s.r.Worst), mostWorst)]
}

// peak compares one peak; of a task that died it is the least that it needed.
func (s *Shadow) peak(peak, reserved profile.Bytes, died bool) {
	switch {
	case reserved < peak || died && reserved <= peak:
		s.r.Memory.Under++
	case died: // its need is not known
		return
	case reserved > 1<<56: // a whole GPU, nobody knows of what size
		return
	default:
		s.sums.waste += 1 - float64(peak)/float64(reserved)
	}
	s.r.Memory.Seen++
}
