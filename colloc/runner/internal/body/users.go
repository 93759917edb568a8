package body

import (
	"errors"
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/dispatch"
)

// Reserve says for whom a GPU is kept, from the next Sync on.
func (b *Body) Reserve(id string, of []Reservation) {
	if len(of) == 0 {
		delete(b.kept, id)
	} else {
		b.kept[id] = of
	}
}

// Accounts are those of users who had something, or were told of.
func (b *Body) Accounts() map[string]dispatch.Account { return b.d.Accounts() }

// Account tells what users had.
func (b *Body) Account(now time.Time, used map[string]dispatch.Used) error {
	b.clock(now)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(used)) {
		errs = append(errs, b.tell(dispatch.Accounted{User: name, Used: used[name]}))
	}
	return errors.Join(errs...)
}
