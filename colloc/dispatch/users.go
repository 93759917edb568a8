package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"example.com/colloc/profile"
)

// Limits say what a user may have. Missing, and a Weight of 0, is what holds for user "", and for that
// one any amount and a Weight of 1. 0 is none.
type Limits struct {
	// Weight is how much of the GPUs is due to the user, compared with others: see
	// Options.HalfLife.
	Weight float64 `json:"weight,omitempty"`
	// Jobs and GPUs are how many jobs of the user run at once, on how many GPUs, one that is shared
	// counted for each. Those that [Elsewhere] told of count.
	Jobs profile.Opt[int] `json:"jobs,omitzero"`
	GPUs profile.Opt[int] `json:"gpus,omitzero"`
	// Quota is how much GPU time the user may have in each Options.Window, a shared GPU counted
	// by equal parts. Once it is spent no job of the user starts; what runs runs on.
	Quota profile.Opt[time.Duration] `json:"quota_ns,omitzero"`
}

func (l *Limits) check() error {
	if !(l.Weight >= 0 && l.Weight <= maxWeight) || l.Jobs.Or(0) < 0 || l.GPUs.Or(0) < 0 || l.Quota.Or(0) < 0 {
		return fmt.Errorf("%w: Limits are %+v; want 0 or more, and a Weight of %g at most", ErrInvalid, *l, float64(maxWeight))
	}
	return nil
}

const maxWeight = 1e9

// keep reports whether limits keep a user from a job more on so many GPUs.
func (l *Limits) keep(u *user, gpus int) bool {
	return l.Jobs.Or(math.MaxInt) <= u.jobs || l.GPUs.Or(math.MaxInt) < u.gpus+gpus
}

// Used is what a user had. A GPU that was shared counts by equal parts.
type Used struct {
	// Recent is GPU time of which half is forgotten with each Options.HalfLife, GPU all of it.
	Recent time.Duration `json:"recent_ns,omitempty"`
	GPU    time.Duration `json:"gpu_ns,omitempty"`
	// Hours is GPU time of the last Options.Window, by the hour, counted from time 0.
	Hours map[int64]time.Duration `json:"hours_ns,omitempty"`
	// Wait is for how long jobs waited for their first start, of which there were Started.
	Wait    time.Duration `json:"wait_ns,omitempty"`
	Started int           `json:"started,omitempty"`
	// OutOfMemory counts the runs that ended for want of memory.
	OutOfMemory int `json:"out_of_memory,omitempty"`
}

// Account is how a user stands.
type Account struct {
	Limits Limits `json:"limits"` // that hold for the user
	Used
	// Waiting counts the jobs that wait; Running those that have GPUs, and GPUs how many those
	// are, a shared one counted for each. What [Elsewhere] told of is in them.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	GPUs    int `json:"gpus"`
}

// Accounts is how each user stands that had a job or was told of, as of the last call. It costs a
// look at each job.
func (d *Dispatcher) Accounts() map[string]Account {
	all := make(map[string]Account, len(d.users))
	for name, a := range d.users {
		all[name] = d.account(name, a)
	}
	for _, j := range d.order {
		if !j.gone && j.over == 0 && j.run == nil {
			a := all[j.User]
			a.Waiting++
			all[j.User] = a
		}
	}
	return all
}

func (d *Dispatcher) account(name string, u *user) Account {
	now := u.until(d.now, &d.o)
	a := Account{Limits: d.limits(name), Running: u.jobs, GPUs: u.gpus, Used: Used{
		Recent: span(now.recent), GPU: span(now.gpu), Wait: span(now.wait), Started: now.started, OutOfMemory: now.deaths,
	}}
	for _, h := range now.hours {
		if a.Hours == nil {
			a.Hours = map[int64]time.Duration{}
		}
		a.Hours[h.Hour] = span(h.Seconds)
	}
	return a
}

// span is a time of so many seconds.
func span(seconds float64) time.Duration {
	return time.Duration(min(seconds*float64(time.Second), 1<<62))
}

// user is an account. What changes of one is changed as a whole, by put; hours are only appended to.
type user struct {
	spent
	told Limits        // the user's own
	at   time.Duration // spent is up to then
	// parts are the GPUs that the user is charged for, in parts of whole; jobs and gpus what the
	// user has, shared ones counted for each.
	parts      int64
	jobs, gpus int
	away       away // of those
	over       bool // the quota is spent
}

