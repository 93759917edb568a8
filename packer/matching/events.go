package matching

// Events that concern one node have one of these for a head.
const (
	floorEvent  = -1 // tail is an outer vertex that may have reached its floor
	expandEvent = -2 // tail is an inner blossom that may have to open
)

// event is something that may happen when the dual change reaches at: edge
// tail-head with weight w becomes tight, or one of the above.
type event struct {
	at         int64
	w          int64
	tail, head int32
}

// eventHeap is a binary heap by time. Ties come out in an order that depends on
// the pushes alone. It is not container/heap because the calls through its
// interface would be half of the matching's time.
type eventHeap []event

func (h *eventHeap) push(e event) {
	q := append(*h, e)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if q[up].at <= e.at {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
	*h = q
}

func (h *eventHeap) pop() event {
	q := *h
	first, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return first
	}
	i := 0
	for {
		kid := 2*i + 1
		if kid >= len(q) {
			break
		}
		if kid+1 < len(q) && q[kid+1].at < q[kid].at {
			kid++
		}
		if last.at <= q[kid].at {
			break
		}
		q[i] = q[kid]
		i = kid
	}
	q[i] = last
	return first
}
