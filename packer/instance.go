package packer

import "example.com/colloc/profile"

// resolution is the number of units that the largest weight, rounded up to a
// power of two, is worth at solo speed.
const resolution = 1 << 20

// maxSpeed is the highest speed that makes sense.
const maxSpeed = 16

// quarters is how many parts of a unit prices are counted in.
const quarters = 4

// instance is a compiled problem, in the form in which methods work: tasks and
// GPUs in the order of their IDs, so that the caller's order changes nothing,
// and known by their numbers alone; GPUs that cannot be told apart joined in
// classes; values in whole units, so that sums are exact.
type instance struct {
	oracle  oracle
	tasks   []item  // that are to be placed
	all     []item  // tasks, and after them the residents
	origin  []int   // index of each task, as the caller counts them
	classes []class // free ones first, then one for each GPU with residents
	free    int     // number of free classes
	unit    float64 // value of one unit, a power of two
	maxSet  int
	minGain float64
	byGPU   []int // class of each GPU, as the caller counts them
	gangs   bool  // some task takes more than one GPU
	homes
}

// item is what limits look at of a task.
type item struct {
	memory   profile.Bytes
	weight   float64 // in force, above 0
	minSpeed float64
	gpus     int  // how many it takes, at least 1
	alone    bool // must not share
	picky    bool // refuses some company
	asks     bool // for labels of its GPU
}

// class is a group of interchangeable GPUs, or one GPU with residents.
type class struct {
	number    int // its place in instance.classes
	members   []int
	usable    profile.Bytes // after headroom
	mechs     []profile.Mechanism
	residents []int32
	used      profile.Bytes // by residents
	sliced    bool          // residents run on MIG instances
	cut       *cut          // nil if the GPUs cannot be cut up
	base      int64         // value of the residents alone, in units
	baseMech  profile.Mechanism
	baseSpeed []float64
}

// oracle answers what numbers alone do not tell. Sets are numbers of
// instance.all.
type oracle interface {
	// speeds fills in the speeds of a set on a GPU of a class; they make sense.
	speeds(class int, set []int32, mech profile.Mechanism, dst []float64) error
	// pairSpeeds fills in those of a task beside each of some partners, and of the
	// partners beside the task.
	pairSpeeds(class int, task int32, partners []int32, mech profile.Mechanism, own, other []float64) error
	// sliceSpeeds fills in the speeds of a task on each MIG profile.
	sliceSpeeds(class int, task int32, dst []float64) error
	// hosts reports whether the GPUs of a class carry the labels that a task, which
	// asks for some, asks for.
	hosts(class int, task int32) bool
	// accepts reports whether two tasks, one of them picky, take each other as company.
	accepts(a, b int32) bool
	// alike returns a number for each task, the same for those that nothing can tell
	// apart, and none for tasks like no other.
	alike() []int32
	// sameModel reports whether two classes differ in nothing but residents and
	// mechanisms.
	sameModel(a, b int) bool
	// monotone reports whether company only hurts on a class, by every mechanism.
	monotone(class int) bool
	// additive returns what is promised about the costs of company: see
	// [AdditiveModel].
	additive(class int, task int32, mech profile.Mechanism) (once, least float64, ok bool)
}

// finish asks for what the residents are worth: the last step of compiling.
func (in *instance) finish() error {
	e := newEvaluator(in)
	for k := range in.classes {
		if err := e.baseline(&in.classes[k]); err != nil {
			return err
		}
	}
	return nil
}

// open reports whether the class may take a new task at all.
func (in *instance) open(c *class) bool {
	if len(c.residents) >= in.maxSet {
		return false
	}
	for _, r := range c.residents {
		if in.all[r].alone {
			return false
		}
	}
	return len(c.residents) == 0 || len(c.mechs) > 0
}

// compatible reports whether two tasks may share a GPU as far as their labels
// and numbers of GPUs go.
func (in *instance) compatible(a, b int32) bool {
	t, u := &in.all[a], &in.all[b]
	return t.gpus == u.gpus && (!t.picky && !u.picky || in.oracle.accepts(a, b))
}

// hosts reports whether the GPUs of c carry the labels that a task asks for.
func (in *instance) hosts(c *class, i int32) bool {
	return !in.all[i].asks || in.oracle.hosts(c.number, i)
}

// value converts units to what callers see; exact below 2^53 units.
func (in *instance) value(units int64) float64 { return float64(units) * in.unit }

// monotone reports whether all speeds on class c fall with company. Those on MIG
// instances may rise, with another layout.
func (in *instance) monotone(c *class) bool { return c.cut == nil && in.oracle.monotone(c.number) }

// seats returns how many new tasks class k may take.
func (in *instance) seats(k int) int {
	c := &in.classes[k]
	if !in.open(c) {
		return 0
	}
	room := in.maxSet - len(c.residents)
	if len(c.mechs) == 0 {
		room = min(room, 1)
	}
	return min(room, len(in.tasks))
}

// widthOf returns how many GPUs the set of tasks i and j takes, of which both,
// or one, may be none.
func (in *instance) widthOf(i, j int32) int {
	if i == none {
		i = j
	}
	if i == none {
		return 1
	}
	return in.tasks[i].gpus
}

// widthOn returns how many GPUs task i takes on class k: one beside residents,
// whose other GPUs are not for the plan to give.
func (in *instance) widthOn(k int, i int32) int {
	if !in.gangs || k >= in.free {
		return 1
	}
	return in.tasks[i].gpus
}

// share returns what a GPU must earn at least if a set that takes width of them
// is to make a profit: rounded up, so that the sum over GPUs is a bound.
func share(profit int64, width int) int64 {
	if profit <= 0 || width == 1 {
		return profit
	}
	w := int64(width)
	return (profit + w - 1) / w
}
