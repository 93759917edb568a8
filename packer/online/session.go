package online

import (
	"errors"
	"iter"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// none is the absence of a number.
const none = -1

// Session packs online: tasks arrive, finish and are put on GPUs one at a time,
// without knowledge of what comes, and what runs stays where it is until
// [Session.Rebalance] moves it.
//
//   - A task goes where it adds most to the throughput, an empty GPU or one that
//     runs others, if it adds at least SessionOptions.Threshold of what it would
//     do there alone. On ties it goes to an empty GPU, to the one with less
//     memory, to the lower index. With a [packer.PaceModel] it thus goes to the empty
//     GPU with the higher pace.
//   - Otherwise it waits. The queue is in policy order: the heavier Weight
//     first, then the earlier arrival. When a GPU loses a task or comes into
//     service, the first in the queue that may start there starts, whether or
//     not others before it still wait for another GPU.
//
// A gang starts when as many GPUs of one type are empty as it needs, or joins
// gangs of its size; it never holds some while it waits for others. A task that
// must be alone starts when a GPU is empty. No GPU is drained for either, since a
// session does not know when tasks end: under constant load they may wait long.
// Rebalance leaves gangs, and the GPUs that they take, as they are.
//
// Limits hold for every set that a task joins; when a member leaves, the others
// run on.
//
// Arrive costs O(GPUs) look-ups and a question to the model, O(MaxSet²) work,
// for each GPU that changed since the last task of its Kind; for a task without
// Kind, for every GPU that could take it, one call of [packer.BatchModel] where GPUs
// run single tasks. Finish asks about each Kind that waits. Memory is bounded by
// the tasks that run or wait and 64 MiB.
//
// The same calls in the same order give the same answers. A Session is not safe
// for concurrent use. It copies each task that it holds, but not what the task
// points to: leave the Profile and the slices of labels as they are.
type Session struct {
	p         packer.Problem // GPUs, Model and Limits; no tasks
	batch     bool           // the model answers for many pairs in one call
	paced     bool           // it is a packer.PaceModel
	threshold float64
	stays     func(*packer.Task) bool
	classes   []class
	cards     []card
	open      []uint64   // version of each card that might take one more task; 0 for others
	empty     [][]uint64 // bit sets of the empty cards of each class
	vacant    []int      // how many they are
	jobs      map[string]*job
	kinds     map[kindKey]*kind
	waiting   []*kind // kinds with waiting tasks, in the order of their first ones
	arrivals  uint64
	version   uint64 // counts changes of all cards
	sweeps    uint64
	queued    int
	sessionBuffers
}

// SessionOptions are the choices of a Session; nil is the zero value.
type SessionOptions struct {
	// Threshold is the least that a task must add to a GPU that runs others, as
	// a fraction of what it would do there alone, in [0, 1]: waiting for a better
	// partner can be worth more than sharing at a small gain. Missing means 0.1,
	// see [DefaultThreshold].
	Threshold profile.Opt[float64]
	// Stays reports whether Rebalance must leave a running task where it is. nil:
	// every task may move.
	Stays func(task *packer.Task) bool
}

// DefaultThreshold is the least marginal gain for which a Session shares, as a
// fraction of what the task would do alone.
//
// The load below is relative to what the GPUs could do without sharing. Up to a
// load of 1.2, 0.1 stays within 3 % of the threshold with the best mean completion
// time, on each of these: Gavel's K80, where sharing gains little and 0.3 is 25 %
// worse; Gavel's V100 and Lucid's RTX 3090, where sharing gains much; V100 and K80
// mixed. At higher loads waiting pays more on the V100: at 1.6, 0.5 is 28 % better.
// The benchmark that prints these figures:
//
//	COLLOC_DATA=dir go test -run xxx -bench SessionThreshold -benchtime 1x ./packer/online
//
// A threshold of 0.2 does as well there. In colloc/sim it is up to 23 % worse on the
// K80: the simulator fills in pairs that nobody measured in another way.
const DefaultThreshold = 0.1

// Decision says where a task went.
type Decision struct {
	// Task is the ID.
	Task string `json:"task"`
	// Placed is false if the task waits; the other fields are then zero.
	Placed bool `json:"placed"`
	// GPU is an index, as given to NewSession. For a gang it stands for all GPUs
	// that it takes; Gang are the others, valid until the next call.
	GPU  int   `json:"gpu"`
	Gang []int `json:"gang,omitempty"`
	// Mechanism is how the members of the set share from now on.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Speed is the task's predicted speed in its set.
	Speed float64 `json:"speed"`
	// Gain is what the task adds to the weighted throughput: its own weight times
	// pace times speed, less what the others lose.
	Gain float64 `json:"gain"`
}

// class is a group of GPUs that cannot be told apart when they are empty.
type class struct {
	gpu     *packer.GPU // the first
	gpus    int         // how many a Scheduler has
	members []int
	usable  profile.Bytes
	mechs   []profile.Mechanism
}

// card is one GPU with what runs on it.
type card struct {
	class int32
	lead  int32 // the card that stands for the gang on this one, or none
	more  []int // the other cards of the gang for which this one stands
	down  bool
	blind bool // the model failed for the set: it runs, and nothing joins
	mech  profile.Mechanism
	set   []*job
	used  profile.Bytes
	value float64 // Σ weight · pace · speed
}

// The conditions that callers tell apart with errors.Is.
var (
	// ErrUnknown means that no task of that ID runs or waits.
	ErrUnknown = errors.New("unknown task")
	// ErrDuplicate means that a task of that ID runs or waits already.
	ErrDuplicate = errors.New("duplicate task")
)

// job is a task that runs or waits.
type job struct {
	task       packer.Task
	kind       *kind
	arrival    uint64
	gpu        int32 // none while it waits
	speed      float64
	worth      float64 // weight times pace on gpu
	prev, next *job    // in the queue of its kind
}

// Running yields the tasks on a GPU, gangs on the one that stands for all of
// theirs, in the order in which they came, and their
// predicted speeds. The tasks are the session's own: read only, until the next
// call. A GPU that does not exist runs nothing.
func (s *Session) Running(gpu int) iter.Seq2[*packer.Task, float64] {
	return func(yield func(*packer.Task, float64) bool) {
		if gpu < 0 || gpu >= len(s.cards) {
			return
		}
		for _, j := range s.cards[gpu].set {
			if !yield(&j.task, j.speed) {
				return
			}
		}
	}
}

// Where returns the GPU that runs a task, and its predicted speed; ok is false
// if the task waits or is unknown.
func (s *Session) Where(id string) (gpu int, speed float64, ok bool) {
	j := s.jobs[id]
	if j == nil || j.gpu == none {
		return 0, 0, false
	}
	return int(j.gpu), j.speed, true
}

// Mechanism returns how the tasks on a GPU share it; Exclusive for fewer than
// two.
func (s *Session) Mechanism(gpu int) profile.Mechanism {
	if gpu < 0 || gpu >= len(s.cards) {
		return profile.Exclusive
	}
	return s.cards[gpu].mech
}

// Tasks returns how many tasks run and how many wait.
func (s *Session) Tasks() (running, waiting int) { return len(s.jobs) - s.queued, s.queued }

// Throughput returns the sum over all running tasks of weight times pace times
// predicted speed. O(GPUs).
func (s *Session) Throughput() float64 {
	sum := 0.0
	for g := range s.cards {
		sum += s.cards[g].value
	}
	return sum
}

// kindKey names a kind of tasks that can be told apart by their ID alone.
type kindKey struct {
	name   string
	weight float64
}

// kind is a group of equal tasks, or one task like no other.
type kind struct {
	key         kindKey
	scale       float64     // a power of two, see newKind
	live        int         // jobs that run or wait
	solo        []solo      // by class
	row         []cell      // by GPU; nil for a task like no other
	first, last *job        // that wait, by arrival
	like        packer.Task // the first of the kind
	swept       uint64      // the last sweep that found no place
}

// solo is what a kind does alone on a class of GPUs.
type solo struct {
	known bool
	gain  int64 // steps of the task's weight; 0: not allowed
	speed float64
	pace  float64 // 0: not known
}

// cell is what a kind adds to a GPU that others use.
type cell struct {
	version uint64 // of the card for which gain holds
	gain    int64  // steps of the task's weight; 0: not allowed
}

// sessionBuffers are used again and again, so that no arrival allocates.
type sessionBuffers struct {
	set        []*packer.Task
	speeds     []float64 // of the set just asked about
	allowed    []float64 // of the best set that was allowed
	partners   []*packer.Task
	at         []int32
	own, other []float64
	totals     []float64
	stale      []int32
	scratch    []cell
	out        []Decision
	victims    []*job
	freed      []int32 // cards that the last gang to end gave back
	turn       []int32
	spareJobs  []*job
	spareKinds []*kind
}
