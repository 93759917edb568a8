package rollout

import (
	"cmp"
	"math"
	"slices"
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
	// Rank is what counts instead of Left for who goes before whom and who stops for
	// whom, where Left is a guess; 0 is Left.
	Rank int64
	// On are the cards where it runs; empty while it waits.
	On []int32
	// Turn breaks ties between jobs that wait: the lower first.
	Turn int64
	// Class comes before all else: the higher first. Within a class the lower Tier goes first,
	// and nobody stops for one of a higher Tier.
	Class, Tier int
	// Owner is one more than the index of the purse that it takes from, or 0.
	Owner int32
	// Weight is what it counts for; 0 means 1.
	Weight float64
	// Due says that it goes first; for the first that is due cards are kept until it starts.
	Due bool
	// Ban is where it does not start; nil is nowhere. Jobs that have one in common share it.
	Ban *Ban
	// Held says that it does not start.
	Held bool
	// Stoppable says that it may stop for others; it then has Restart more milliseconds
	// of work. Yields says that it may, for those of a higher class at any time.
	Stoppable bool
	Yields    bool
	Restart   int64
}

// weight is Weight, or 1.
func (j *Job) weight() float64 {
	if j.Weight == 0 {
		return 1
	}
	return j.Weight
}

// size is its rank, or its work, times its cards.
func (j *Job) size() float64 { return float64(cmp.Or(j.Rank, j.Left)) * float64(j.Width) }

// MaxLeft is more work than anybody has: nine years of it, in steps of Job.Left.
const MaxLeft = 1 << 58

// Ban is some cards. Bans are equal if they are the same pointer.
type Ban struct{ bits []uint64 }

// NewBan returns one of some cards.
func NewBan(cards ...int) *Ban {
	b := &Ban{}
	for _, g := range cards {
		for len(b.bits) <= g/64 {
			b.bits = append(b.bits, 0)
		}
		b.bits[g/64] |= 1 << (g % 64)
	}
	return b
}

// Has reports whether a card is one of them.
func (b *Ban) Has(g int32) bool {
	return b != nil && int(g)/64 < len(b.bits) && b.bits[g/64]>>(g%64)&1 != 0
}

// Card is a card as it is now.
type Card struct {
	Class, Machine int32
	Room           int64 // memory that is not reserved
	// Less is how much of it so many jobs together must leave.
	Less [MaxSet + 1]int64
	Down bool
	// Mech is how two and more jobs share. Set is one more than the set of the jobs there, if that is known.
	Mech int
	Set  int32
}

// Outcome is what a rule comes to.
type Outcome struct {
	// Sum is that of the times until jobs finish, Last the largest of them, in
	// milliseconds.
	Sum, Last int64
	// Cost is Sum with each job's weight.
	Cost float64
	// Lost is how many jobs never run that could.
	Lost int
	// Events is how many starts and ends were simulated, Ended the ends, and Looks how
	// often a job was held against a card.
	Events, Ended, Looks int
	// Void says that one of Rule.First cannot go where it should: nothing was played.
	Void bool
	// Stops are the jobs that stop now, Starts those that start then; valid until the
	// next call.
	Stops  []int32
	Starts []Start
	// Passed are the gangs and the first single job that wait on, and how many jobs that come after them in the
	// order of the rule, or of arrival where the gang's Left is a guess, start now; valid until the next call.
	Passed map[int32]int
}

