package rollout

import (
	"math"
)

// Job is a task that runs or waits.
type Job struct {
	Kind int32
	// Width is how many cards of one class it takes at once, Memory what it reserves
	// on each.
	Width  int32
	Memory int64
	// Left is its work in milliseconds times One, at most MaxLeft.
	Left int64
	// On are the cards where it runs; empty while it waits.
	On []int32
	// Turn breaks ties between jobs that wait: the lower first.
	Turn int64
}

// size is its work times its cards.
func (j *Job) size() float64 { return float64(j.Left) * float64(j.Width) }

// MaxLeft is more work than anybody has: nine years of it, in steps of Job.Left.
const MaxLeft = 1 << 58

// Card is a card as it is now.
type Card struct {
	Class, Machine int32
	Room           int64 // memory that is not reserved
	// Less is how much of it so many jobs together must leave.
	Less [MaxSet + 1]int64
	Down bool
	// Mech is how two and more jobs share.
	Mech int
}

// Outcome is what a rule comes to.
type Outcome struct {
	// Sum is that of the times until jobs finish, Last the largest of them, in
	// milliseconds.
	Sum, Last int64
	// Events is how many starts and ends were simulated, Ended the ends.
	Events, Ended int
	// Starts are those of now; valid until the next call.
	Starts []Start
}

// Engine plays jobs on cards. Fill in the fields, then call Begin once and Play for
// each rule.
type Engine struct {
	Sets  *Sets
	Jobs  []Job
	Cards []Card

	first    []state // of cards, at Begin
	machines []int32 // how many cards they have
	widest   int32
	waits    []int32 // jobs that do not run now
	runs     []int32

	rule   *Rule
	now    int64
	cards  []state
	lives  []life
	queue  []int32 // of jobs that wait, in the order of the rule
	active []int32 // of jobs that run
	freed  []int32
	starts []Start
	seats  []seat
	on     []int32
	out    Outcome
	lost   bool // the rule asks for what cannot be
	// refused is the least memory that was refused in this pass, by kind and width
	refused map[[2]int32]int64
}

// life is a job in a simulation.
type life struct {
	left, at, rate, end int64
	on                  []int32
	weight              float64
	status              status
}

type status int8

const (
	waits status = iota
	held
	runs
	over
)

// state is a card in a simulation.
type state struct {
	set, n, class, machine int32
	jobs                   [MaxSet]int32 // in the order of their kinds
	room                   int64
	down                   bool
}

// seat is a card that a gang may take.
type seat struct {
	card int32
	gain float64
}

const never = math.MaxInt64

// Begin makes the jobs and cards those that rules start from.
func (e *Engine) Begin() {
	e.first, e.machines, e.waits, e.runs = e.first[:0], e.machines[:0], e.waits[:0], e.runs[:0]
	for i := range e.Cards {
		c := &e.Cards[i]
		e.first = append(e.first, state{set: c.Class, class: c.Class, room: c.Room, machine: c.Machine, down: c.Down})
		for int(c.Machine) >= len(e.machines) {
			e.machines = append(e.machines, 0)
		}
		e.machines[c.Machine]++
	}
	e.widest = 0
	for _, n := range e.machines {
		e.widest = max(e.widest, n)
	}
	if e.refused == nil {
		e.refused = map[[2]int32]int64{}
	}
	for i := range e.Jobs {
		for _, g := range e.Jobs[i].On {
			e.insert(&e.first[g], int32(i))
		}
		if len(e.Jobs[i].On) == 0 {
			e.waits = append(e.waits, int32(i))
		} else {
			e.runs = append(e.runs, int32(i))
		}
	}
	for i := range e.first {
		e.first[i].set = e.running(&e.first[i], e.Cards[i].Mech)
	}
	e.cards = append(e.cards[:0], e.first...)
	e.lives = append(e.lives[:0], make([]life, len(e.Jobs))...)
}

// running is the set of a card's jobs, which share by mech.
func (e *Engine) running(c *state, mech int) int32 {
	var kinds [MaxSet]int32
	for k := range c.n {
		kinds[k] = e.Jobs[c.jobs[k]].Kind
	}
	return e.Sets.Running(c.class, mech, kinds[:c.n])
}

// insert notes a member, in the order of kinds.
func (e *Engine) insert(c *state, i int32) {
	at := c.n
	for at > 0 && e.Jobs[c.jobs[at-1]].Kind > e.Jobs[i].Kind {
		c.jobs[at] = c.jobs[at-1]
		at--
	}
	c.jobs[at] = i
	c.n++
}
