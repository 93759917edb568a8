package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// fileFormat is the version of the file format.
//
//	1  leases by number, counted on over restarts: numbers came again after two
//	2  leases by epoch and number, in the order they joined; no version
//	3  gangs, tasks without a profile or without a limit
//	4  labels, homes, kinds, priorities, foreign tasks, profiles from elsewhere
const fileFormat = 4

// booksFile is the file form of a Ledger: what the configuration does not say.
type booksFile struct {
	Format int          `json:"format"`
	Epoch  Epoch        `json:"epoch"` // 0 in format 1
	Issued uint64       `json:"issued"`
	GPUs   []gpuFile    `json:"gpus"`
	Leases []*leaseFile `json:"leases"` // in the order they joined
}

type gpuFile struct {
	ID      string        `json:"id"`
	Foreign profile.Bytes `json:"foreign_bytes,omitempty"`
}

type leaseFile struct {
	Epoch  Epoch  `json:"epoch"`
	Number uint64 `json:"number"`
	// Remaining is missing for a committed lease.
	Remaining *time.Duration `json:"remaining_ns,omitempty"`
	Tasks     []taskFile     `json:"tasks"`
}

type taskFile struct {
	ID          string           `json:"id"`
	GPU         string           `json:"gpu"`
	Reserved    profile.Bytes    `json:"reserved_bytes"`
	Used        profile.Bytes    `json:"used_bytes,omitempty"`
	Weight      float64          `json:"weight,omitempty"`
	MaxSlowdown float64          `json:"max_slowdown,omitempty"`
	Unlimited   bool             `json:"unlimited,omitempty"` // MaxSlowdown is +Inf, which JSON cannot say
	Alone       bool             `json:"alone,omitempty"`
	GPUs        int              `json:"gpus,omitempty"`
	Labels      []string         `json:"labels,omitempty"`
	Avoid       []string         `json:"avoid,omitempty"`
	Only        []string         `json:"only,omitempty"`
	On          []string         `json:"on,omitempty"`
	Home        string           `json:"home,omitempty"`
	MoveCost    float64          `json:"move_cost,omitempty"`
	Kind        string           `json:"kind,omitempty"`
	Priority    int              `json:"priority,omitempty"`
	Foreign     bool             `json:"foreign,omitempty"`
	Profile     *profile.Profile `json:"profile"`

	Elsewhere []*profile.Profile `json:"elsewhere,omitempty"`
}

// Save writes the books as JSON for [Load]: tasks, leases and what was
// last seen of foreign memory, not the configuration. The same books give the
// same bytes. O(GPUs + tasks).
func (l *Ledger) Save(w io.Writer) error {
	data, err := json.Marshal(l.books())
	if err != nil {
		return fmt.Errorf("ledger: save: %w", err)
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("ledger: save: %w", err)
	}
	return nil
}

// books copies what is to be saved.
func (l *Ledger) books() *booksFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	f := &booksFile{Format: fileFormat, Epoch: l.epoch, Issued: l.issued, GPUs: []gpuFile{}, Leases: []*leaseFile{}}
	for _, a := range l.accounts {
		f.GPUs = append(f.GPUs, gpuFile{ID: a.gpu.ID, Foreign: a.foreign})
	}
	for _, one := range slices.SortedFunc(maps.Values(l.leases), byJoining) {
		saved := one.file()
		if !one.committed {
			remaining := one.deadline - l.clock.elapsed
			saved.Remaining = &remaining
		}
		f.Leases = append(f.Leases, saved)
	}
	return f
}

func (l *lease) file() *leaseFile {
	f := &leaseFile{Epoch: l.name.epoch, Number: l.name.number}
	for _, s := range l.seats {
		t := &s.task
		saved := taskFile{
			ID: t.ID, GPU: s.account.gpu.ID, Reserved: t.Reserved, Used: s.used,
			Weight: t.Weight, MaxSlowdown: t.MaxSlowdown, Alone: t.Alone, GPUs: t.GPUs, Profile: t.Profile, Elsewhere: t.Elsewhere,
			Labels: t.Labels, Avoid: t.Avoid, Only: t.Only, On: t.On,
			Home: t.Home, MoveCost: t.MoveCost, Kind: t.Kind, Priority: t.Priority, Foreign: t.Foreign,
		}
		if math.IsInf(t.MaxSlowdown, 1) {
			saved.MaxSlowdown, saved.Unlimited = 0, true
		}
		f.Tasks = append(f.Tasks, saved)
	}
	return f
}

