package colloc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/learned"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Observation is what was measured of one set while it shared a GPU.
type Observation struct {
	// GPU is the product it ran on.
	GPU profile.GPUModel
	// Mechanism is how the set shared it. The zero value means time-slicing, as
	// everywhere: two and more tasks are never exclusive.
	Mechanism profile.Mechanism
	// Members are the tasks of the set and what was seen of each.
	Members []Measurement
}

// Measurement is what was measured of one member of a set.
type Measurement struct {
	// Profile is the task's, as it was planned with.
	Profile *profile.Profile
	// Speed is throughput in the set over solo throughput; missing if it was
	// not measured.
	Speed profile.Opt[float64]
	// Throughput is the work in a second of a task that ran alone: samples, or any
	// unit that is the same for all observations of it; missing if it was not
	// measured. Measured on two products it decides how these compare. On a MIG slice
	// leave it out: one that is named so is refused with [pace.ErrOnSlice], one that goes
	// by the name of its card cannot be recognised and would make the card slow.
	Throughput profile.Opt[float64]
	// Peak is the largest device memory the task itself used; missing if it
	// was not measured.
	Peak profile.Opt[profile.Bytes]
	// OutOfMemory says that the task died for lack of memory. Then Peak is the
	// most it had reached: its true need is larger.
	OutOfMemory bool
	// Reserved is, with OutOfMemory and without Peak, what was set aside for the
	// task; 0 means what the Planner would reserve for it.
	Reserved profile.Bytes
}

// Observe teaches the Planner one measured co-run: the speeds of its members
// improve what is predicted for tasks like them, the peaks what is reserved: for
// a task of the same type and batch never again less than a peak that was seen or
// than what it had reached when it ran out of memory. After such a death its
// reservation is raised until a peak is measured, see [memory.Predictor.Least], to the
// whole GPU that it died on before more than that.
// The throughput of a task that ran alone tells how fast the GPU is for tasks of its
// type and batch. Members without a measurement still count as neighbours; the
// speed of a task that ran alone teaches nothing. An observation with a fault is refused as a
// whole. Safe for concurrent use with every other call.
func (p *Planner) Observe(o Observation) error {
	if err := p.ready(); err != nil {
		return err
	}
	if len(o.Members) == 0 {
		return errors.New("colloc: observation without members")
	}
	speeds := interference.Observation{GPU: o.GPU.Canonical(), Mechanism: cmp.Or(o.Mechanism, profile.TimeSlice)}
	var seen []memory.Observation
	measured := false
	for i := range o.Members {
		m := &o.Members[i]
		if err := p.checkMember(m); err != nil {
			return fmt.Errorf("colloc: observation: member %d: %w", i, err)
		}
		if !m.Throughput.IsZero() && (len(o.Members) > 1 || !(m.Throughput.Or(0) > 0)) {
			return fmt.Errorf("colloc: observation: member %d: throughput is %v of %d members, want more than 0 of a task alone; give Speed", i, m.Throughput.Or(0), len(o.Members))
		}
		measured = measured || !m.Speed.IsZero()
		speeds.Set, speeds.Speeds = append(speeds.Set, m.Profile), append(speeds.Speeds, m.Speed)
		peak, err := p.peakOf(m, &o.GPU)
		if err != nil {
			return fmt.Errorf("colloc: observation: member %d: %w", i, err)
		}
		if peak.Peak > 0 {
			seen = append(seen, peak)
		}
	}
	p.learning.Lock()
	defer p.learning.Unlock()
	if rate, ok := o.Members[0].Throughput.Get(); ok {
		if err := p.config.Pace.Observe(pace.Observation{Profile: o.Members[0].Profile, GPU: o.GPU, Throughput: rate}); err != nil {
			return fmt.Errorf("colloc: observation: %w", err)
		}
	}
	if measured && len(o.Members) > 1 {
		if err := p.config.Interference.Observe(speeds); err != nil {
			return fmt.Errorf("colloc: observation: %w", err)
		}
	}
	for _, s := range seen {
		if err := p.config.Memory.Observe(s); err != nil {
			return fmt.Errorf("colloc: observation: %w", err)
		}
	}
	return nil
}

