package gpuinfo

import (
	"context"
	"slices"

	"example.com/colloc/nvmlx"
)

// board gathers the samples of one moment, so that they are printed in the order
// of the devices and not in that of their arrival.
type board struct {
	host    *host
	out     printer
	moment  []nvmlx.Sample
	means   []means // by device
	alive   int     // devices that can still be heard of
	left    int     // moments to print; negative is no limit
	enough  context.CancelFunc
	flush   func() error
	stopped bool
}

func newBoard(h *host, out printer, n int, enough context.CancelFunc, flush func() error) *board {
	b := &board{host: h, out: out, means: make([]means, len(h.devices)), alive: len(h.devices), left: n, enough: enough, flush: flush}
	if n == 0 {
		b.left = -1
	}
	return b
}

// see takes a sample. A device that comes again begins a new moment.
func (b *board) see(s nvmlx.Sample) {
	if slices.ContainsFunc(b.moment, func(o nvmlx.Sample) bool { return o.Device == s.Device }) {
		b.print()
	}
	b.moment = append(b.moment, s)
	b.full()
}

// event takes an event. A lost device is not waited for any more.
func (b *board) event(e nvmlx.Event) {
	if b.stopped {
		return
	}
	b.out.event(e)
	if e.Kind == nvmlx.EventLost {
		b.alive--
		b.full()
	}
}

// full prints a moment that is complete.
func (b *board) full() {
	if len(b.moment) >= b.alive {
		b.print()
	}
}

// print prints the moment.
func (b *board) print() {
	if b.stopped || len(b.moment) == 0 {
		return
	}
	slices.SortFunc(b.moment, func(x, y nvmlx.Sample) int { return b.host.index[x.Device] - b.host.index[y.Device] })
	b.out.tick(b.moment)
	for i := range b.moment {
		b.means[b.host.index[b.moment[i].Device]].add(&b.moment[i])
	}
	b.moment = b.moment[:0]
	b.left--
	if err := b.flush(); err != nil || b.left == 0 {
		b.stopped = true
		b.enough()
	}
}

// end prints what is left and the diagnoses.
func (b *board) end() {
	b.print()
	for i, d := range b.host.devices {
		if d.MIG == nil || len(d.MIG.Instances) == 0 { // else its instances speak for it
			b.out.diagnosis(diagnose(d, &b.means[i]))
		}
	}
}
