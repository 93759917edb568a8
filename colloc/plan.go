package colloc

import (
	"errors"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// Plan says which tasks share which GPU and what is known about how good that
// is. Its JSON form is stable.
type Plan struct {
	// Placements are the GPUs in use, in the order they were given.
	Placements []Placement `json:"placements"`
	// Tasks has one entry per task, in the order they were given.
	Tasks []Demand `json:"tasks"`
	// LeftOut are the faults of the tasks and GPUs of which the plan says nothing else,
	// each with its place among those given, see [Config].LeaveOutFaulty.
	LeftOut []*FaultError `json:"left_out,omitempty"`
	// Notes say, for each task that was not placed or got a GPU to itself,
	// which limit bound and what would lift it.
	Notes []Note `json:"notes"`
	// GPUs is the number of GPUs the plan could use.
	GPUs int `json:"gpus"`
	// Reference is the product on which a task's pace is 1, where the GPUs differ. It is
	// empty where all are of one kind and every pace is 1.
	Reference string `json:"reference,omitempty"`
	// Throughput is the sum over all tasks, residents included, of weight, pace and
	// predicted speed multiplied.
	Throughput float64 `json:"throughput"`
	// Exclusive is what the best plan without sharing would reach: residents
	// undisturbed and on each empty GPU one task alone.
	Exclusive float64 `json:"exclusive"`
	// Bound is what no plan can exceed, given the predictions: dual prices
	// prove it, see [packer.Certificate]. Missing where the method proves
	// nothing or was stopped before it could.
	Bound profile.Opt[float64] `json:"bound"`
	// Gap is (Bound - Throughput) / Bound: 0 is proven optimal, 1 says that
	// nothing is known.
	Gap float64 `json:"gap"`
	// Method says how the plan was made.
	Method string `json:"method"`
	// Alarms are the products and mechanisms of these GPUs on which speeds are no longer
	// what is predicted of them; Drift.Fault says in which way.
	Alarms []interference.Regime `json:"alarms,omitempty"`
}

// Placement is what one GPU runs.
type Placement struct {
	// GPU is the card's ID.
	GPU string `json:"gpu"`
	// Gang are the IDs of all GPUs of the set, this one among them, where its
	// members are gangs; each has a Placement.
	Gang []string `json:"gang,omitempty"`
	// Mechanism is how the members share.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Members are the residents, then the tasks placed here.
	Members []Member `json:"members"`
	// Throughput is the sum over the members of weight, pace and speed multiplied,
	// for gangs divided by the number of their GPUs.
	Throughput float64 `json:"throughput"`
	// Reserved is the memory set aside for the members, Usable what the GPU
	// offers after headroom.
	Reserved profile.Bytes `json:"reserved_bytes"`
	Usable   profile.Bytes `json:"usable_bytes"`
	// Binding is the limit that keeps the first task that waits from joining the set. It is 0
	// if none waits, or if one might join and would merely be worth less than what the plan does.
	Binding packer.ReasonCode `json:"binding"`
}

// Member is one task of a set.
type Member struct {
	// Task is the task's ID.
	Task string `json:"task"`
	// Resident says that it ran there before.
	Resident bool `json:"resident,omitempty"`
	// Speed is its predicted speed as a fraction of its solo speed.
	Speed predict.Estimate `json:"speed"`
	// Pace is how fast it is there alone, relative to Plan.Reference; missing where
	// all GPUs are of one kind.
	Pace predict.Estimate `json:"pace,omitzero"`
	// Memory is its predicted or measured peak, in bytes.
	Memory predict.Estimate `json:"memory_bytes"`
	// Reserved is the memory set aside for it.
	Reserved profile.Bytes `json:"reserved_bytes"`
}

// Demand is what one task needs of a GPU.
type Demand struct {
	// Task is the task's ID.
	Task string `json:"task"`
	// GPUs is how many a gang takes at once, 0 for any other task; Memory and
	// Reserved are those of each.
	GPUs int `json:"gpus,omitempty"`
	// Memory is the peak memory, in bytes; its Confidence is 0 for a task that
	// carries its reservation and of which nothing else is known.
	Memory predict.Estimate `json:"memory_bytes"`
	// Reserved is what a plan sets aside for it; [memory.Whole] is a whole GPU.
	Reserved profile.Bytes `json:"reserved_bytes"`
	// Use says what is known of how busy the task keeps a GPU: measured in a
	// solo run, fitted (predicted from measurements of such tasks on the first
	// GPU's product) or a prior.
	Use predict.SourceKind `json:"use"`
	// Warnings are those of the task's [profile.Spec], and why it reserves a
	// whole GPU if it does.
	Warnings []string `json:"warnings,omitempty"`
}

// Note is a [packer.Reason] with its text: for one task, which limit bound and
// what would lift it.
type Note struct {
	packer.Reason
	// Reliefs are what would lift the limit, each by itself.
	Reliefs []Relief `json:"changes"`
	// Text says the same for people.
	Text string `json:"text"`
}

// repeats reports IDs that come twice, and in a plan those of Homes that do not come
// at all. A gang that runs comes once for each of its GPUs.
func repeats(tasks []Task, gpus []GPU, plan bool) []error {
	var errs []error
	cards := make(map[string]bool, len(gpus))
	for g := range gpus {
		cards[gpus[g].ID] = true
	}
	for i := range tasks {
		if home := tasks[i].Home; plan && home != "" && !cards[home] {
			errs = append(errs, place{index: i, gpuIndex: -1}.fault(tasks[i].ID, "Home", fmt.Errorf("is %q, which is no GPU of this call; want one of them, or nothing for a task that does not run", home)))
		}
	}
	clear(cards)
	count := make(map[string]int, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		if count[t.ID]++; count[t.ID] > 1 && t.ID != "" {
			errs = append(errs, place{index: i, gpuIndex: -1}.fault(t.ID, "ID", errors.New("is that of another task; want IDs that differ")))
		}
	}
	for id := range count {
		count[id] += maxGPUs // beyond the width of any gang: none is both a task and a resident
	}
	for g := range gpus {
		gpu := &gpus[g]
		if cards[gpu.ID] {
			errs = append(errs, place{gpu.ID, true, g, -1}.fault("", "ID", errors.New("is that of another GPU; want IDs that differ")))
		}
		cards[gpu.ID] = gpu.ID != ""
		here := make(map[string]bool, len(gpu.Residents))
		for i := range gpu.Residents {
			t := &gpu.Residents[i]
			if count[t.ID]++; t.ID != "" && (here[t.ID] || count[t.ID] > t.Width()) {
				errs = append(errs, place{gpu.ID, true, g, i}.fault(t.ID, "ID", errors.New("is that of another task; want IDs that differ, but for a gang on each of its GPUs")))
			}
			here[t.ID] = true
		}
	}
	return errs
}

// Verdict is the answer of [Planner.Fit]: whether the task may run on the GPU,
// beside its residents, and what decided. It is a plain value.
type Verdict struct {
	// Fits reports whether every limit holds.
	Fits bool `json:"fits"`
	// Code names the binding limit; 0 if there is none.
	Code packer.ReasonCode `json:"code"`
	// Other is the ID of the resident that stands in the way: it or the task must be
	// alone or takes several GPUs, their labels do not go together, or both were measured
	// together and did less than one of them alone.
	Other string `json:"other,omitempty"`
	// Label is what the task asks for by On and the GPU does not carry.
	Label string `json:"label,omitempty"`
	// Memory is the task's peak in bytes, as far as Fit had to ask: Confidence
	// is 0 for a task that carries its reservation.
	Memory predict.Estimate `json:"memory_bytes"`
	// Reserved is the memory that would be set aside for the task.
	Reserved profile.Bytes `json:"reserved_bytes"`
	// Free is what the GPU has left after headroom and residents.
	Free profile.Bytes `json:"free_bytes"`
	// Mechanism is the best way to share.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Speed is the predicted speed of the task there. It is known, with
	// Confidence above 0, once memory and set size are not what binds.
	Speed predict.Estimate `json:"speed"`
	// Pace is how fast the task is alone there, relative to the reference card, see
	// [Planner.Score]; known where Speed is.
	Pace predict.Estimate `json:"pace"`
	// Throughput is the set throughput with the task: the sum of weight, pace and
	// speed multiplied.
	Throughput float64 `json:"throughput"`
	// Slowest is the member whose speed is the smallest fraction of its limit:
	// an index into the residents, or their number for the task itself.
	Slowest int `json:"slowest"`
	// SlowestSpeed is that member's predicted speed, SlowestLimit its limit, 0 for
	// one that bears any slowdown.
	SlowestSpeed float64 `json:"slowest_speed"`
	SlowestLimit float64 `json:"slowest_limit"`
}

// String says in one sentence what decided and what would lift it; of the zero
// Verdict, which comes with an error, that there is none.
func (v Verdict) String() string {
	switch v.Code {
	case 0:
		if !v.Fits {
			return "no verdict"
		}
		return fmt.Sprintf("fits: speed %.2f, reserves %v of %v free", v.Speed.Value, v.Reserved, v.Free)
	case packer.MemoryLimit:
		return fmt.Sprintf("memory: needs %v, %v are free; %v more would lift it", v.Reserved, v.Free, v.Reserved-v.Free)
	case packer.SpeedLimit:
		return fmt.Sprintf("slowdown: a member would run at %.2f of its solo speed, its limit is %.2f", v.SlowestSpeed, v.SlowestLimit)
	case packer.MustBeAlone:
		return fmt.Sprintf("must be alone: the task or %q forbids sharing", v.Other)
	case packer.Incompatible:
		return fmt.Sprintf("labels: the task and %q do not accept each other; Avoid and Only say which labels they bear", v.Other)
	case packer.WrongGPU:
		return fmt.Sprintf("wrong GPU: the task asks for label %q, and the GPU does not carry it", v.Label)
	case packer.MeasuredSlow:
		return fmt.Sprintf("measured: beside %q the GPU did less than one task alone", v.Other)
	case packer.SetFull:
		return "set size: the GPU already holds as many tasks as may share it"
	default:
		return v.Code.String()
	}
}

// Reliefs returns what would lift the limit that binds, each by itself, for the
// answer of [Planner.Fit] about task and gpu; nil if the task fits, or if nothing
// would. Of tasks that must be alone every one has to change.
func (v Verdict) Reliefs(task Task, gpu GPU) []Relief {
	switch v.Code {
	case packer.MemoryLimit:
		return append(reserveLess(task.ID, v.Free), Relief{Kind: LargerGPU, Task: task.ID, Bytes: v.Reserved})
	case packer.SpeedLimit:
		if v.SlowestSpeed <= 0 {
			return nil
		}
		slow := task.ID
		if v.Slowest >= 0 && v.Slowest < len(gpu.Residents) {
			slow = gpu.Residents[v.Slowest].ID
		}
		return []Relief{{Kind: AllowSlowdown, Task: slow, Factor: 1 / v.SlowestSpeed}}
	case packer.MustBeAlone:
		var list []Relief
		for _, t := range append([]Task{task}, gpu.Residents...) {
			if t.Alone || t.Foreign {
				list = append(list, Relief{Kind: AllowSharing, Task: t.ID})
			}
		}
		return list
	case packer.MeasuredSlow:
		return []Relief{{Kind: ForgetMeasured, Task: v.Other}}
	case packer.SetFull:
		return []Relief{{Kind: LargerSets, Task: task.ID}}
	case packer.Incompatible:
		return []Relief{{Kind: OtherLabels, Task: task.ID}, {Kind: OtherLabels, Task: v.Other}}
	case packer.WrongGPU:
		return []Relief{{Kind: LabelGPU, Task: task.ID}}
	default: // the other codes are those of plans
		return nil
	}
}
