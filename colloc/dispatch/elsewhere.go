package dispatch

import "fmt"

// away is what a user has where the Dispatcher does not look.
type away struct {
	Jobs int `json:"jobs,omitempty"`
	GPUs int `json:"gpus,omitempty"`
}

func (e Elsewhere) apply(d *Dispatcher) error {
	if max(e.Jobs, e.GPUs) > maxAway || min(e.Jobs, e.GPUs) < 0 {
		return fmt.Errorf("%w: %d jobs on %d GPUs; want 0 to %d", ErrInvalid, e.Jobs, e.GPUs, maxAway)
	}
	d.change(e.User, func(u *user) { u.hold(away{e.Jobs, e.GPUs}) })
	d.limit(e.User)
	return nil
}

const maxAway int = 1e9

// hold sets what a user has where the Dispatcher does not look.
func (u *user) hold(a away) {
	u.jobs, u.gpus, u.away = u.jobs+a.Jobs-u.away.Jobs, u.gpus+a.GPUs-u.away.GPUs, a
}
