package simulate

import (
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// invented is the service that -services adds: an assumption, of a light task with
// 60 requests a second at the peak of 100 that it could serve, and 50 ms.
func invented(i int, up, startup time.Duration) sim.Task {
	return sim.Task{
		ID: fmt.Sprintf("service-%d", i), Type: "service", Class: "light", Work: up, Memory: 4 * profile.GiB, Startup: startup,
		Busy: 0.25, Bandwidth: 0.1, Service: &profile.Server{Rate: 40, Swing: 0.5, Capacity: 100, Limit: 50 * time.Millisecond},
	}
}

// watch adds up how long services do not keep their latency: from their arrival
// until they end, while they are slower than the rate of requests asks for, start,
// or have no GPU.
type watch struct {
	services map[string]*watched
	late     time.Duration
}

type watched struct {
	*sim.Task
	speed       float64
	since, from time.Duration // speed is of since; nothing is served before from
	gone        bool
}

// newWatch watches the services among some tasks; nil if there are none.
func newWatch(tasks []sim.Task) *watch {
	w := &watch{services: map[string]*watched{}}
	for i := range tasks {
		if tasks[i].Service != nil {
			w.services[tasks[i].ID] = &watched{Task: &tasks[i], since: tasks[i].Arrival}
		}
	}
	if len(w.services) == 0 {
		return nil
	}
	return w
}

// note follows one event of a simulation.
func (w *watch) note(e *sim.Event) {
	s := w.services[e.Task]
	if s == nil {
		return
	}
	w.count(s, e.At)
	switch e.Kind {
	case sim.Start, sim.Recovery:
		s.speed, s.from = 1, e.At+s.Startup
	case sim.SpeedChange:
		s.speed = e.Speed
	case sim.Preemption, sim.OutOfMemory, sim.GPULoss:
		s.speed = 0
	case sim.Finish, sim.Failure:
		s.gone = true
	default:
	}
}

// finish counts what services that still run did until the end, in no order that
// matters to a sum of whole nanoseconds.
func (w *watch) finish(at time.Duration) {
	for _, s := range w.services {
		w.count(s, at)
	}
}

// step is how finely the swing of the rate is followed.
const step = time.Minute

// count adds the time up to now in which a service is too slow, in steps of a
// minute.
func (w *watch) count(s *watched, now time.Duration) {
	for at := s.since; at < now && !s.gone; {
		to := min(now, at+step)
		if at < s.from {
			to = min(to, s.from)
		}
		if at < s.from || s.speed < s.Service.Floor(at+(to-at)/2) {
			w.late += to - at
		}
		at = to
	}
	s.since = max(s.since, now)
}
