package turn

import (
	"math"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

// Tenant is a job on a GPU: whose, how fast as a fraction of its speed alone, and since when;
// zero is long ago.
type Tenant struct {
	UID   uint32
	Speed float64
	Since time.Time
}

// Charge notes who had GPUs since the last call, that of the daemon before included, shared
// ones by equal parts, and lets what is long ago count less.
func (t *Turns) Charge(now time.Time, gpus map[nvmlx.DeviceID][]Tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.kept.Charged
	t.kept.Charged = now
	if last.IsZero() || !now.After(last) {
		return
	}
	seconds := now.Sub(last).Seconds()
	forget := math.Exp2(-seconds / t.policy.HalfLife.Seconds())
	for _, a := range t.kept.Accounts {
		a.Recent *= forget
		a.forget(now, t.policy.Window)
	}
	for _, tenants := range gpus {
		part := 1 / float64(len(tenants))
		for _, tenant := range tenants {
			seconds := min(seconds, max(0, now.Sub(tenant.Since).Seconds()))
			a := t.account(tenant.UID)
			a.Recent += seconds * part
			a.GPU += seconds * part
			a.spend(now, seconds*part)
			if len(tenants) > 1 {
				a.Saved += seconds * (tenant.Speed - part)
			}
		}
	}
}

// Ran notes what a run that is over took, to know how much a start is worth.
func (t *Turns) Ran(r *queue.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := r.Ended.Sub(r.Started).Seconds() * float64(r.Task.Width())
	if took <= 0 {
		return
	}
	const recent = 20 // runs that the mean is about
	t.kept.Runs = min(recent, t.kept.Runs+1)
	t.kept.Mean += (took - t.kept.Mean) / float64(t.kept.Runs)
}

// Began notes that a job starts for the first time, Lacked that one ran out of memory.
func (t *Turns) Began(uid uint32, waited time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.account(uid)
	a.Started++
	a.Wait += max(0, waited.Seconds())
}

// Lacked notes that a run of a user's ran out of the GPU's memory.
func (t *Turns) Lacked(uid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account(uid).OutOfMemory++
}

// Overran notes that a run of a user's was stopped because it used more memory than was
// reserved for it.
func (t *Turns) Overran(uid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account(uid).Overruns++
}

// Accounts returns what every user had.
func (t *Turns) Accounts() map[uint32]Account {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[uint32]Account, len(t.kept.Accounts))
	for uid, a := range t.kept.Accounts {
		all[uid] = a.clone()
	}
	return all
}

// Weight is how much of the station is due to a user, compared with others.
func (t *Turns) Weight(uid uint32) float64 {
	if w := t.policy.Weights[uid]; w > 0 {
		return w
	}
	return 1
}
