package body

import (
	"cmp"
	"strings"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/packer"
)

// Tried reports whether a task found no place at the last decision: others may pass it.
func (b *Body) Tried(e *backlog.Entry) bool { t := b.of[e]; return t != nil && t.run == 0 && t.tried }

// Unjudged are the tasks that wait and of which nobody asked yet whether they ever can start: those that are new,
// and after cards came or went, all.
func (b *Body) Unjudged() (all []*backlog.Entry) {
	for _, t := range b.known {
		if t.run == 0 && !t.judged {
			t.judged = true
			all = append(all, t.Entry)
		}
	}
	return all
}

// Why says what a task waits for; never is an error if that cannot come, see [fleet.Fleet.Never].
func (b *Body) Why(e *backlog.Entry) (text string, never error) {
	t := b.of[e]
	if t == nil {
		return "for its turn", nil
	}
	why, err := b.d.Why(e.Task.ID)
	if err != nil {
		return "for its turn", nil //nolint:nilerr // nobody knows
	}
	if why.Code == dispatch.Room && why.Placing.Code != packer.Undecided {
		never = b.fleet.Never(e, &why.Placing)
	}
	return cmp.Or(strings.TrimPrefix(why.String(), e.Task.ID+" waits: "), "for its turn"), never
}
