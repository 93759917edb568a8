package packer

import (
	"context"
	"encoding/json"
	"math"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Method answers a Problem. An error of the problem or its Model comes with a
// nil Solution; a cancelled context comes with the best plan so far, complete
// and feasible, and ctx.Err(). Methods keep no state: one value may be used by
// many goroutines if its Problem's Model may.
type Method interface {
	Pack(ctx context.Context, p *Problem) (*Solution, error)
}

// Set is what runs on one GPU.
type Set struct {
	// GPU is an index into Problem.GPUs.
	GPU int `json:"gpu"`
	// Tasks are indices into Problem.Tasks, ascending. The GPU's residents
	// are part of the set and not listed. Empty: only residents run here.
	Tasks []int `json:"tasks"`
	// Gang are the other GPUs that the set takes where its tasks need more than
	// one, ascending and above GPU.
	Gang []int `json:"gang,omitempty"`
	// Mechanism is how the members share.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Instances are, with MIG and a [SliceModel], the instances on which the
	// members run, in the order of Speeds; together they are the GPU's layout.
	Instances []mig.Placement `json:"instances,omitempty"`
	// Speeds are the members' predicted speeds: residents first, in their
	// order, then Tasks. All are above 0: a task that would wait is not in a
	// set, it has a Reason.
	Speeds []float64 `json:"speeds"`
	// Value is the set throughput: the sum of weight times pace times speed over all
	// members, rounded to the resolution that the package comment defines.
	Value float64 `json:"value"`
}

// Solution is a plan with what is known about its quality.
type Solution struct {
	// Sets are the GPUs that work, by ascending index.
	Sets []Set `json:"sets"`
	// Reasons explain, by ascending task, every task that is in no set and
	// every task that has a GPU to itself although sharing was considered.
	Reasons []Reason `json:"reasons"`
	// Throughput is the sum of the sets' values.
	Throughput float64 `json:"throughput"`
	// Bound is what no plan can exceed, or +Inf if the method proves nothing.
	Bound float64 `json:"bound"`
	// Certificate proves Bound: its Verify returns a number no larger. It is
	// nil if Bound is +Inf.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Method says which algorithm made the plan, and why that one.
	Method string `json:"method"`
}

// Gap is how far the plan can be from the best one: (Bound - Throughput) /
// Bound, in [0, 1]; 0 is proved optimal and 1 says that nothing is known.
func (s *Solution) Gap() float64 {
	switch {
	case math.IsInf(s.Bound, 1):
		return 1
	case s.Bound <= s.Throughput:
		return 0
	}
	return (s.Bound - s.Throughput) / s.Bound
}

// MarshalJSON writes a Bound of +Inf, which JSON cannot say, as null.
func (s *Solution) MarshalJSON() ([]byte, error) {
	type plain Solution
	out := struct {
		*plain
		Bound *float64 `json:"bound"`
	}{plain: (*plain)(s)}
	if !math.IsInf(s.Bound, 0) {
		out.Bound = &s.Bound
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Solution) UnmarshalJSON(data []byte) error {
	type plain Solution
	in := struct {
		*plain
		Bound *float64 `json:"bound"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	s.Bound = math.Inf(1)
	if in.Bound != nil {
		s.Bound = *in.Bound
	}
	return nil
}

// Certificate is a proof that no plan is worth more than a bound: prices at
// which nobody could make a profit. It is a feasible point of the dual linear
// program in the package comment.
type Certificate struct {
	// U prices the tasks, by index into Problem.Tasks: at most that much is
	// lost if the task does not run.
	U []float64 `json:"u"`
	// Lambda prices the GPUs, by index into Problem.GPUs: at most that much is
	// gained by one more such GPU. Verify does not trust it: it finds the
	// smallest prices that go with U itself.
	Lambda []float64 `json:"lambda"`
	// Odd are prices of odd sets, for problems with sets of at most two.
	Odd []OddSet `json:"odd,omitempty"`
}

// OddSet prices a group of tasks and GPUs with a resident, each of which can be
// in one pair at most: among n of them there are at most n/2 pairs, rounded down.
type OddSet struct {
	// Tasks and GPUs are indices, ascending. The GPUs have one resident.
	Tasks []int `json:"tasks"`
	GPUs  []int `json:"gpus,omitempty"`
	// Z is the price.
	Z float64 `json:"z"`
}
