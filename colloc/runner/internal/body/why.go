package body

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/packer"
)

// Expectation is when a task starts and ends. At is what is thought, Lo and Hi if all that is left took half as long,
// or twice as long.
type Expectation struct{ Start, End Span }

// Span is a time, and the least and the most of it.
type Span struct{ At, Lo, Hi time.Time }

// Expect is when tasks that run or wait start and end; see [dispatch.Dispatcher.Expect].
func (b *Body) Expect() map[string]Expectation {
	span := func(r dispatch.Range) Span {
		return Span{b.time(r.Value).Round(time.Second), b.time(r.Lo).Round(time.Second), b.time(r.Hi).Round(time.Second)}
	}
	all := b.d.Expect()
	out := make(map[string]Expectation, len(all))
	for id, x := range all {
		out[id] = Expectation{span(x.Start), span(x.End)}
	}
	return out
}

// WhyNow is Why for who only wants to know; known is false where the Dispatcher has not heard of the task, or holds it
// because the body said so.
func (b *Body) WhyNow(e *backlog.Entry) (text string, known bool) {
	t := b.of[e]
	if t == nil || t.run > 0 || t.held {
		return "", false
	}
	text, _ = b.Why(e)
	return text, true
}

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
	if why.Code == dispatch.ForOthers && len(t.barred) > 0 {
		return "GPU " + strings.Join(t.barred, ", ") + fleet.OneUser, nil
	}
	if why.Code == dispatch.Room && why.Placing.Code != packer.Undecided {
		never = b.fleet.Never(e, &why.Placing)
	}
	return cmp.Or(strings.TrimPrefix(b.words(&why), e.Task.ID+" waits: "), "for its turn"), never
}

// words is a reason in a sentence for whoever waits, with the times of a calendar.
func (b *Body) words(why *dispatch.Reason) string {
	until := ""
	if at, ok := why.Until.Get(); ok {
		until = ": until " + b.time(at).Local().Format(time.DateTime)
	}
	switch l := &why.Limits; why.Code {
	case dispatch.Refusals:
		return fmt.Sprintf("starts were refused, the last on GPU %s (%s)%s", why.Name, why.Detail, until)
	case dispatch.OverQuota:
		had := time.Duration(0)
		for _, spent := range why.Used.Hours {
			had += spent
		}
		return fmt.Sprintf("its user had %v of GPU time in the window, of the %v that one may have%s", had.Round(time.Minute), l.Quota, until)
	case dispatch.OverLimit:
		if most, set := l.GPUs.Get(); set {
			return fmt.Sprintf("its user has %d GPUs, shared ones counted, of the %d that one may have at once", why.GPUs, most)
		}
		return fmt.Sprintf("its user runs %d of the %v that one may run at once", why.Jobs, l.Jobs)
	case dispatch.ForOthers:
		return why.Placing.String()
	default:
		return why.String()
	}
}
