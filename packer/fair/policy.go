package fair

import (
	"math"
	"time"

	"example.com/colloc/profile"
)

// Account is what a policy knows of a task when a round begins. Times are wall
// times, work is counted in the time that it takes alone on its GPUs, at speed
// 1. Negative numbers count as 0.
type Account struct {
	// Weight is the task's own importance; 0 means 1.
	Weight float64
	// GPUs is how many GPUs it takes; 0 means 1.
	GPUs int
	// Age is the time since it arrived.
	Age time.Duration
	// Attained is the work done so far.
	Attained time.Duration
	// Remaining is the predicted work left. Missing counts as Attained, the best
	// guess where all lengths are equally likely.
	Remaining profile.Opt[time.Duration]
	// Deadline is the time from now until the task should be done; missing is none, and
	// 0 has passed.
	Deadline profile.Opt[time.Duration]
	// Price is what an hour of the GPUs that it takes costs, in any currency. 0
	// means 1.
	Price float64
	// Power is the mean power that it draws alone, in watts. 0 means 1.
	Power float64
}

func (a *Account) weight() float64   { return orOne(a.Weight) }
func (a *Account) gpus() float64     { return float64(max(1, a.GPUs)) }
func (a *Account) age() float64      { return max(0, a.Age.Seconds()) }
func (a *Account) attained() float64 { return max(0, a.Attained.Seconds()) }

func (a *Account) remaining() float64 {
	return max(0, a.Remaining.Or(a.Attained).Seconds())
}

// Late reports whether the task can no longer be done by its Deadline, even alone at
// speed 1 from now on: more work is predicted to be left than time, or, where nothing
// is predicted, no time is left. It is false for a task without a Deadline. That it is
// false promises nothing: the task may wait, share, or take longer than predicted.
func (a *Account) Late() bool {
	due, has := a.Deadline.Get()
	left, known := a.Remaining.Get()
	if !known {
		return has && due <= 0
	}
	return has && max(0, left) > max(0, due)
}

func orOne(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	return x
}

// Policy says how much the progress of each task counts in the next round. A
// plan that maximises the sum of weight times speed then serves the policy:
// packing stays one problem, whatever is wanted.
type Policy interface {
	// Weigh returns the weight of a task, finite and above 0. Only ratios matter.
	Weigh(a *Account) float64
}

// LogPolicy is a Policy whose weights may lie further apart than a float64 can
// say.
type LogPolicy interface {
	Policy
	// LogWeigh returns the natural logarithm of the weight of a task, finite.
	LogWeigh(a *Account) float64
}

const (
	// DefaultPatience is FIFOFair's Patience.
	DefaultPatience = time.Hour
	// DefaultAlpha is AlphaFair's Alpha.
	DefaultAlpha = 4
	// DefaultHorizon is EarliestDeadline's Horizon.
	DefaultHorizon = 30 * 24 * time.Hour

	// ramp keeps weights finite where nothing is done yet, or left.
	ramp = 1.0 // seconds
)

// FIFOFair weighs a task the more, the longer ago it came: work is done where it
// fits best, but nobody is passed over for ever, for the weight of one that waits
// outgrows that of any company of younger ones.
//
//	weight · (1 + age / Patience)
type FIFOFair struct {
	// Patience is the age at which a task counts twice; 0 means an hour.
	Patience time.Duration
}

// Weigh implements Policy.
func (f FIFOFair) Weigh(a *Account) float64 {
	patience := f.Patience
	if patience <= 0 {
		patience = DefaultPatience
	}
	return a.weight() * (1 + a.age()/patience.Seconds())
}

// AlphaFair weighs a task by the slope of its utility at the rate of progress that
// it has had so far:
//
//	weight · rate^-Alpha,  rate = attained / age
//
// Rounds that maximise the sum climb Σ weight·rate^(1-Alpha)/(1-Alpha): Alpha 1
// is proportional fairness, and the larger Alpha is the closer the rates come
// to max-min fairness, in which nobody's can grow but at the cost of one who has
// less; of weights very far apart [Weights] keeps the order. The rate counts by the
// GPU that a task takes alone, which is Gavel's max-min policy without its linear
// program.
//
// Mo, Walrand, Fair end-to-end window-based congestion control, 2000,
// doi:10.1109/90.879343; Stolyar, On the asymptotic optimality of the gradient
// scheduling algorithm, 2005, doi:10.1287/opre.1040.0156; Narayanan et al.
// (Gavel), OSDI 2020, arXiv:2008.09213.
type AlphaFair struct {
	// Alpha is at least 0; 0 means 4.
	Alpha float64
}

// Weigh implements Policy. Where the weight is out of the range of a float64 it
// returns the largest, or the smallest above 0.
func (f AlphaFair) Weigh(a *Account) float64 {
	return inRange(a.weight() * math.Pow(a.rate(), -sharpness(f.Alpha)))
}

// LogWeigh implements LogPolicy.
func (f AlphaFair) LogWeigh(a *Account) float64 {
	return math.Log(a.weight()) - sharpness(f.Alpha)*math.Log(a.rate())
}

// sharpness returns the exponent in force.
func sharpness(alpha float64) float64 {
	if alpha > 0 {
		return min(alpha, 1e9) // beyond, a weight is no finite number even as a logarithm
	}
	return DefaultAlpha
}

// rate is what the account got per unit of time so far, evened out at its start.
func (a *Account) rate() float64 { return (a.attained() + ramp) / (a.age() + ramp) }