// spent is what a user had, in seconds.
type spent struct {
	recent, gpu, wait float64
	started, deaths   int
	hours             []hour // ascending
}

// hour is GPU time that was had in an hour.
type hour struct {
	Hour    int64   `json:"hour"`
	Seconds float64 `json:"seconds"`
}

// whole is a GPU in parts: it can be shared by up to eight without rounding.
const whole = 840

func hourOf(at time.Duration) int64 { return int64(at / time.Hour) }

// until is what a user had up to a time.
func (u *user) until(at time.Duration, o *Options) spent {
	s := u.spent
	first := hourOf(at - o.Window)
	k := slices.IndexFunc(s.hours, func(h hour) bool { return h.Hour > first || at < o.Window })
	if k < 0 {
		k = len(s.hours)
	}
	s.hours = s.hours[k:]
	if at <= u.at {
		return s
	}
	gpus, seconds := float64(u.parts)/whole, (at - u.at).Seconds()
	if o.HalfLife > 0 {
		keep := halved(float64(at-u.at) / float64(o.HalfLife))
		s.recent = float64(s.recent*keep) + float64(gpus*o.HalfLife.Seconds()/math.Ln2*(1-keep))
	}
	s.gpu += float64(gpus * seconds)
	from := u.at
	if at >= o.Window {
		from = max(from, time.Duration(first+1)*time.Hour)
	}
	for gpus > 0 && from < at {
		h := hourOf(from)
		to := at
		if h < hourOf(at) {
			to = time.Duration(h+1) * time.Hour
		}
		s.add(h, float64(gpus*(to-from).Seconds()))
		from = to
	}
	return s
}

// add notes GPU time of an hour, not before the last one.
func (s *spent) add(h int64, seconds float64) {
	n := len(s.hours)
	if n > 0 && s.hours[n-1].Hour >= h {
		last := s.hours[n-1]
		s.hours = append(s.hours[:n-1:n-1], hour{last.Hour, last.Seconds + seconds})
		return
	}
	s.hours = append(slices.Clip(s.hours), hour{h, seconds})
}

// halved is 2^-x by operations that are exact to the last bit on every machine.
func halved(x float64) float64 {
	if x > 1000 {
		return 0
	}
	n := math.Floor(x)
	f, root := math.Ldexp(1, -int(n)), 0.5
	x -= n
	for bit := 0.5; x > 0 && bit > 0x1p-52; bit /= 2 {
		root = math.Sqrt(root)
		if x >= bit {
			x -= bit
			f *= root
		}
	}
	return f
}

// user is the account of a user, a new one if there is none.
func (d *Dispatcher) user(name string) *user {
	u := d.users[name]
	if u == nil {
		u = &user{at: d.now}
		set(d, d.users, name, u)
		d.limit(name)
	}
	return u
}

// change changes an account, charged until now.
func (d *Dispatcher) change(name string, by func(u *user)) {
	u := d.user(name)
	next := *u
	next.spent, next.at = u.until(d.now, &d.o), d.now
	by(&next)
	put(d, u, next)
}

// limits are those that hold for a user.
func (d *Dispatcher) limits(name string) Limits {
	var own, all Limits
	if u := d.users[name]; u != nil {
		own = u.told
	}
	if u := d.users[""]; u != nil {
		all = u.told
	}
	return Limits{
		cmp.Or(own.Weight, all.Weight, 1), cmp.Or(own.Jobs, all.Jobs), cmp.Or(own.GPUs, all.GPUs), cmp.Or(own.Quota, all.Quota),
	}
}

// limit tells online what holds for a user.
func (d *Dispatcher) limit(name string) {
	l, away := d.limits(name), d.users[name].away
	left := func(most profile.Opt[int], less int) profile.Opt[int] {
		if n, set := most.Get(); set {
			return profile.Some(max(0, n-less))
		}
		return most
	}
	d.later(func() error { return d.online.Limit(owner(name), left(l.Jobs, away.Jobs), left(l.GPUs, away.GPUs)) })
}

// owner is a user's name for online, where nobody has an empty one.
func owner(user string) string { return "=" + user }

