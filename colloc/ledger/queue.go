package ledger

import "time"

// leaseQueue holds the open leases by deadline. All run for the same time, so
// that the order of deadlines is that of arrival.
type leaseQueue struct{ head, tail *lease }

func (q *leaseQueue) push(l *lease) {
	l.prev, l.next = q.tail, nil
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
}

func (q *leaseQueue) remove(l *lease) {
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.prev, l.next = nil, nil
}

// stopwatch measures the time that passed as the sum of a clock's forward
// steps. A clock that is set back, by a moment or by a year, stands still for
// one step; what it showed before does not come again. No step counts for more
// than limit, the longest time anyone waits for, so that leaps cannot exhaust
// the range of elapsed, of which only differences mean something.
type stopwatch struct {
	last    time.Time
	elapsed time.Duration
	limit   time.Duration
}

// read returns the clock's time.
func (w *stopwatch) read(clock func() time.Time) time.Time {
	now := clock()
	if step := now.Sub(w.last); step > 0 && !w.last.IsZero() {
		w.elapsed += min(step, w.limit)
	}
	w.last = now
	return now
}
