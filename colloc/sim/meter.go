package sim

import (
	"time"
)

// meter adds up what a run costs.
type meter struct {
	decisions int
	counts    [GPUReturn + 1]int
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
func (m *meter) gone(now time.Duration, integral *float64) {
	m.advance(now)
	m.present--
	*integral = m.integral - *integral
}

// Point is the state of the cluster at one time. The parts are of all cards that
// are up or not, in [0, 1].
type Point struct {
	At time.Duration `json:"at_ns"`
	// Waiting and Running count tasks.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Occupied is the part of the GPUs that has tasks. Allocated is the part that is
	// promised to tasks: their shares; a task that asked for none has it all. Busy is
	// the part of the SMs that works, Memory the part in use.
	Occupied  float64 `json:"occupied"`
	Allocated float64 `json:"allocated"`
	Busy      float64 `json:"busy"`
	Memory    float64 `json:"memory"`
	// Watts is the power of all GPUs.
	Watts float64 `json:"watts"`
}
