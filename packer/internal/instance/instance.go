package instance

import (
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// none is the absence of a number.
const none = -1

// Resolution is the number of units that the largest weight, rounded up to a
// power of two, is worth at solo speed: the largest weight times pace.
const Resolution = 1 << 20

// MaxSpeed is the highest speed that makes sense.
const MaxSpeed = 16

// Quarters is how many parts of a unit prices are counted in.
const Quarters = 4

// Instance is a compiled problem, in the form in which methods work: tasks and
// GPUs in the order of their IDs, so that the caller's order changes nothing,
// and known by their numbers alone; GPUs that cannot be told apart joined in
// classes; values in whole units, so that sums are exact.
type Instance struct {
	Oracle  Oracle
	Tasks   []Task  // that are to be placed
	All     []Task  // tasks, and after them the residents
	Origin  []int   // index of each task, as the caller counts them
	Classes []Class // free ones first, then one for each GPU with residents
	Free    int     // number of free classes
	Unit    float64 // value of one unit, a power of two
	MaxSet  int
	MinGain float64
	ByGPU   []int // class of each GPU, as the caller counts them
	Gangs   bool  // some task takes more than one GPU
	homes
}

// Task is what limits look at of a task.
type Task struct {
	Memory   profile.Bytes
	Weight   float64 // in force, above 0
	MinSpeed float64
	GPUs     int  // how many it takes, at least 1
	Alone    bool // must not share
	Picky    bool // refuses some company
	Asks     bool // for labels of its GPU
}

// Class is a group of interchangeable GPUs, or one GPU with residents.
type Class struct {
	Number    int // its place in Instance.Classes
	Members   []int
	Usable    profile.Bytes // after headroom
	Total     profile.Bytes // before
	Beyond    profile.Bytes // what each task beyond the first needs besides its own
	Mechs     []profile.Mechanism
	Pace      []float64 // of each of instance.all here, shared by equal GPUs; nil is 1
	Residents []int32
	Used      profile.Bytes // by residents
	Sliced    bool          // residents run on MIG instances
	Cut       *Cut          // nil if the GPUs cannot be cut up
	Base      int64         // value of the residents alone, in units
	BaseMech  profile.Mechanism
	BaseSpeed []float64
}

// Offer is what n tasks may reserve together.
func (c *Class) Offer(n int) profile.Bytes {
	if n < 2 || c.Beyond == 0 {
		return c.Usable
	}
	return min(c.Usable, c.Total-profile.Bytes(min(float64(n-1)*float64(c.Beyond), 1<<60)))
}

// Oracle answers what numbers alone do not tell. Sets are numbers of
// Instance.All.
type Oracle interface {
	// Speeds fills in the speeds of a set on a GPU of a class; they make sense.
	Speeds(class int, set []int32, mech profile.Mechanism, dst []float64) error
	// PairSpeeds fills in those of a task beside each of some partners, and of the
	// partners beside the task.
	PairSpeeds(class int, task int32, partners []int32, mech profile.Mechanism, own, other []float64) error
	// SliceSpeeds fills in the speeds of a task on each MIG profile.
	SliceSpeeds(class int, task int32, dst []float64) error
	// Hosts reports whether the GPUs of a class carry the labels that a task, which
	// asks for some, asks for.
	Hosts(class int, task int32) bool
	// Accepts reports whether two tasks, one of them picky, take each other as company.
	Accepts(a, b int32) bool
	// Alike returns a number for each task, the same for those that nothing can tell
	// apart, and none for tasks like no other.
	Alike() []int32
}

// Open reports whether the class may take a new task at all.
func (in *Instance) Open(c *Class) bool {
	if len(c.Residents) >= in.MaxSet {
		return false
	}
	for _, r := range c.Residents {
		if in.All[r].Alone {
			return false
		}
	}
	return len(c.Residents) == 0 || len(c.Mechs) > 0
}

// compatible reports whether two tasks may share a GPU as far as their labels
// and numbers of GPUs go.
func (in *Instance) compatible(a, b int32) bool {
	t, u := &in.All[a], &in.All[b]
	return t.GPUs == u.GPUs && (!t.Picky && !u.Picky || in.Oracle.Accepts(a, b))
}

// Hosts reports whether the GPUs of c carry the labels that a task asks for.
func (in *Instance) Hosts(c *Class, i int32) bool {
	return !in.All[i].Asks || in.Oracle.Hosts(c.Number, i)
}

// Worth returns what task i at speed 1 on class c counts for: its weight times its
// pace there.
func (in *Instance) Worth(c *Class, i int32) float64 {
	if c.Pace == nil {
		return in.All[i].Weight
	}
	return in.All[i].Weight * c.Pace[i]
}

// Value converts units to what callers see; exact below 2^53 units.
func (in *Instance) Value(units int64) float64 { return float64(units) * in.Unit }

// Seats returns how many new tasks class k may take.
func (in *Instance) Seats(k int) int {
	c := &in.Classes[k]
	if !in.Open(c) {
		return 0
	}
	room := in.MaxSet - len(c.Residents)
	if len(c.Mechs) == 0 {
		room = min(room, 1)
	}
	return min(room, len(in.Tasks))
}

// WidthOf returns how many GPUs the set of tasks i and j takes, of which both,
// or one, may be none.
func (in *Instance) WidthOf(i, j int32) int {
	if i == none {
		i = j
	}
	if i == none {
		return 1
	}
	return in.Tasks[i].GPUs
}

// WidthOn returns how many GPUs task i takes on class k: one beside residents,
// whose other GPUs are not for the plan to give.
func (in *Instance) WidthOn(k int, i int32) int {
	if !in.Gangs || k >= in.Free {
		return 1
	}
	return in.Tasks[i].GPUs
}

// Share returns what a GPU must earn at least if a set that takes width of them
// is to make a profit: rounded up, so that the sum over GPUs is a bound.
func Share(profit int64, width int) int64 {
	if profit <= 0 || width == 1 {
		return profit
	}
	w := int64(width)
	return (profit + w - 1) / w
}

// Cut finds the best layouts of the GPUs of one class.
type Cut struct {
	Choice *mig.Choice
	Room   []profile.Bytes // of an instance of each profile, after headroom
	Taken  []mig.Placement // by the residents
	known  [][]float64     // speeds of each task by profile, once asked
	value  [][]float64     // of the tasks at hand by profile
	where  []mig.Placement // of the members of the last set, residents first
}

// homes are the GPUs on which tasks run that may be moved. A set is worth more by
// the cost saved for each member that stays: on its home GPU alone, so GPUs of
// one class differ by that. The value of a set on GPU g is
//
//	W(class of g, S) + Σ stay(i)  for i ∈ S with home(i) = g
type homes struct {
	Homes bool    // some task has one
	Home  []int32 // GPU of each task, or none
	Stay  []int64 // units
	Here  []bool  // by GPU: somebody's home
}
