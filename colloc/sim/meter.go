package sim

import (
	"time"

	"example.com/colloc/profile"
)

// meter adds up what a run costs.
type meter struct {
	decisions int
	counts    [Repartition + 1]int
	wasted    float64 // work lost, ns
	// integrals over time, in seconds: of watts, and of GPUs
	energy, busy, taken, occupied float64
	// present is the number of tasks in the system, integral that over time, ns
	present  int
	integral float64
	changed  time.Duration
	series   []Point
	every    time.Duration
	next     time.Duration
}

func (m *meter) begin(points int) {
	m.series = make([]Point, 0, points)
	m.every = time.Second
}

func (m *meter) count(k EventKind) { m.counts[k]++ }

// come and gone follow the number of tasks in the system.
func (m *meter) come(now time.Duration) float64 {
	m.advance(now)
	m.present++
	return m.integral
}

func (m *meter) advance(now time.Duration) {
	m.integral += float64(float64(m.present) * float64(now-m.changed))
	m.changed = now
}

// gone turns the integral of a task that leaves into its own.
func (m *meter) gone(now time.Duration, r *runTask) {
	m.advance(now)
	m.present--
	r.integral = m.integral - r.integral
}

// Point is the state of the cluster at one time. The parts are of all cards that
// are up or not, in [0, 1].
type Point struct {
	At time.Duration `json:"at_ns"`
	// Waiting and Running count tasks.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Occupied is the part of the GPUs that has tasks, Allocated the part that
	// is promised to tasks (their shares; a task that asked for none has it
	// all), Busy the part of the SMs that works, Memory the part in use.
	Occupied  float64 `json:"occupied"`
	Allocated float64 `json:"allocated"`
	Busy      float64 `json:"busy"`
	Memory    float64 `json:"memory"`
	// Watts is the power of all GPUs.
	Watts float64 `json:"watts"`
}

// sample records the points of the time series that lie before a moment. There
// are never more than asked for: when they are full every other one goes, and
// the grid becomes twice as wide.
func (s *simulation) sample(before time.Duration) {
	m := &s.meter
	if m.next >= before {
		return
	}
	p := s.point()
	for m.next < before {
		if len(m.series) == cap(m.series) {
			half := m.series[:0]
			for i := 0; i < len(m.series); i += 2 {
				half = append(half, m.series[i])
			}
			m.series = half
			m.every *= 2
			m.next = later(m.series[len(m.series)-1].At, m.every)
			continue
		}
		p.At = m.next
		m.series = append(m.series, p)
		m.next = later(m.next, m.every)
	}
}

// point measures the cluster as it is now.
func (s *simulation) point() Point {
	p := Point{Waiting: s.state.waiting.live, Running: s.state.running.live}
	weight, memory := 0.0, 0.0
	for g := range s.gpus {
		gpu := &s.gpus[g]
		if gpu.weight == 0 {
			continue
		}
		weight += gpu.weight
		if len(gpu.view.Set) > 0 {
			p.Occupied += gpu.weight
		}
		p.Allocated += float64(gpu.weight * gpu.taken)
		p.Busy += float64(gpu.weight * gpu.busy)
		p.Watts += gpu.watts
		memory += float64(gpu.weight * usedPart(gpu.view.Used, gpu.view.Total))
	}
	p.Occupied, p.Allocated, p.Busy, p.Memory = p.Occupied/weight, p.Allocated/weight, p.Busy/weight, memory/weight
	return p
}

func usedPart(used, total profile.Bytes) float64 {
	if used == 0 {
		return 0
	}
	return float64(used) / float64(total)
}
