package turn

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

// Closing keeps jobs from starting on a GPU: those of all users, or of all but one.
type Closing struct {
	// Reserved says that it is for UID alone until Until; without, nobody starts there.
	Reserved bool      `json:"reserved,omitempty"`
	UID      uint32    `json:"uid,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Account is what one user had.
type Account struct {
	// Recent is GPU time in seconds of which half is forgotten with every half-life; GPU and
	// Saved are of all times, see api.User.
	Recent float64 `json:"recent"`
	GPU    float64 `json:"gpu"`
	Saved  float64 `json:"saved"`
	// Wait is the time that jobs waited for their first start, of which there were Started.
	Wait    float64 `json:"wait"`
	Started int     `json:"started"`
	// OutOfMemory counts runs that ran out of the GPU's memory, Overruns those that were
	// stopped because they used more than was reserved.
	OutOfMemory int `json:"out_of_memory"`
	Overruns    int `json:"overruns,omitempty"`
	// Hours is GPU time in seconds by the hour in which it was had, counted from 1970, of as
	// many hours as a quota looks back.
	Hours map[int64]float64 `json:"hours,omitempty"`
}

// Kept is what survives the daemon.
type Kept struct {
	Draining bool                       `json:"draining,omitempty"`
	Closed   map[nvmlx.DeviceID]Closing `json:"closed,omitempty"`
	// Accounts are by user; Mean is how much GPU time a run took of late, in seconds, of
	// Runs that were seen.
	Accounts map[uint32]*Account `json:"accounts,omitempty"`
	Mean     float64             `json:"mean,omitempty"`
	Runs     int                 `json:"runs,omitempty"`
	// Charged is when it was counted last who has GPUs.
	Charged time.Time `json:"charged,omitzero"`
}

// Policy says what is fair.
type Policy struct {
	// HalfLife is after how long GPU time counts half.
	HalfLife time.Duration
	// Weights are how much is due to users, compared with others; missing is 1.
	Weights map[uint32]float64
	// MaxGPUs is how many GPUs one user may have at once, a shared one counted for each job;
	// 0 is any number. Quota is how much GPU time a user may have in Window before no further
	// job of theirs starts; 0 is any. Users are those for whom something else holds; a zero in
	// there is what holds for all.
	MaxGPUs int
	Quota   time.Duration
	Window  time.Duration
	Users   map[uint32]Limit
}

// Limit is what holds for one user.
type Limit struct {
	MaxGPUs int
	Quota   time.Duration
}

// limit is what holds for a user.
func (p *Policy) limit(uid uint32) Limit {
	own := p.Users[uid]
	return Limit{MaxGPUs: cmp.Or(own.MaxGPUs, p.MaxGPUs), Quota: cmp.Or(own.Quota, p.Quota)}
}

// Turns implements runner.Turns. It is safe for concurrent use.
type Turns struct {
	now    func() time.Time
	policy Policy

	mu      sync.Mutex
	kept    Kept
	holding map[uint32]int // GPUs, by user, in the present pass
}

// New goes on with what was kept.
func New(now func() time.Time, policy Policy, kept Kept) *Turns {
	t := &Turns{now: now, policy: policy, kept: kept, holding: make(map[uint32]int)}
	t.kept.Accounts = make(map[uint32]*Account)
	for uid, a := range kept.Accounts {
		if a == nil {
			continue
		}
		t.kept.Accounts[uid] = &Account{}
		*t.kept.Accounts[uid] = a.clone()
	}
	t.kept.Closed = maps.Clone(kept.Closed)
	if t.kept.Closed == nil {
		t.kept.Closed = make(map[nvmlx.DeviceID]Closing)
	}
	return t
}

// Keep returns what must survive the daemon.
func (t *Turns) Keep() Kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept
	k.Closed = maps.Clone(t.kept.Closed)
	k.Accounts = make(map[uint32]*Account, len(t.kept.Accounts))
	for uid, a := range t.kept.Accounts {
		copied := a.clone()
		k.Accounts[uid] = &copied
	}
	return k
}

// Drain lets nothing start any more, or lets things start again.
func (t *Turns) Drain(drain bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Draining = drain
}

// Close closes GPUs; nil opens them.
func (t *Turns) Close(how *Closing, ids ...nvmlx.DeviceID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if how == nil {
			delete(t.kept.Closed, id)
		} else {
			t.kept.Closed[id] = *how
		}
	}
}

// Closed returns how a GPU is closed; nil if it is not, or not any more.
func (t *Turns) Closed(id nvmlx.DeviceID) *Closing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed(id)
}

func (t *Turns) closed(id nvmlx.DeviceID) *Closing {
	c, ok := t.kept.Closed[id]
	if !ok {
		return nil
	}
	if c.Reserved && !t.now().Before(c.Until) {
		delete(t.kept.Closed, id)
		return nil
	}
	return &c
}

func (a *Account) clone() Account {
	copied := *a
	copied.Hours = maps.Clone(a.Hours)
	return copied
}

func (t *Turns) account(uid uint32) *Account {
	a := t.kept.Accounts[uid]
	if a == nil {
		a = new(Account)
		t.kept.Accounts[uid] = a
	}
	return a
}

// uid is whose a job is.
func uid(r *queue.Record) uint32 {
	if r.Task.Owner == nil {
		return 0
	}
	return r.Task.Owner.UID
}
