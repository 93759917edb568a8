package dispatch

import (
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// entry is a job that waits or runs. What Tell changes of it is changed by put; its slices are
// never written to.
type entry struct {
	Job
	seq     uint64
	came    time.Duration
	began   bool          // once
	held    bool          // by the user
	parked  bool          // online has been told to hold it
	known   bool          // online has been told of it
	run     *run          // the present one
	over    How           // it is over so, and goes with its last run; 0: it is not
	gone    bool          // it is not in the books any more
	trials  trials        // of memory
	guess   profile.Bytes // what is set aside for it if nothing is told
	bars    []string      // GPUs where the body does not let it start
	shuns   []shun        // where it was refused
	shunned []int         // all of them, as online knows them
	refused int           // how often, since it last started
	tier    int           // as online knows it
	rest    time.Duration // it was refused so often that it starts nowhere until then
}

// trials is what was tried after a job ran out of memory.
type trials struct {
	Deaths int           `json:"deaths,omitempty"`
	Memory profile.Bytes `json:"memory_bytes,omitempty"` // to reserve; 0: as predicted
	Alone  bool          `json:"alone,omitempty"`
}

// shun is a GPU where a start was refused.
type shun struct {
	GPU   string        `json:"gpu"`
	Until time.Duration `json:"until_ns"`
	Wait  time.Duration `json:"wait_ns"` // that was waited for
	Why   string        `json:"why,omitempty"`
}

// phase is how far a run is.
type phase uint8

const (
	ended    phase = iota // it is not in the books
	granted               // it is decided, and waits for others to be gone
	starting              // the body was told
	running
	stopping // it was told to stop
)

// run is one life of a job on GPUs. What Tell changes of it is changed by put.
type run struct {
	number    uint64
	job, user string
	gpus      []string
	on        []*card // the same
	phase     phase
	mechanism profile.Mechanism
	speed     float64
	gain      float64
	due       time.Duration // starting: when it counts as lost; stopping: when it is asked for again
	since     time.Duration // it began
	vain      bool          // it never answered: at due it is taken for gone
	asked     bool          // stopping: the body was told
	why       string        // stopping
	stays     int           // how often a stop of it was not carried out
	until     time.Duration // it is not stopped for others until then
}

// card is a GPU.
type card struct {
	gpu     colloc.GPU
	total   profile.Bytes // its memory
	machine int
	index   int // online's
	failed  bool
	drained bool
	foreign profile.Bytes

	reserved []Reservation
	runs     []*run // here that are not over
	tenants  int    // of them those that are charged for it
}

// wants is the job as online knows it.
func (e *entry) wants(d *Dispatcher) (online.Job, error) {
	t := e.Task
	t.Home, t.MoveCost, t.Foreign = "", 0, false
	fixed := e.Fixed
	switch {
	case e.trials.Memory > 0:
		t.Reserved, fixed = e.trials.Memory, true
	case e.untold():
		if e.guess == 0 {
			put(d, &e.guess, max(1, d.half()))
		}
		t.Reserved = e.guess
	}
	packed, err := d.mind.Packed(t)
	if err != nil {
		return online.Job{}, err
	}
	if floor := d.floors[t.Kind]; !fixed {
		packed.Memory = max(packed.Memory, floor)
	}
	restart := e.Restart
	if r := e.run; r != nil && r.until > d.now {
		restart = profile.Opt[time.Duration]{}
	}
	if e.trials.Alone {
		packed.Alone, packed.Kind = true, ""
	}
	return online.Job{Task: packed, Class: e.Priority, Tier: e.tier, Owner: owner(e.User), Left: e.Left, Done: e.Done, Fixed: fixed, Restart: restart, Came: profile.Some(e.came)}, nil
}

// half is half of what the largest GPU has after the usual headroom.
func (d *Dispatcher) half() profile.Bytes { return d.most * 9 / 20 }

// ready reports whether nothing but room keeps a job from starting.
func (d *Dispatcher) ready(e *entry) bool {
	return !e.held && e.rest == 0 && len(e.After) == 0 && e.over == 0 && !d.users[e.User].over && !d.wide(e)
}

// wide reports whether a job takes more GPUs than its user may have at once.
func (d *Dispatcher) wide(e *entry) bool {
	most, set := d.limits(e.User).GPUs.Get()
	return set && e.Width() > most
}
