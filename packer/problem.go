package packer

import (
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// likes reports whether t takes o as company.
func (t *Task) likes(o *Task) bool {
	return !overlap(t.Avoid, o.Labels) && (len(t.Only) == 0 || overlap(t.Only, o.Labels))
}

// overlap reports whether two lists of labels have one in common. They are
// short.
func overlap(a, b []string) bool {
	return len(a) > 0 && slices.ContainsFunc(b, func(label string) bool { return slices.Contains(a, label) })
}

// picky reports whether t refuses some company.
func (t *Task) picky() bool { return len(t.Avoid)+len(t.Only) > 0 }

// Accepts reports whether t and o may share a GPU as far as their labels and numbers
// of GPUs go.
func (t *Task) Accepts(o *Task) bool {
	return t.Width() == o.Width() && (!t.picky() || t.likes(o)) && (!o.picky() || o.likes(t))
}

// Hosts reports whether g carries the labels that t asks for by On.
func (g *GPU) Hosts(t *Task) bool {
	for _, label := range t.On {
		if !slices.Contains(g.Labels, label) && (g.Type == nil || g.Type.Name != label) {
			return false
		}
	}
	return true
}

// Task is one program that wants a GPU, or that already runs on one.
type Task struct {
	// ID names the task: unique in its Problem, not empty.
	ID string
	// Profile is handed through to the Model; packer never looks inside. It
	// may be nil if the Model does not mind. Tasks that share one, by pointer,
	// and agree in all other fields must be alike to the Model: see ColumnGen of package solve.
	Profile *profile.Profile
	// Memory is the reservation: what the plan sets aside for the task on its
	// GPU. 0 needs none.
	Memory profile.Bytes
	// Weight multiplies the task's pace and speed in the objective, in [0, 1e9]; 0
	// means 1. Only ratios matter: see the package comment on resolution.
	Weight float64
	// MinSpeed is the lowest speed the task accepts, 1/slowdown limit, in
	// [0, 1]; 0 is no limit. It binds what company costs, not the pace of the GPU.
	MinSpeed float64
	// Alone is set if the task must not share its GPU.
	Alone bool
	// Labels are what other tasks may go by in Avoid and Only: a user, a project,
	// a class of service.
	Labels []string
	// Avoid lists labels of tasks with which it must not share a GPU, and Only,
	// if not empty, those with which it may: its company must carry one of them
	// at least. Both bind both sides: a set is allowed if every two members
	// accept each other. Alone on a GPU a task respects both.
	Avoid, Only []string
	// On lists labels that the task's GPU must carry, all of them. The name of
	// its Type is a label of a GPU.
	On []string
	// GPUs is how many GPUs of one type the task takes at once, a gang; 0 means
	// 1. Memory is reserved on each. A gang shares its GPUs with gangs of the
	// same size only, all of them with the same. Its weight times speed counts
	// once: multiply Weight by GPUs to count work by the GPU.
	GPUs int
	// Home is the ID of the GPU on which the task runs now, if it may be moved or
	// stopped: a resident that does not have to stay. Empty for a task that does
	// not run yet, and for gangs. While it stays at home it must bear any of the GPU's
	// Mechanisms.
	Home string
	// MoveCost is what a plan loses if the task does not stay on Home, as a
	// multiple of its weight times its pace there, in [0, 16]: the time that the
	// checkpoint and the restart take, divided by the time for which the plan is made.
	MoveCost float64
	// Kind, if not empty, promises that the task equals every other task of
	// this Kind in all fields but ID, Weight and Home, and that the Model cannot
	// tell them apart. Whoever packs many copies of few programs says so here:
	// Package online then remembers what it asked for one of them.
	Kind string
}

// EffectiveWeight returns the weight in force: Weight, or 1.
func (t *Task) EffectiveWeight() float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

// Width returns how many GPUs t takes: GPUs, or 1.
func (t *Task) Width() int { return max(1, t.GPUs) }

// GPU is one card, or one MIG instance seen as a card.
type GPU struct {
	// ID names the GPU: unique in its Problem, not empty.
	ID string
	// Type is handed through to the Model. It may be nil if Memory is set.
	Type *profile.GPUModel
	// Memory is the total of this card before headroom; 0 means Type.Memory.
	Memory profile.Bytes
	// Labels are what a task may ask for by On, besides the name of Type.
	Labels []string
	// Mechanisms are the ways in which tasks may share this GPU; nil or empty
	// means time-slicing. One task alone always runs exclusively, so a list
	// that holds only Exclusive forbids sharing. On a GPU with residents list
	// what they run under: processes cannot change their mechanism on the way.
	Mechanisms []profile.Mechanism
	// Instances are the MIG instances that exist, one for each of Residents, in
	// their order; they stay as they are. Empty where no MIG instance is in use.
	// Mechanisms must then be MIG alone.
	Instances []mig.Placement
	// Residents are the tasks already there. They stay and keep running; one that
	// may be moved is a Task with a Home instead. A GPU whose residents are gangs
	// stands for all GPUs that they run on: list one of them.
	Residents []Task
}

// Total returns the memory in force: Memory, or that of Type.
func (g *GPU) Total() profile.Bytes {
	if g.Memory == 0 && g.Type != nil {
		return g.Type.Memory
	}
	return g.Memory
}

// Limits bound what a plan may do. The zero value is the documented default.
type Limits struct {
	// Headroom is the fraction of each GPU's memory that stays free, in
	// [0, 1); missing means 0.10.
	Headroom profile.Opt[float64]
	// Together is what tasks that share a GPU need beyond the sum of their Memory, for
	// each beyond the first, in bytes: n of them need Σ Memory + (n-1) × Together of
	// the whole GPU. What headroom leaves free counts towards it, so that it binds on
	// small GPUs alone. 0 is nothing; MIG instances share no memory.
	Together profile.Bytes
	// MaxSet is the largest number of tasks on one GPU, residents included;
	// 0 means [DefaultMaxSet].
	MaxSet int
	// MinGain is how much better than exclusive a shared set must be: its
	// value must reach (1 + MinGain) times the value of its best member alone,
	// or of its residents without the new tasks, on that GPU. Sharing that gains nothing is
	// refused even at 0. At least 0.
	MinGain float64
}

// Defaults of Limits.
const (
	// DefaultHeadroom is the fraction of memory left free.
	DefaultHeadroom = 0.10
	// DefaultMaxSet is the largest set, here and wherever colloc shares GPUs.
	DefaultMaxSet = 4
)

// Bounds that Validate enforces.
const (
	maxMaxSet   = 64
	MaxWeight   = 1e9
	maxMemory   = 1 << 56 // bytes; maxMaxSet of them still fit an int64
	MaxMoveCost = 16      // MoveCost
	widest      = 1 << 16 // Task.GPUs
)

func (l *Limits) headroom() float64 { return l.Headroom.Or(DefaultHeadroom) }

// LargestSet returns the largest number of tasks on a GPU in force: MaxSet, or its default.
func (l *Limits) LargestSet() int {
	if l.MaxSet == 0 {
		return DefaultMaxSet
	}
	return l.MaxSet
}

// Objective is what a plan maximises.
type Objective int

// Throughput is the sum over all running tasks, residents included, of weight
// times pace times speed, and over all tasks that stay at home of weight times pace
// times MoveCost: what moving or stopping them would have lost. Pace is 1 but for a
// [PaceModel]. Policies such as fairness or shortest remaining time first set
// the weights anew in each round.
const Throughput Objective = 0

// String returns "throughput".
func (o Objective) String() string {
	if o == Throughput {
		return "throughput"
	}
	return "unknown objective"
}

// Problem is a question to a [Method]: which tasks run on which GPU.
type Problem struct {
	Tasks     []Task
	GPUs      []GPU
	Model     Model
	Limits    Limits
	Objective Objective
}

// Model predicts speeds. It must give the same answer to the same question,
// whatever the order of the calls.
type Model interface {
	// Speeds fills dst[i] with the speed of set[i] when exactly the tasks of
	// set run together on gpu by mech: throughput divided by solo throughput,
	// finite, at least 0 and at most 16; 1 for a single task (less where the
	// GPU is smaller than the one that solo refers to, a MIG instance). A set
	// of one task is asked with Exclusive. len(dst) == len(set). The slices
	// belong to the caller and are used again.
	Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error
}

// Alike reports whether t and o are equal in all but ID, Kind, Weight and Home.
func (t *Task) Alike(o *Task) bool {
	return t.Profile == o.Profile && t.Memory == o.Memory && t.MinSpeed == o.MinSpeed && t.Alone == o.Alone && t.GPUs == o.GPUs && t.MoveCost == o.MoveCost &&
		slices.Equal(t.Labels, o.Labels) && slices.Equal(t.Avoid, o.Avoid) && slices.Equal(t.Only, o.Only) && slices.Equal(t.On, o.On)
}
