package colloc

import (
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Verdict is the answer of [Planner.Fit]: whether the task may run on the GPU,
// beside its residents, and what decided. It is a plain value.
type Verdict struct {
	// Fits reports whether every limit holds.
	Fits bool `json:"fits"`
	// Code names the binding limit; 0 if there is none.
	Code packer.ReasonCode `json:"code"`
	// Other is the ID of the resident that stands in the way: it or the task must be
	// alone or takes several GPUs, or their labels do not go together.
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
	case packer.GangSize:
		return fmt.Sprintf("gang: a task of several GPUs takes empty ones, and nobody joins it; %q is there", v.Other)
	case packer.Incompatible:
		return fmt.Sprintf("labels: the task and %q do not accept each other; Avoid and Only say which labels they bear", v.Other)
	case packer.WrongGPU:
		return fmt.Sprintf("wrong GPU: the task asks for label %q, and the GPU does not carry it", v.Label)
	case packer.SetFull:
		return "set size: the GPU already holds as many tasks as may share it"
	default:
		return v.Code.String()
	}
}

// ReliefKind says what would have to change for a task to be placed or shared.
type ReliefKind int

// The kinds of relief.
const (
	// ReserveLess: the task's reservation must be at most Bytes.
	ReserveLess ReliefKind = iota
	// LargerGPU: a GPU must offer at least Bytes after headroom and residents.
	LargerGPU
	// MoreGPUs: Count more GPUs, each offering at least Bytes.
	MoreGPUs
	// AllowSlowdown: the task's MaxSlowdown must be at least Factor.
	AllowSlowdown
	// AllowSharing: the task must no longer ask to be alone.
	AllowSharing
	// LargerSets: MaxSet, or the GPU's mechanisms, must allow one task more.
	LargerSets
	// AcceptLess: MinGain must be lower; sharing would be worth Factor times
	// running apart.
	AcceptLess
	// OtherLabels: the labels of the task or its partner, or what they avoid or
	// insist on, must let the two share.
	OtherLabels
	// LabelGPU: a GPU must carry the labels that the task asks for.
	LabelGPU
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var reliefNames = []string{
	"reserve-less", "larger-gpu", "more-gpus", "allow-slowdown", "allow-sharing", "larger-sets", "accept-less",
	"other-labels", "label-gpu",
}

// String returns a short name such as "reserve-less".
func (k ReliefKind) String() string {
	if k < 0 || int(k) >= len(reliefNames) {
		return fmt.Sprintf("relief(%d)", int(k))
	}
	return reliefNames[k]
}

// MarshalText writes what String returns.
func (k ReliefKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *ReliefKind) UnmarshalText(text []byte) error {
	i := slices.Index(reliefNames, string(text))
	if i < 0 {
		return fmt.Errorf("colloc: unknown relief %q", text)
	}
	*k = ReliefKind(i)
	return nil
}

// Relief is one thing that would lift the limit that binds, for programs to
// act on. Fields that do not apply are zero.
type Relief struct {
	// Kind says what to change.
	Kind ReliefKind `json:"kind"`
	// Task is the ID of the task it concerns.
	Task string `json:"task,omitempty"`
	// Bytes is the amount of memory that would do.
	Bytes profile.Bytes `json:"bytes,omitempty"`
	// Count is the number of GPUs that would do.
	Count int `json:"count,omitempty"`
	// Factor is the slowdown or the gain that would do.
	Factor float64 `json:"factor,omitempty"`
}

// reliefs derives from a packer's reason what would lift it.
func reliefs(r *packer.Reason) []Relief {
	list := lift(r, r.Code)
	if r.Code == packer.GPUsTaken {
		list = append(list, lift(r, r.Sharing)...)
	}
	return list
}

func lift(r *packer.Reason, code packer.ReasonCode) []Relief {
	switch code {
	case packer.NoGPU, packer.GPUsTaken, packer.TooFewGPUs:
		return []Relief{{Kind: MoreGPUs, Task: r.ID, Count: max(1, r.GPUs), Bytes: r.Memory}}
	case packer.TooLarge:
		return append(reserveLess(r.ID, r.Largest), Relief{Kind: LargerGPU, Task: r.ID, Bytes: r.Memory})
	case packer.MemoryLimit:
		return reserveLess(r.ID, r.Memory-r.Short)
	case packer.SpeedLimit:
		if r.Speed <= 0 {
			return nil
		}
		return []Relief{{Kind: AllowSlowdown, Task: r.Slow, Factor: 1 / r.Speed}}
	case packer.MustBeAlone:
		who := r.ID
		if r.Partner != "" {
			who = r.Partner
		}
		return []Relief{{Kind: AllowSharing, Task: who}}
	case packer.SetFull:
		return []Relief{{Kind: LargerSets, Task: r.ID}}
	case packer.Incompatible:
		return []Relief{{Kind: OtherLabels, Task: r.ID}}
	case packer.WrongGPU:
		return []Relief{{Kind: LabelGPU, Task: r.ID}}
	case packer.NoGain:
		if r.Apart <= 0 {
			return nil
		}
		return []Relief{{Kind: AcceptLess, Task: r.ID, Factor: r.Shared / r.Apart}}
	default: // nothing to change: a partner is missing, or there are GPUs enough
		return nil
	}
}

// reserveLess is a relief where something is left to reserve.
func reserveLess(task string, most profile.Bytes) []Relief {
	if most <= 0 {
		return nil
	}
	return []Relief{{Kind: ReserveLess, Task: task, Bytes: most}}
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