// FinishTimeFair weighs a task by how much later it will finish than it would have
// alone on its share of the cluster, to the power Alpha:
//
//	ρ = (age + remaining/rate) / (attained + remaining),  rate = attained / age
//
// It evens out ρ, Themis's finish-time fairness, among tasks of any length. The
// share is the same for all and cancels.
//
// Mahajan et al., Themis: fair and efficient GPU cluster scheduling, NSDI 2020,
// arXiv:1907.01484.
type FinishTimeFair struct {
	// Alpha is at least 0; 0 means 4.
	Alpha float64
}

// Weigh implements Policy. Where the weight is out of the range of a float64 it
// returns the largest, or the smallest above 0.
func (f FinishTimeFair) Weigh(a *Account) float64 {
	return inRange(a.weight() * math.Pow(a.rho(), sharpness(f.Alpha)))
}

// LogWeigh implements LogPolicy.
func (f FinishTimeFair) LogWeigh(a *Account) float64 {
	return math.Log(a.weight()) + sharpness(f.Alpha)*math.Log(a.rho())
}

// rho is how much later the account will finish than alone.
func (a *Account) rho() float64 {
	return (a.age() + a.remaining()/a.rate() + ramp) / (a.attained() + a.remaining() + ramp)
}

// ShortestFirst weighs a task by the inverse of what is left of it: shortest
// remaining time first (SRTF), or by service, time times GPUs (SRSF), which keeps
// the mean completion time low. With weights it is Smith's rule, and without
// predictions it favours the task that has attained least.
//
//	weight / remaining,  weight / (remaining · GPUs)
//
// Schrage, A proof of the optimality of the shortest remaining processing time
// discipline, 1968, doi:10.1287/opre.16.3.687; Smith, Various optimizers for
// single-stage production, 1956, doi:10.1002/nav.3800030106; Gu et al., Tiresias,
// NSDI 2019.
type ShortestFirst struct {
	// Service counts GPUs too.
	Service bool
}

// Weigh implements Policy.
func (s ShortestFirst) Weigh(a *Account) float64 {
	left := a.remaining() + ramp
	if s.Service {
		left *= a.gpus()
	}
	return a.weight() / left
}

// Makespan weighs a task by what is left of it, so that the longest do not end
// alone long after all others.
//
//	weight · remaining · GPUs
//
// Graham, Bounds on multiprocessing timing anomalies, 1969,
// doi:10.1137/0117039: longest first is within 1/3 of the best makespan.
type Makespan struct{}

// Weigh implements Policy.
func (Makespan) Weigh(a *Account) float64 {
	return a.weight() * (a.remaining() + ramp) * a.gpus()
}

// EarliestDeadline weighs a task the more, the sooner it is due:
//
//	weight · (Horizon / time left)^Alpha
//
// The time left counts as a second at least and as Horizon at most. A task without a
// Deadline counts as one that is due at the Horizon, and so does one that is [Account.Late]:
// what is lost must not make others late. Ask Late which they are.
//
// Where one GPU runs one task at a time, may change it every round, and weights are
// equal, this is earliest deadline first: if any order of rounds meets all deadlines, it
// does. With several GPUs or with sharing it is a rule of thumb and promises no
// deadline: it admits nobody and turns nobody away, does not heed how much work is left
// beyond Late, and two tasks that share may both be too slow. MaxSlowdown bounds that.
//
// Horn, Some simple scheduling algorithms, 1974, doi:10.1002/nav.3800210113.
type EarliestDeadline struct {
	// Alpha is at least 0; 0 means 4. The larger, the fewer tasks that are due later
	// outweigh one that is due soon.
	Alpha float64
	// Horizon is the time from which on deadlines are no longer told apart; 0 means 30
	// days.
	Horizon time.Duration
}

// Weigh implements Policy. Where the weight is out of the range of a float64 it
// returns the largest.
func (e EarliestDeadline) Weigh(a *Account) float64 {
	return inRange(a.weight() * math.Pow(e.haste(a), sharpness(e.Alpha)))
}

// LogWeigh implements LogPolicy.
func (e EarliestDeadline) LogWeigh(a *Account) float64 {
	return math.Log(a.weight()) + sharpness(e.Alpha)*math.Log(e.haste(a))
}

// haste is the horizon over the time left, at least 1.
func (e EarliestDeadline) haste(a *Account) float64 {
	horizon := e.Horizon
	if horizon <= 0 {
		horizon = DefaultHorizon
	}
	if a.Late() {
		return 1
	}
	return max(1, horizon.Seconds()/max(ramp, a.Deadline.Or(horizon).Seconds()))
}

// CostPerHour weighs the work of a task by what it costs: most work for the money
// first.
//
//	weight / price
//
// It chooses between tasks. Between GPUs of different price a plan chooses by
// speed alone. Narayanan et al. (Gavel), section 4, OSDI 2020, arXiv:2008.09213.
type CostPerHour struct{}

// Weigh implements Policy.
func (CostPerHour) Weigh(a *Account) float64 { return a.weight() / orOne(a.Price) }

// CostPerJoule weighs the work of a task by the energy that it takes: most work
// for a joule first.
//
//	weight / power
type CostPerJoule struct{}

// Weigh implements Policy.
func (CostPerJoule) Weigh(a *Account) float64 { return a.weight() / orOne(a.Power) }

var (
	_ Policy    = FIFOFair{}
	_ LogPolicy = AlphaFair{}
	_ LogPolicy = FinishTimeFair{}
	_ Policy    = ShortestFirst{}
	_ Policy    = Makespan{}
	_ LogPolicy = EarliestDeadline{}
	_ Policy    = CostPerHour{}
	_ Policy    = CostPerJoule{}
)

// inRange returns w as a finite number above 0.
func inRange(w float64) float64 {
	return min(max(w, math.SmallestNonzeroFloat64), math.MaxFloat64)
}
