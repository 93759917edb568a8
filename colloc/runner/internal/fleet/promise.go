package fleet

import (
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
)

// Promise takes over what other runners have reserved; active are the tasks of this
// one, which may stand on the page of the runner that they were adopted from.
func (f *Fleet) Promise(others []shared.Run, active []*backlog.Entry) {
	own := make(map[supervise.Process]bool)
	for _, e := range active {
		own[supervise.Process{PID: e.PID, Start: e.PIDStart}] = e.PID != 0
	}
	for _, c := range f.Cards {
		c.Promised = 0
	}
	for _, run := range others {
		if c := f.Card(nvmlx.DeviceID(run.GPU)); c != nil && !own[run.Process] {
			c.Promised += max(0, run.Reserved-c.usedBy(run.Process))
		}
	}
}

// Promises are what the tasks of this runner have reserved.
func Promises(active []*backlog.Entry) (own []shared.Run) {
	for _, e := range active {
		for _, id := range e.Devices() {
			own = append(own, shared.Run{GPU: string(id), Reserved: e.Reserved, Process: supervise.Process{PID: e.PID, Start: e.PIDStart}})
		}
	}
	return own
}