// Engine plays jobs on cards. Fill in the fields, then call Begin once and Play for
// each rule.
type Engine struct {
	Sets  *Sets
	Jobs  []Job
	Cards []Card
	// Line are jobs, some of which wait, about in the order of the next rule: sorting is less work then.
	Line []int32
	// Purses are what those that wait may take.
	Purses []Purse
	// MinGain is how much better than its best job alone a set must be.
	MinGain float64

	first    []state   // of cards, at Begin
	groups   []int32   // the cards, by class, then by machine
	machines [][]int32 // parts of groups: the cards of one class in one machine
	classes  [][]int32 // the cards of one class
	widest   []int32   // how many cards of a class one machine has, at most
	room     []int64   // of cards that nobody uses
	weighted bool      // some weights differ from 1
	gangs    bool      // some are
	stops    bool      // some that run may
	rigid    bool      // some that run may not
	heaviest float64   // the largest weight
	lowest   int       // class of those that run and yield
	waits    []int32   // jobs that do not run now, about in the order of the next rule
	lined    []bool    // of jobs: they are among waits
	runs     []int32
	shapes   map[outline]int32
	common   []int32 // by kind, one more than the shape of one card and without a ban
	shape    []int32 // of jobs
	possible []int64 // by shape, see fits

	rule   *Rule
	now    int64
	cards  []state
	purses []Purse
	lives  []life
	queue  []int32 // of jobs that wait, in the order of the rule
	active []int32 // of jobs that run; calendar has those once the first have started
	calendar
	freed   []int32
	starts  []Start
	seats   []seat
	on      []int32
	spared  []spared // of a move that is tried
	out     Outcome
	kept    bool    // some cards are kept for gangs
	barred  bool    // some wait for their owner's purse
	paced   bool    // those that run have their rates and ends
	round   int64   // of changes
	refused []int64 // the least memory that was refused in this pass, by shape
	again   again
}

// life is a job in a simulation.
type life struct {
	left, at, rate, end int64
	began               int64 // when it started here
	on                  []int32
	weight              float64
	size                float64 // of the job, under Shortest for its weight
	status              status
	stopped             bool
	round               int64 // of changes, in which its rate was set
	page, entered       int32 // in the calendar, from 1, and how many were entered there before it
}

type status int8

const (
	waits status = iota
	runs
	over
)

// state is a card in a simulation.
type state struct {
	set, n, class, machine int32
	jobs                   [MaxSet]int32 // in the order of their kinds
	room                   int64
	down                   bool
	keeper                 int32 // one more than the job that it is kept for, or 0
}

// seat is a card that a gang may take.
type seat struct {
	card       int32
	gain, rate float64
}

// spared is a card as it was.
type spared struct {
	card int32
	state
}

const (
	never   = math.MaxInt64
	unknown = -2
)

// Begin makes the jobs and cards those that rules start from.
func (e *Engine) Begin() {
	e.first, e.room, e.waits, e.runs = e.first[:0], e.room[:0], e.waits[:0], e.runs[:0]
	for i := range e.Cards {
		c := &e.Cards[i]
		e.first = append(e.first, state{set: c.Class, class: c.Class, room: c.Room, machine: c.Machine, down: c.Down})
		e.room = append(e.room, c.Room)
	}
	e.group()
	if e.shapes == nil {
		e.shapes, e.out.Passed = map[outline]int32{}, map[int32]int{}
	}
	clear(e.shapes)
	clear(e.common)
	e.shape, e.possible = e.shape[:0], e.possible[:0]
	e.line()
	e.weighted, e.gangs, e.stops, e.rigid, e.heaviest, e.lowest = false, false, false, false, 0, math.MaxInt
	for i := range e.Jobs {
		j := &e.Jobs[i]
		e.form(j)
		e.weighted = e.weighted || j.weight() != 1
		e.gangs = e.gangs || j.Width > 1
		e.heaviest = max(e.heaviest, j.weight())
		for _, g := range j.On {
			e.insert(&e.first[g], int32(i))
			e.room[g] += j.Memory
		}
		switch {
		case len(j.On) == 0 && !j.Held:
			if !e.lined[i] {
				e.waits = append(e.waits, int32(i))
			}
		case len(j.On) > 0:
			e.runs = append(e.runs, int32(i))
			e.stops = e.stops || j.Stoppable
			e.rigid = e.rigid || !j.Stoppable
			if j.Yields {
				e.lowest = min(e.lowest, j.Class)
			}
		}
	}
	for i := range e.first {
		if e.first[i].set = e.Cards[i].Set - 1; e.first[i].set < 0 {
			e.first[i].set = e.running(&e.first[i], e.Cards[i].Mech)
		}
	}
	e.cards = append(e.cards[:0], e.first...)
	e.lives = slices.Grow(e.lives[:0], len(e.Jobs))[:len(e.Jobs)]
}