// checkMember reports why nothing can be learned from a member.
func (p *Planner) checkMember(m *Measurement) error {
	if m.Profile == nil {
		return errors.New("no profile")
	}
	if s, ok := m.Speed.Get(); ok && !(s > 0 && s <= math.MaxFloat64) {
		return fmt.Errorf("%s: speed is %v, want more than 0", m.Profile.Spec.Type(), s)
	}
	if m.Reserved < 0 || m.Reserved > profile.MaxCount {
		return fmt.Errorf("%s: reserved are %d bytes, want 0 to 1e15", m.Profile.Spec.Type(), int64(m.Reserved))
	}
	peak, ok := m.Peak.Get()
	if !ok && !m.OutOfMemory {
		return nil
	}
	if ok && (peak <= 0 || peak > profile.MaxCount) {
		return fmt.Errorf("%s: peak is %d bytes, want 1 to 1e15", m.Profile.Spec.Type(), int64(peak))
	}
	_, err := p.config.Memory.Peak(&m.Profile.Spec, p.config.Host)
	return err
}

// peakOf is what a member tells about memory; a Peak of 0 is nothing.
func (p *Planner) peakOf(m *Measurement, gpu *profile.GPUModel) (memory.Observation, error) {
	o := memory.Observation{Spec: m.Profile.Spec, Host: p.config.Host, Peak: m.Peak.Or(0), Censored: m.OutOfMemory, Known: peakIn(m.Profile)}
	if o.Peak > 0 || !m.OutOfMemory {
		return o, nil
	}
	o.Assumed, o.Offer = true, min(p.usable(&GPU{Model: gpu.Figures()}), profile.MaxCount)
	if o.Peak = m.Reserved; o.Peak > 0 {
		return o, nil
	}
	reserved, err := p.reservation(&Task{Profile: m.Profile}, nowhere)
	if o.Offer > 0 {
		reserved = min(reserved, o.Offer)
	}
	if reserved <= profile.MaxCount { // else a whole GPU, and nobody says which
		o.Peak = reserved
	}
	return o, err
}

// Refit fits what is predicted of speeds anew to the co-runs that were observed, so
// that what they taught reaches tasks like theirs under other names; see
// [interference.Predictor.Refit]. Run it in the background now and then, for example
// after every hundred co-runs: a Planner starts no goroutine. A plan that is being
// made keeps the version that it began with. It returns ctx.Err() when cancelled; the
// model is then as it was. 2 s of a CPU for 5000 co-runs of 50 names, 4 s for 200, for
// each GPU product: go test ./predict/interference -run '^$' -bench Refit. Safe for
// concurrent use with every other call.
func (p *Planner) Refit(ctx context.Context) error {
	if err := p.ready(); err != nil {
		return err
	}
	return p.config.Interference.Refit(ctx)
}

// Forget drops what was observed of speeds on a GPU product, as after a repair or a new
// driver, and returns how many co-runs were kept of it; see
// [interference.Predictor.Forget]. Peaks and paces stay. Safe for concurrent use.
func (p *Planner) Forget(gpu profile.GPUModel) (int, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	return p.config.Interference.Forget(gpu.Canonical())
}