// alter changes a run, and what its user has and is charged for with it.
func (d *Dispatcher) alter(r *run, by func()) {
	held, charged := r.holds(), r.charged()
	by()
	if h := r.holds(); h != held {
		sign := 1
		if held {
			sign = -1
		}
		d.change(r.user, func(u *user) { u.jobs, u.gpus = u.jobs+sign, u.gpus+sign*len(r.on) })
	}
	if r.charged() == charged {
		return
	}
	for _, c := range r.on {
		had, has := c.tenants, c.tenants+1
		if charged {
			has = had - 1
		}
		for _, o := range c.runs {
			if o != r && o.charged() {
				d.change(o.user, func(u *user) { u.parts += whole/int64(has) - whole/int64(had) })
			}
		}
		own := int64(whole / max(had, has))
		if charged {
			own = -own
		}
		d.change(r.user, func(u *user) { u.parts += own })
		put(d, &c.tenants, has)
	}
}

// holds reports whether a run counts for the limits of its user.
func (r *run) holds() bool { return r.phase >= starting }

// charged reports whether a run's user is charged for its GPUs.
func (r *run) charged() bool { return r.phase == running || r.phase == stopping && !r.vain }

// ran notes how much GPU time a run took that is over.
func (d *Dispatcher) ran(r *run) {
	took := (d.now - r.since).Seconds() * float64(len(r.on))
	if !r.charged() || took <= 0 {
		return
	}
	const recent = 20 // runs that the mean is about
	put(d, &d.ended, min(recent, d.ended+1))
	put(d, &d.mean, d.mean+(took-d.mean)/float64(d.ended))
}

// quotas lets no job start of users who have spent theirs, and those of others again.
func (d *Dispatcher) quotas() {
	changed := map[string]bool{}
	for name, u := range d.users {
		quota, set := d.limits(name).Quota.Get()
		over := false
		if set {
			had := u.until(d.now, &d.o)
			over = had.sum() >= quota.Seconds()
		}
		if over != u.over {
			u.over, changed[name] = over, true
		}
	}
	d.resync(changed)
}

// resync tells online of the jobs of some users whether they may start.
func (d *Dispatcher) resync(users map[string]bool) {
	if len(users) == 0 {
		return
	}
	for _, j := range d.order {
		if !j.gone && users[j.User] {
			d.sync(j)
		}
	}
}

// sum is all GPU time of the window.
func (s *spent) sum() float64 {
	all := 0.0
	for _, h := range s.hours {
		all += h.Seconds
	}
	return all
}

// relief is when a user who has nothing more may start jobs again, as far as the quota goes; missing
// where that is 0.
func (d *Dispatcher) relief(name string) profile.Opt[time.Duration] {
	s, quota := d.users[name].until(d.now, &d.o), d.limits(name).Quota.Or(0).Seconds()
	if quota == 0 {
		return profile.Opt[time.Duration]{}
	}
	left := s.sum()
	for _, h := range s.hours {
		if left -= h.Seconds; left < quota {
			return profile.Some(max(d.now, time.Duration(h.Hour)*time.Hour+d.o.Window))
		}
	}
	return profile.Some(d.now)
}

func (e Allowed) apply(d *Dispatcher) error {
	if err := e.Limits.check(); err != nil {
		return err
	}
	d.change(e.User, func(u *user) { u.told = e.Limits })
	changed := map[string]bool{e.User: true}
	if e.User == "" {
		for _, name := range slices.Sorted(maps.Keys(d.users)) {
			changed[name] = true
			d.limit(name)
		}
	}
	d.limit(e.User)
	d.resync(changed)
	return nil
}

func (e Accounted) apply(d *Dispatcher) error {
	x := &e.Used
	if x.Recent < 0 || x.GPU < 0 || x.Wait < 0 || x.Started < 0 || x.OutOfMemory < 0 {
		return fmt.Errorf("%w: what was used is %+v; want nothing below 0", ErrInvalid, *x)
	}
	s := spent{recent: x.Recent.Seconds(), gpu: x.GPU.Seconds(), wait: x.Wait.Seconds(), started: x.Started, deaths: x.OutOfMemory}
	for _, h := range slices.Sorted(maps.Keys(x.Hours)) {
		if x.Hours[h] < 0 || h < 0 || h > hourOf(d.now) {
			return fmt.Errorf("%w: %v in hour %d; want 0 or more, up to hour %d", ErrInvalid, x.Hours[h], h, hourOf(d.now))
		}
		s.hours = append(s.hours, hour{h, x.Hours[h].Seconds()})
	}
	d.change(e.User, func(u *user) { u.spent = s })
	return nil
}