// Load opens the books that [Ledger.Save] wrote. Open leases keep the time
// they had left, but not more than LeaseTime: the time in between does not
// count. What happened after Save is lost, so that Save belongs behind every
// change that must survive: a lease made since is over, a task committed since
// shows up as [Foreign]. Snapshots from before count as out of date. The books
// get a new [Epoch], so that this holds however often one file is loaded, in a
// row or by two ledgers at once; leases of the file keep their names. Files of
// formats 1 to 3 are read, too.
//
// c gives the GPUs, limits and clock. A Resident that c lists and the books know
// is booked once, as the books have it; it is an error if they disagree about
// its GPU, and if the books name a GPU that c does not list: list one that is
// gone, too, and take it out with [Ledger.RemoveGPU], which tells what was there.
// What runs is booked even if limits have become tighter. Reconcile before the
// first Reserve.
func Load(r io.Reader, c Config) (*Ledger, error) {
	var f booksFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("ledger: load: %w", err)
	}
	if f.Format < 1 || f.Format > fileFormat {
		return nil, fmt.Errorf("ledger: load: format is %d, want 1 to %d", f.Format, fileFormat)
	}
	residents, err := f.newResidents(c.GPUs)
	if err != nil {
		return nil, fmt.Errorf("ledger: load: %w", err)
	}
	l, err := empty(c, f.epochs())
	if err == nil {
		err = errors.Join(l.restore(&f), l.settleAll(residents))
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: load: %w", err)
	}
	for i := range c.GPUs { // what runs is no open lease, whatever the file says
		for j := range c.GPUs[i].Residents {
			if s := l.seatOn(c.GPUs[i].Residents[j].ID, c.GPUs[i].ID); s != nil {
				l.commit(s.lease)
			}
		}
	}
	return l, nil
}

// newResidents returns the configured GPUs with those residents that the file
// does not have.
func (f *booksFile) newResidents(configured []colloc.GPU) ([]colloc.GPU, error) {
	where := make(map[string][]string)
	for i, saved := range f.Leases {
		if saved == nil {
			return nil, fmt.Errorf("lease %d of the file is null", i)
		}
		for j := range saved.Tasks {
			where[saved.Tasks[j].ID] = append(where[saved.Tasks[j].ID], saved.Tasks[j].GPU)
		}
	}
	gpus := make([]colloc.GPU, len(configured))
	for i, g := range configured {
		var unknown []colloc.Task
		for _, t := range g.Residents {
			switch cards := where[t.ID]; {
			case slices.Contains(cards, g.ID):
			case len(cards) > 0 && t.Width() == 1:
				return nil, fmt.Errorf("%w task %q: it runs on GPU %q, the books have it on GPU %q", ErrDuplicate, t.ID, g.ID, cards[0])
			default:
				unknown = append(unknown, t)
			}
		}
		g.Residents = unknown
		gpus[i] = g
	}
	return gpus, nil
}

// epochs are those that the file knows.
func (f *booksFile) epochs() map[Epoch]bool {
	known := map[Epoch]bool{f.Epoch: true}
	for _, saved := range f.Leases {
		known[saved.Epoch] = true
	}
	return known
}

// restore enters what the file has. When a task joined is not saved: snapshots
// from before are of another epoch.
func (l *Ledger) restore(f *booksFile) error {
	for _, g := range f.GPUs {
		if a := l.byID[g.ID]; a != nil && g.Foreign > 0 {
			a.foreign = g.Foreign
		}
	}
	if f.Format == 1 {
		slices.SortStableFunc(f.Leases, func(a, b *leaseFile) int { return cmp.Compare(a.Number, b.Number) })
	}
	for _, saved := range f.Leases {
		if saved.Number == 0 || saved.Epoch == f.Epoch && saved.Number > f.Issued {
			return fmt.Errorf("lease %d: want a number from 1 to %d, the last one issued", saved.Number, f.Issued)
		}
		if err := l.restoreLease(saved); err != nil {
			return fmt.Errorf("lease %d: %w", saved.Number, err)
		}
	}
	for _, a := range l.accounts {
		a.recount() // what tasks use was not known when they were entered
	}
	l.open.sort()
	return nil
}

func (l *Ledger) restoreLease(saved *leaseFile) error {
	name := leaseName{saved.Epoch, saved.Number}
	if l.leases[name] != nil {
		return fmt.Errorf("%w number", ErrDuplicate)
	}
	if len(saved.Tasks) == 0 {
		return errors.New("it has no tasks")
	}
	own := &lease{name: name, committed: saved.Remaining == nil}
	l.enter(own)
	if !own.committed {
		own.deadline = l.clock.elapsed + max(0, min(*saved.Remaining, l.config.LeaseTime))
		l.open.push(own)
	}
	for i := range saved.Tasks {
		t := &saved.Tasks[i]
		if t.Used > maxMemory {
			return fmt.Errorf("task %q: %v are in use, want at most %v", t.ID, t.Used, maxMemory)
		}
		task := colloc.Task{
			ID: t.ID, Profile: t.Profile, Elsewhere: t.Elsewhere, Reserved: t.Reserved,
			Weight: t.Weight, MaxSlowdown: t.MaxSlowdown, Alone: t.Alone, GPUs: t.GPUs,
			Labels: t.Labels, Avoid: t.Avoid, Only: t.Only, On: t.On,
			Home: t.Home, MoveCost: t.MoveCost, Kind: t.Kind, Priority: t.Priority, Foreign: t.Foreign,
		}
		if t.Unlimited {
			task.MaxSlowdown = math.Inf(1)
		}
		if err := l.settle(own, t.GPU, &task); err != nil {
			return err
		}
		own.seats[len(own.seats)-1].used = t.Used
	}
	return nil
}
