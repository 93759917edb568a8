package runner

import (
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// attribute divides the processes on a card between tasks and others. In a
// container the driver may list none, or name them as the host does; then nothing
// tells which are the tasks'.
func (s *seen) attribute(processes []nvmlx.Process, sessions map[int]*entry) {
	s.tasks, s.processes = make(map[*entry]profile.Opt[float64]), processes
	unseen := len(processes) == 0
	for i := range processes {
		p := &processes[i]
		known := ledger.Process{PID: p.PID, Memory: p.MemUsed}
		pid := p.InnerPID.Or(p.PID)
		if e, ok := supervise.Owner(pid, sessions); ok {
			known.Task = e.Task.ID
			share := s.tasks[e]
			if busy, ok := p.SMBusy.Get(); ok {
				share = profile.Some(share.Or(0) + busy)
			}
			s.tasks[e] = share
		} else if _, err := supervise.Find(pid); err != nil && pid > 0 {
			unseen = true
		}
		s.usage.Processes = append(s.usage.Processes, known)
	}
	s.blind = unseen && len(s.tasks) == 0 && len(s.there) > 0
}

// ascribe makes do where nothing tells whose the memory is: a task that is alone
// on the card holds what the memory in use has grown by since the card was last
// seen without tasks. Of several tasks none is told, only that they are there.
func (c *card) ascribe(s *seen) {
	if len(s.there) == 0 && len(c.entries) == 0 {
		c.idle = s.usage.Used
	}
	if !s.blind {
		return
	}
	s.usage.Processes = nil
	for _, e := range c.entries {
		if e.PID != 0 {
			s.usage.Processes = append(s.usage.Processes, ledger.Process{PID: e.PID, Task: e.Task.ID})
		}
	}
	used, ok1 := s.usage.Used.Get()
	idle, ok2 := c.idle.Get()
	if ok1 && ok2 && len(s.usage.Processes) == 1 && len(c.entries) == 1 && len(s.there) == 1 && s.there[0] == c.entries[0] {
		s.usage.Processes[0].Memory = profile.Some(max(0, used-idle))
	}
}

// seen is what one look found out about a card.
type seen struct {
	usage ledger.Usage
	busy  profile.Opt[float64]
	tasks map[*entry]profile.Opt[float64] // tasks with processes there -> their share of time
	there []*entry                        // had been started there before it was read
	blind bool                            // nothing tells which processes are the tasks'
	err   error

	processes []nvmlx.Process
}
