package ledger

import (
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
		switch {
		case a == nil:
			found = append(found, Discrepancy{Kind: UnknownGPU, GPU: u.GPU, Used: u.total()})
		case visited[u.GPU]:
			found = append(found, Discrepancy{Kind: BadReading, GPU: u.GPU, Text: "the GPU was read twice"})
		default:
			visited[u.GPU] = u.check() == nil
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

// Seat is what a task has on one GPU. Late says that it should have a process there by now.
type Seat struct {
	Task     string
	Reserved profile.Bytes
	Late     bool
}

// Divide says whose the memory is that was seen on a GPU: what each of the tasks uses that have seats there, in their
// order, what others do, and what differs from what should be. booked reports whether a task has a seat elsewhere; overhead is
// [Config].Overhead. A reading that cannot be true is the only thing found, and used is nil. [Ledger.Reconcile] says the rest.
func (u *Usage) Divide(seats []Seat, booked func(task string) bool, overhead profile.Bytes) (used []profile.Bytes, foreign profile.Bytes, found []Discrepancy) {
	if err := u.check(); err != nil {
		return nil, 0, []Discrepancy{{Kind: BadReading, GPU: u.GPU, Text: err.Error()}}
	}
	used = make([]profile.Bytes, len(seats))
	seen, hidden := make([]bool, len(seats)), make([]bool, len(seats)) // it has a process; has one whose memory is not told
	index := make(map[string]int, len(seats))
	for i, s := range seats {
		index[s.Task] = i
	}
	for _, p := range u.Processes {
		held, told := p.Memory.Get()
		if i, ok := index[p.Task]; ok {
			seen[i], hidden[i] = true, hidden[i] || !told
			used[i] = plus(used[i], held)
			continue
		}
		foreign = plus(foreign, held)
		kind := Foreign
		if booked(p.Task) {
			kind = Stray
		}
		found = append(found, Discrepancy{Kind: kind, GPU: u.GPU, Task: p.Task, PID: p.PID, Used: held})
	}
	rest := u.total() - u.held() // nobody accounts for it
	for i, s := range seats {
		if hidden[i] {
			rest -= min(rest, max(0, s.Reserved-used[i]))
		}
		d := Discrepancy{GPU: u.GPU, Task: s.Task, Reserved: s.Reserved, Used: used[i]}
		switch {
		case used[i] > s.Reserved:
			d.Kind = Overuse
		case !seen[i] && s.Late:
			d.Kind = Absent
		default:
			continue
		}
		found = append(found, d)
	}
	if rest -= overhead; rest > 0 {
		foreign = plus(foreign, rest)
		found = append(found, Discrepancy{Kind: Zombie, GPU: u.GPU, Used: rest})
	}
	return used, foreign, found
}

// reconcile does one GPU, if its reading can be true.
func (l *Ledger) reconcile(a *account, u *Usage) []Discrepancy {
	seats := make([]Seat, len(a.seats))
	for i, s := range a.seats {
		seats[i] = Seat{Task: s.task.ID, Reserved: s.task.Reserved, Late: s.lease.committed && l.clock.elapsed-s.since >= l.config.StartTime}
	}
	used, foreign, found := u.Divide(seats, func(task string) bool { return len(l.seats[task]) > 0 }, l.config.Overhead.Or(0))
	if used == nil {
		return found
	}
	before, had := plus(a.foreign, a.booked), a.foreign
	for i, s := range a.seats {
		s.used = used[i]
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
