package station

import (
	"maps"
	"math"
	"strconv"
	"sync"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// closing keeps jobs from starting on a GPU: those of all users, or of all but one.
type closing struct {
	// Reserved says that it is for UID alone until Until; without, nobody starts there.
	Reserved bool      `json:"reserved,omitempty"`
	UID      uint32    `json:"uid,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// account is what one user had.
type account struct {
	// Recent is GPU time in seconds of which half is forgotten with every half-life; GPU and
	// Saved are of all times, see api.User. Hours is GPU time by the hour, counted from 1970. The
	// runner counts all of them but Saved.
	Recent float64           `json:"recent"`
	GPU    float64           `json:"gpu"`
	Saved  float64           `json:"saved"`
	Hours  map[int64]float64 `json:"hours,omitempty"`
	// Wait is the time that jobs waited for their first start, of which there were Started.
	Wait    float64 `json:"wait"`
	Started int     `json:"started"`
	// OutOfMemory counts runs that ran out of the GPU's memory, Overruns those that were
	// stopped because they used more than was reserved.
	OutOfMemory int `json:"out_of_memory"`
	Overruns    int `json:"overruns,omitempty"`
}

// keptTurns is what survives the daemon.
type keptTurns struct {
	Draining bool                       `json:"draining,omitempty"`
	Closed   map[nvmlx.DeviceID]closing `json:"closed,omitempty"`
	Accounts map[uint32]*account        `json:"accounts,omitempty"`
	// Charged is when it was counted last who has GPUs.
	Charged time.Time `json:"charged,omitzero"`
}

// turns is which GPUs are closed, and what users had beside what the runner counts. It is safe for concurrent use.
type turns struct {
	config *Config
	runner *runner.Runner // nil until attach

	mu   sync.Mutex
	kept keptTurns
}

// newTurns goes on with what was kept.
func newTurns(c *Config, kept keptTurns) *turns {
	t := &turns{config: c, kept: kept}
	if t.kept.Closed == nil {
		t.kept.Closed = make(map[nvmlx.DeviceID]closing)
	}
	maps.DeleteFunc(t.kept.Accounts, func(_ uint32, a *account) bool { return a == nil })
	if t.kept.Accounts == nil {
		t.kept.Accounts = make(map[uint32]*account)
	}
	return t
}

// attach tells the runner what was kept. Who has GPUs had them while the daemon was away.
func (t *turns) attach(r *runner.Runner, tenants map[nvmlx.DeviceID][]tenant) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runner = r
	r.Pause(t.kept.Draining)
	for id := range t.kept.Closed {
		t.tell(id)
	}
	now := t.config.Clock.Now()
	if away := now.Sub(t.kept.Charged).Seconds(); !t.kept.Charged.IsZero() && away > 0 {
		for _, a := range t.kept.Accounts {
			a.Recent *= math.Exp2(-away / t.config.HalfLife.Seconds())
		}
		for _, there := range tenants {
			for _, who := range there {
				had := min(away, max(0, now.Sub(who.since).Seconds())) / float64(len(there))
				a := t.account(who.uid)
				a.Recent, a.GPU = a.Recent+had, a.GPU+had
				if a.Hours == nil {
					a.Hours = make(map[int64]float64)
				}
				a.Hours[now.Unix()/int64(time.Hour/time.Second)] += had
			}
		}
	}
	used := make(map[string]runner.Used)
	span := func(seconds float64) time.Duration { return time.Duration(max(0, seconds) * float64(time.Second)) }
	for uid, a := range t.kept.Accounts {
		u := runner.Used{Recent: span(a.Recent), GPU: span(a.GPU), Hours: make(map[int64]time.Duration)}
		for hour, seconds := range a.Hours {
			if hour >= 0 && hour <= now.Unix()/int64(time.Hour/time.Second) { // a clock was set back
				u.Hours[hour] = span(seconds)
			}
		}
		used[userName(uid)] = u
	}
	return r.Account(used)
}

// userName is what the runner calls a user.
func userName(uid uint32) string { return strconv.FormatUint(uint64(uid), 10) }

// users are the rules for the runner.
func (c *Config) users() *runner.Users {
	u := &runner.Users{HalfLife: c.HalfLife, Window: c.QuotaWindow, Limits: map[string]runner.Limits{"": {GPUs: unlessZero(c.MaxGPUs), Quota: unlessZero(c.Quota)}}}
	for uid, l := range c.Limits {
		u.Limits[userName(uid)] = runner.Limits{GPUs: unlessZero(l.MaxGPUs), Quota: unlessZero(l.Quota)}
	}
	for uid, w := range c.Weights {
		l := u.Limits[userName(uid)]
		l.Weight = min(w, maxWeight)
		u.Limits[userName(uid)] = l
	}
	return u
}

// unlessZero is a limit of a file of settings, where 0 is none.
func unlessZero[T comparable](most T) profile.Opt[T] {
	if most == *new(T) {
		return profile.Opt[T]{}
	}
	return profile.Some(most)
}

// maxWeight is the most that a Dispatcher takes.
const maxWeight = 1e9

// Keep returns what must survive the daemon.
func (t *turns) Keep() keptTurns {
	all := t.Accounts()
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept
	k.Closed, k.Accounts = maps.Clone(t.kept.Closed), make(map[uint32]*account, len(all))
	for uid, a := range all {
		k.Accounts[uid] = &a
	}
	return k
}

// Draining reports whether nothing starts.
func (t *turns) Draining() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.Draining
}

// Drain lets nothing start any more, or lets things start again.
func (t *turns) Drain(drain bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Draining = drain
	t.runner.Pause(drain)
}

// Close closes GPUs; nil opens them.
func (t *turns) Close(how *closing, ids ...nvmlx.DeviceID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if how == nil {
			delete(t.kept.Closed, id)
		} else {
			t.kept.Closed[id] = *how
		}
		t.tell(id)
	}
}

// tell tells the runner how a GPU is closed.
func (t *turns) tell(id nvmlx.DeviceID) {
	switch c, ok := t.kept.Closed[id]; {
	case !ok:
		t.runner.Reserve(id)
	case c.Reserved:
		t.runner.Reserve(id, runner.Reservation{User: userName(c.UID), Until: c.Until})
	default:
		t.runner.Reserve(id, runner.Reservation{})
	}
}

// Closed returns how a GPU is closed; nil if it is not, or not any more.
func (t *turns) Closed(id nvmlx.DeviceID) *closing {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.kept.Closed[id]
	if ok && c.Reserved && !t.config.Clock.Now().Before(c.Until) {
		delete(t.kept.Closed, id)
		return nil
	}
	if !ok {
		return nil
	}
	return &c
}

// tenant is a job on a GPU: whose, how fast as a fraction of its speed alone, and since when.
type tenant struct {
	uid   uint32
	speed float64
	since time.Time
}

// Charge notes what sharing saved since the last call: what jobs did beyond their equal parts.
func (t *turns) Charge(now time.Time, gpus map[nvmlx.DeviceID][]tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.kept.Charged
	t.kept.Charged = now
	if last.IsZero() || !now.After(last) {
		return
	}
	for _, tenants := range gpus {
		for _, who := range tenants {
			if len(tenants) > 1 {
				seconds := min(now.Sub(last), max(0, now.Sub(who.since))).Seconds()
				t.account(who.uid).Saved += seconds * (who.speed - 1/float64(len(tenants)))
			}
		}
	}
}

// note changes what a user had.
func (t *turns) note(uid uint32, by func(a *account)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	by(t.account(uid))
}

func (t *turns) account(uid uint32) *account {
	a := t.kept.Accounts[uid]
	if a == nil {
		a = new(account)
		t.kept.Accounts[uid] = a
	}
	return a
}

// Accounts returns what every user had.
func (t *turns) Accounts() map[uint32]account {
	var counted map[string]runner.Account
	if t.runner != nil {
		counted = t.runner.Accounts() // it has a lock of its own
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range counted {
		if uid, err := strconv.ParseUint(name, 10, 32); err == nil {
			t.account(uint32(uid))
		}
	}
	all := make(map[uint32]account, len(t.kept.Accounts))
	for uid, a := range t.kept.Accounts {
		to := *a
		if c, ok := counted[userName(uid)]; ok {
			to.Recent, to.GPU, to.Hours = c.Recent.Seconds(), c.GPU.Seconds(), make(map[int64]float64)
			for hour, spent := range c.Hours {
				to.Hours[hour] = spent.Seconds()
			}
		}
		all[uid] = to
	}
	return all
}

// weight is how much of the station is due to a user, compared with others.
func (c *Config) weight(uid uint32) float64 {
	if w := c.Weights[uid]; w > 0 {
		return w
	}
	return 1
}

// shares are the parts of the station that are due to each of some users.
func (c *Config) shares(users []uint32) map[uint32]float64 {
	sum, share := 0.0, make(map[uint32]float64, len(users))
	for _, u := range users {
		sum += c.weight(u)
	}
	for _, u := range users {
		share[u] = c.weight(u) / math.Max(sum, math.SmallestNonzeroFloat64)
	}
	return share
}
