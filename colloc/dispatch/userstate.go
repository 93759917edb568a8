package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// userPage is a user.
type userPage struct {
	Name    string        `json:"name"`
	Told    Limits        `json:"told,omitzero"`
	At      time.Duration `json:"at_ns"`
	Recent  float64       `json:"recent,omitempty"`
	GPU     float64       `json:"gpu,omitempty"`
	Wait    float64       `json:"wait,omitempty"`
	Started int           `json:"started,omitempty"`
	Deaths  int           `json:"deaths,omitempty"`
	Hours   []hour        `json:"hours,omitempty"`
	Over    bool          `json:"over,omitempty"`
	Away    away          `json:"away,omitzero"`
}

// userPages are all users, by name.
func (d *Dispatcher) userPages() []userPage {
	var pages []userPage
	for _, name := range slices.Sorted(maps.Keys(d.users)) {
		u := d.users[name]
		pages = append(pages, userPage{name, u.told, u.at, u.recent, u.gpu, u.wait, u.started, u.deaths, u.hours, u.over, u.away})
	}
	return pages
}

// restoreUsers sets the accounts, once the runs are in the books.
func (d *Dispatcher) restoreUsers(pages []userPage) error {
	for i := range pages {
		p := &pages[i]
		if i > 0 && p.Name <= pages[i-1].Name {
			return fmt.Errorf("users[%d]: %w: want them by name", i, ErrDuplicate)
		}
		if err := p.Told.check(); err != nil {
			return fmt.Errorf("users[%d]: %w", i, err)
		}
		if err := p.check(d.now); err != nil {
			return fmt.Errorf("users[%d]: %w", i, err)
		}
		u := d.user(p.Name)
		u.told, u.at, u.over = p.Told, p.At, p.Over
		u.hold(p.Away)
		u.spent = spent{p.Recent, p.GPU, p.Wait, p.Started, p.Deaths, p.Hours}
	}
	for _, name := range slices.Sorted(maps.Keys(d.users)) {
		d.limit(name)
	}
	return nil
}

func (p *userPage) check(now time.Duration) error {
	if p.At < 0 || p.At > now || min(p.Recent, p.GPU, p.Wait) < 0 || p.Started < 0 || p.Deaths < 0 || min(p.Away.Jobs, p.Away.GPUs) < 0 || max(p.Away.Jobs, p.Away.GPUs) > maxAway {
		return errors.New("a number is out of its range")
	}
	for k, h := range p.Hours {
		if h.Seconds < 0 || h.Hour < 0 || h.Hour > hourOf(now) || k > 0 && h.Hour <= p.Hours[k-1].Hour {
			return fmt.Errorf("hours[%d]: %v s in hour %d", k, h.Seconds, h.Hour)
		}
	}
	return nil
}