// Foreign describes what runs on a GPU of a product without being a task of anybody
// whom the scheduler knows, as a resident with a name: all that is known of it is what
// it was seen to use. Its MemUsed, which is required, counts as reserved; how busy it
// keeps the GPU and its memory decides what it is predicted to cost, and where that was
// not seen it counts as a task of which nothing is known, with the wide interval of
// such a prior. Nothing joins it but with [Config].ShareForeign. A [*FaultError] names
// what is missing or cannot be.
func Foreign(id string, gpu profile.GPUModel, seen profile.Sample) (Task, error) {
	used, ok := seen.MemUsed.Get()
	if !ok || used <= 0 {
		return Task{}, nowhere.fault(id, "MemUsed", fmt.Errorf("is %d bytes, want more than 0: what its processes hold", int64(used)))
	}
	spec := profile.Spec{Training: profile.Training{BatchSize: 1}}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{seen}}, gpu)
	if err != nil {
		return Task{}, nowhere.fault(id, "Profile", fmt.Errorf("cannot be made of the sample: %w", err))
	}
	t := Task{ID: id, Profile: &p, Reserved: used, MaxSlowdown: math.Inf(1), Foreign: true}
	return t, t.Validate()
}

// models are the Planner's that learn.
func (p *Planner) models() learned.Models {
	return learned.Models{Memory: p.config.Memory, Interference: p.config.Interference, Pace: p.config.Pace}
}

// Save writes all that the Planner learned, with what it began with: models of memory,
// speeds and paces and the co-runs that they keep, for [Load]. It writes no setting of
// the [Config]. The same state gives the same bytes; an observation that comes
// meanwhile is in it as a whole or not at all, a refit too. Write to a new file and
// rename it: a file that was cut short is refused. 10,000 co-runs of 50 names take
// some 6 MB: go test ./colloc -run '^$' -bench 'Save|Load'. Safe for concurrent use.
func (p *Planner) Save(w io.Writer) error {
	if err := p.ready(); err != nil {
		return err
	}
	p.learning.Lock()
	defer p.learning.Unlock()
	if err := p.models().Save(w); err != nil {
		return fmt.Errorf("colloc: %w", err)
	}
	return nil
}

// Load returns a Planner that goes on where the one that wrote the file with
// [Planner.Save] was: with the same Config it answers the same, bit by bit, and learns
// the same from what it is told next. The Config must not name the models that are in
// the file: Memory, Interference and Pace. It returns an error for such a Config, for
// what [New] refuses and for what is not the whole of such a file.
func Load(r io.Reader, c Config) (*Planner, error) {
	if c.Memory != nil || c.Interference != nil || c.Pace != nil {
		return nil, errors.New("colloc: load: the Config has Memory, Interference or Pace, want nil: they come from the file")
	}
	m, err := learned.Load(r)
	if err != nil {
		return nil, fmt.Errorf("colloc: %w", err)
	}
	shared := c.Shared
	c.Memory, c.Interference, c.Pace, c.Shared = m.Memory, m.Interference, m.Pace, true // nobody else has them
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	p.config.Shared = shared
	return p, nil
}

// Learned tells what was learned of a task and of those like it: peaks, effects on
// speeds, throughputs. Errors as for [Planner.Memory]. O(co-runs that are kept).
func (p *Planner) Learned(task Task) (learned.Task, error) {
	if err := p.ready(); err != nil {
		return learned.Task{}, err
	}
	if err := task.Validate(); err != nil {
		return learned.Task{}, err
	}
	return p.models().Of(task.Profile), nil
}

// Drift tells, for each GPU product and mechanism on which speeds were observed, how
// well the intervals of speeds held. Where one raises an alarm, speeds there are no
// longer what they were when the models were fitted: see [Planner.Refit]. [Plan].Alarms
// lists those of the GPUs that it plans.
func (p *Planner) Drift() []interference.Regime {
	if p.ready() != nil {
		return nil
	}
	return p.config.Interference.Regimes()
}

// alarms are the products and mechanisms of a round whose intervals do not hold.
func (r *round) alarms() []interference.Regime {
	return slices.DeleteFunc(r.speeds.Regimes(), func(x interference.Regime) bool {
		return !x.Drift.Alarm || !slices.ContainsFunc(r.gpus, func(g GPU) bool {
			return g.Model.Canonical() == x.GPU && slices.Contains(sharing(&g), x.Mechanism)
		})
	})
}
