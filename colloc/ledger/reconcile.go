package ledger

import (
	"errors"
	"fmt"

	"example.com/colloc/profile"
)

// Usage is what was seen on one GPU at one moment. From package nvmlx:
//
//	u := ledger.Usage{GPU: id, Used: sample.MemUsed}
//	for _, p := range processes {
//		u.Processes = append(u.Processes, ledger.Process{PID: p.PID, Task: owner(p.PID), Memory: p.MemUsed})
//	}
type Usage struct {
	// GPU is the card's ID.
	GPU string
	// Used is the device memory in use; missing means the sum over Processes.
	Used profile.Opt[profile.Bytes]
	// Processes are all programs on the card, whoever started them.
	Processes []Process
}

// Process is one program on a GPU.
type Process struct {
	// PID is the process, for reports only.
	PID int
	// Task is the ID of the task that it belongs to, as far as the scheduler
	// can tell, for example by its control group; empty if it is unknown.
	// Several processes may belong to one task.
	Task string
	// Memory is the device memory that it holds, where the driver tells.
	Memory profile.Opt[profile.Bytes]
}

// Reconcile compares the books with what was seen, lets reality count from now
// on, and returns every difference, in the order of seen. On each GPU of seen
//
//	free = (1 - headroom) total - foreign - sum over tasks of max(reserved, used),
//
// where foreign is the memory of the processes that belong to no task of that
// GPU in the books, and what no process accounts for beyond
// [Config].Overhead. A process that carries no task counts as foreign even
// if it is a task's: label processes, or the memory counts twice, which is safe
// but wasteful. Memory that the driver ascribes to nobody is granted to tasks
// whose processes show none, up to their reservations.
//
// GPUs that are not in seen keep what was found last. A reading that cannot be
// true is reported and ignored. Nothing is stopped or moved: what follows from
// a discrepancy is the scheduler's decision. A discrepancy is reported by every
// call until it is gone. O(GPUs + processes + tasks).
func (l *Ledger) Reconcile(seen []Usage) []Discrepancy {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	var found []Discrepancy
	visited := make(map[string]bool, len(seen))
	for i := range seen {
		u := &seen[i]
		a := l.byID[u.GPU]
		err := u.check()
		switch {
		case a == nil:
			found = append(found, Discrepancy{Kind: UnknownGPU, GPU: u.GPU, Used: u.total()})
		case err == nil && visited[u.GPU]:
			err = errors.New("the GPU was read twice")
			fallthrough
		case err != nil:
			found = append(found, Discrepancy{Kind: BadReading, GPU: u.GPU, Text: err.Error()})
		default:
			visited[u.GPU] = true
			found = append(found, l.reconcile(a, u)...)
		}
	}
	for i := range found {
		found[i].Text = found[i].text("task")
	}
	return found
}

// check reports why a reading cannot be true.
func (u *Usage) check() error {
	if used := u.Used.Or(0); used < 0 || used > maxMemory {
		return fmt.Errorf("memory in use is %d bytes, want 0 to %v", int64(used), maxMemory)
	}
	for _, p := range u.Processes {
		if m := p.Memory.Or(0); m < 0 || m > maxMemory {
			return fmt.Errorf("process %d holds %d bytes, want 0 to %v", p.PID, int64(m), maxMemory)
		}
	}
	return nil
}

// total is the memory in use: at least what the processes hold.
func (u *Usage) total() profile.Bytes {
	return max(u.Used.Or(0), u.held())
}

// held is the memory that processes account for.
func (u *Usage) held() profile.Bytes {
	var sum profile.Bytes
	for _, p := range u.Processes {
		sum = plus(sum, max(0, p.Memory.Or(0)))
	}
	return sum
}

// presence is what was seen of one task on its GPU.
type presence struct {
	used   profile.Bytes
	seen   bool // has a process
	hidden bool // has a process whose memory is not told
}

// reconcile does one GPU.
func (l *Ledger) reconcile(a *account, u *Usage) []Discrepancy {
	there, foreign, found := l.attribute(a, u)
	rest := u.total() - u.held() // nobody accounts for it
	before, had := plus(a.foreign, a.booked), a.foreign
	for i, s := range a.seats {
		p := &there[i]
		s.used = p.used
		if p.hidden {
			grant := min(rest, max(0, s.task.Reserved-p.used))
			rest -= grant
		}
		d := Discrepancy{GPU: u.GPU, Task: s.task.ID, Reserved: s.task.Reserved, Used: p.used}
		switch {
		case p.used > s.task.Reserved:
			d.Kind = Overuse
		case !p.seen && s.lease.committed && l.clock.elapsed-s.since >= l.config.StartTime:
			d.Kind = Absent
		default:
			continue
		}
		found = append(found, d)
	}
	if rest -= l.config.Overhead.Or(0); rest > 0 {
		foreign = plus(foreign, rest)
		found = append(found, Discrepancy{Kind: Zombie, GPU: u.GPU, Used: rest})
	}
	a.foreign = foreign
	a.recount()
	if after := plus(a.foreign, a.booked); after != before {
		l.version++
		if after > before {
			a.tightened = l.version
		}
		if l.config.ForeignResidents && foreign > had {
			a.remade = l.version
		}
	}
	if a.free() < 0 {
		found = append(found, Discrepancy{Kind: Overcommitted, GPU: u.GPU, Reserved: a.booked, Used: a.foreign, Short: -a.free()})
	}
	return found
}

// attribute divides the processes' memory between the tasks of the GPU and
// foreigners.
func (l *Ledger) attribute(a *account, u *Usage) (there []presence, foreign profile.Bytes, found []Discrepancy) {
	there = make([]presence, len(a.seats))
	index := make(map[string]int, len(a.seats))
	for i, s := range a.seats {
		index[s.task.ID] = i
	}
	for _, p := range u.Processes {
		held, told := p.Memory.Get()
		if i, ok := index[p.Task]; ok {
			there[i].seen = true
			there[i].hidden = there[i].hidden || !told
			there[i].used = plus(there[i].used, held)
			continue
		}
		foreign = plus(foreign, held)
		kind := Foreign
		if len(l.seats[p.Task]) > 0 {
			kind = Stray
		}
		found = append(found, Discrepancy{Kind: kind, GPU: u.GPU, Task: p.Task, PID: p.PID, Used: held})
	}
	return there, foreign, found
}