// GangWaits reports whether a gang does not run that could.
func (e *Engine) GangWaits() bool {
	return slices.ContainsFunc(e.waits, func(i int32) bool { return e.Jobs[i].Width > 1 && e.fits(i) })
}

// CanStop reports whether some jobs that run may stop.
func (e *Engine) CanStop() bool { return e.stops }

// Waiting is how many jobs do not run.
func (e *Engine) Waiting() int { return len(e.waits) }

// group sorts the cards by class and machine, and counts those that one machine has.
func (e *Engine) group() {
	e.groups, e.machines, e.classes, e.widest = e.groups[:0], e.machines[:0], e.classes[:0], e.widest[:0]
	for g := range e.first {
		e.groups = append(e.groups, int32(g))
		for int(e.first[g].class) >= len(e.widest) {
			e.widest = append(e.widest, 0)
		}
	}
	slices.SortFunc(e.groups, func(a, b int32) int {
		x, y := &e.first[a], &e.first[b]
		return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.machine, y.machine), cmp.Compare(a, b))
	})
	class, machine := 0, 0 // where they begin
	for k := range e.groups {
		last := k+1 == len(e.groups)
		c, next := &e.first[e.groups[k]], &e.first[e.groups[min(k+1, len(e.groups)-1)]]
		if last || next.class != c.class || next.machine != c.machine {
			e.machines = append(e.machines, e.groups[machine:k+1])
			e.widest[c.class] = max(e.widest[c.class], int32(k+1-machine))
			machine = k + 1
		}
		if last || next.class != c.class {
			e.classes = append(e.classes, e.groups[class:k+1])
			class = k + 1
		}
	}
}

// where are the cards among which a gang finds its own: those of one class in one machine,
// or of one class if it is larger than any machine that has cards for it.
func (e *Engine) where(j *Job) [][]int32 {
	if e.anywhere(j) {
		return e.classes
	}
	return e.machines
}

// anywhere reports whether a gang is larger than any machine that has cards for it.
func (e *Engine) anywhere(j *Job) bool {
	for c, n := range e.widest {
		if n >= j.Width && e.Sets.nodes[e.Sets.With(int32(c), j.Kind)].ok {
			return false
		}
	}
	return true
}

// fits reports whether a job could run if nothing else did.
func (e *Engine) fits(i int32) bool {
	j, most := &e.Jobs[i], &e.possible[e.shape[i]]
	if *most == unknown {
		*most = e.most(j)
	}
	return j.Memory <= *most
}

// most is how much memory of each card jobs of a shape could have, -1 if they
// cannot run.
func (e *Engine) most(j *Job) int64 {
	most := int64(-1)
	for _, cards := range e.where(j) {
		var rooms []int64
		for _, g := range cards {
			if !e.first[g].down && !j.Ban.Has(g) && e.Sets.nodes[e.Sets.With(e.first[g].class, j.Kind)].ok {
				rooms = append(rooms, e.room[g]-e.Cards[g].Less[1])
			}
		}
		if len(rooms) >= int(j.Width) {
			slices.Sort(rooms)
			most = max(most, rooms[len(rooms)-int(j.Width)])
		}
	}
	return most
}

// able is how many cards in one place could take a job if nothing else ran, with those
// that are down or without.
func (e *Engine) able(i int32, down bool) int {
	j, most := &e.Jobs[i], 0
	for _, cards := range e.where(j) {
		n := 0
		for _, g := range cards {
			if (down || !e.first[g].down) && e.suits(j, g) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// suits reports whether a card could run a job alone: it is of a kind that can, and has
// the memory.
func (e *Engine) suits(j *Job, g int32) bool {
	return e.Sets.nodes[e.Sets.With(e.first[g].class, j.Kind)].ok && j.Memory <= e.room[g]-e.Cards[g].Less[1] && !j.Ban.Has(g)
}
