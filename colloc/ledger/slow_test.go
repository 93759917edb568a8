package ledger_test

import (
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// slowBooks is the obvious twin of a Ledger: one list of entries, searched for
// everything, and a copy of the list for every version.
type slowBooks struct {
	gpus      []colloc.GPU
	maxSet    int
	leaseTime time.Duration
	entries   []slowEntry
	history   []slowMoment             // by version
	foreign   map[string]profile.Bytes // by GPU
	added     map[string]uint64        // by GPU: the version at which it was replaced
	elapsed   time.Duration
	leases    uint64
}

// slowMoment is everything as it was at one version.
type slowMoment struct {
	entries []slowEntry
	foreign map[string]profile.Bytes
}

type slowEntry struct {
	claim     ledger.Claim
	lease     uint64
	committed bool
	deadline  time.Duration
	used      profile.Bytes
}

func (e *slowEntry) charge() profile.Bytes { return max(e.claim.Task.Reserved, e.used) }

func newSlowBooks(c ledger.Config) *slowBooks {
	s := &slowBooks{gpus: c.GPUs, maxSet: c.MaxSet, leaseTime: c.LeaseTime, foreign: make(map[string]profile.Bytes), added: make(map[string]uint64)}
	s.remember()
	return s
}

// remember ends a change: its version is the index of what was remembered.
func (s *slowBooks) remember() {
	s.history = append(s.history, slowMoment{slices.Clone(s.entries), maps.Clone(s.foreign)})
}

func (s *slowBooks) version() uint64 { return uint64(len(s.history) - 1) }

func (s *slowBooks) find(task string) *slowEntry {
	for i := range s.entries {
		if s.entries[i].claim.Task.ID == task {
			return &s.entries[i]
		}
	}
	return nil
}

func slowOn(gpu string, entries []slowEntry) []slowEntry {
	var there []slowEntry
	for _, e := range entries {
		if e.claim.GPU == gpu {
			there = append(there, e)
		}
	}
	return there
}

// fits checks the limits of one GPU with everything that entries put there.
func (s *slowBooks) fits(gpu string, entries []slowEntry) bool {
	there := slowOn(gpu, entries)
	var sum profile.Bytes
	alone := false
	for _, e := range there {
		sum += e.charge()
		alone = alone || e.claim.Task.Alone
	}
	for _, g := range s.gpus {
		if g.ID == gpu {
			offer := g.Memory - profile.BytesOf(float64(g.Memory)*0.1) - s.foreign[gpu]
			return sum <= offer && len(there) <= s.maxSet && (len(there) == 1 || !alone)
		}
	}
	return false
}

// slowJoined reports whether after has a task on the GPU that before has not.
func slowJoined(gpu string, before, after []slowEntry) bool {
	return slices.ContainsFunc(slowOn(gpu, after), func(e slowEntry) bool {
		return !slices.ContainsFunc(before, func(o slowEntry) bool {
			return o.lease == e.lease && o.claim.Task.ID == e.claim.Task.ID
		})
	})
}

// load is what everything on a GPU counts for.
func (m *slowMoment) load(gpu string) profile.Bytes {
	total := m.foreign[gpu]
	for _, e := range slowOn(gpu, m.entries) {
		total += e.charge()
	}
	return total
}

// fuller reports whether the GPU got fuller at some moment after seen.
func (s *slowBooks) fuller(gpu string, seen uint64) bool {
	if s.added[gpu] > seen {
		return true
	}
	for v := int(seen) + 1; v < len(s.history); v++ {
		before, after := &s.history[v-1], &s.history[v]
		if slowJoined(gpu, before.entries, after.entries) || after.load(gpu) > before.load(gpu) {
			return true
		}
	}
	return false
}

// reserve returns "", "conflict", "full", "full, conflict" or "duplicate".
func (s *slowBooks) reserve(seen uint64, claims []ledger.Claim) string {
	after := slices.Clone(s.entries)
	for _, c := range claims {
		for _, e := range after {
			if e.claim.Task.ID == c.Task.ID {
				return "duplicate"
			}
		}
		after = append(after, slowEntry{claim: c, lease: s.leases + 1, deadline: s.elapsed + s.leaseTime})
		switch full := !s.fits(c.GPU, after); {
		case full && s.fuller(c.GPU, seen):
			return "full, conflict"
		case full:
			return "full"
		case slowJoined(c.GPU, s.history[seen].entries, s.entries):
			return "conflict"
		}
	}
	s.leases++
	s.entries = after
	s.remember()
	return ""
}

// end removes what a condition selects and reports whether that was anything.
func (s *slowBooks) end(over func(*slowEntry) bool) bool {
	before := len(s.entries)
	s.entries = slices.DeleteFunc(slices.Clone(s.entries), func(e slowEntry) bool { return over(&e) })
	return len(s.entries) < before
}

// pass lets time go by; each lease that is over is a change.
func (s *slowBooks) pass(d time.Duration) {
	s.elapsed += max(0, d)
	over := func(e slowEntry) bool { return !e.committed && e.deadline <= s.elapsed }
	for {
		first := slices.IndexFunc(s.entries, over)
		if first < 0 {
			return
		}
		lease := s.entries[first].lease
		s.end(func(e *slowEntry) bool { return e.lease == lease })
		s.remember()
	}
}

func (s *slowBooks) commit(lease uint64) string {
	found, fresh := false, false
	for i := range s.entries {
		if e := &s.entries[i]; e.lease == lease {
			found, fresh = true, fresh || !e.committed
			e.committed = true
		}
	}
	if fresh {
		s.remember()
	}
	if !found {
		return "over"
	}
	return ""
}

func (s *slowBooks) rollback(lease uint64) string {
	for _, e := range s.entries {
		if e.lease == lease && e.committed {
			return "committed"
		}
	}
	if s.end(func(e *slowEntry) bool { return e.lease == lease }) {
		s.remember()
	}
	return ""
}

func (s *slowBooks) release(task string) string {
	switch e := s.find(task); {
	case e == nil:
		return "unknown"
	case !e.committed:
		return "open"
	}
	s.end(func(e *slowEntry) bool { return e.claim.Task.ID == task })
	s.remember()
	return ""
}

// replace takes a GPU out and puts an empty one in its place: open leases that
// hold some of it are over as a whole, of committed ones what is there.
func (s *slowBooks) replace(gpu string) {
	open := make(map[uint64]bool)
	for _, e := range slowOn(gpu, s.entries) {
		open[e.lease] = open[e.lease] || !e.committed
	}
	s.end(func(e *slowEntry) bool { return open[e.lease] || e.claim.GPU == gpu })
	s.foreign[gpu] = 0
	s.remember()
	s.remember()
	s.added[gpu] = s.version()
}

// observe lets what was seen on one GPU count.
func (s *slowBooks) observe(gpu string, foreign profile.Bytes, used map[string]profile.Bytes) {
	before := (&slowMoment{s.entries, s.foreign}).load(gpu)
	s.foreign[gpu] = foreign
	for i := range s.entries {
		if e := &s.entries[i]; e.claim.GPU == gpu {
			e.used = used[e.claim.Task.ID]
		}
	}
	if (&slowMoment{s.entries, s.foreign}).load(gpu) != before {
		s.remember()
	}
}
