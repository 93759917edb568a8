package colloc

import (
	"cmp"

	"example.com/colloc/internal/enum"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

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
	// TellNeed: the task's measured peak, or what its model is, must be told.
	TellNeed
	// ForgetMeasured: what was measured of the set must be forgotten or measured anew, or
	// the GPU be shared by another mechanism.
	ForgetMeasured
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var reliefNames = enum.Of("colloc: relief", "reserve-less", "larger-gpu", "more-gpus", "allow-slowdown", "allow-sharing", "larger-sets", "accept-less",
	"other-labels", "label-gpu", "tell-need", "forget-measured")

// String returns a short name such as "reserve-less".
func (k ReliefKind) String() string { return reliefNames.Text(int(k)) }

// MarshalText writes what String returns; an undefined value is an error.
func (k ReliefKind) MarshalText() ([]byte, error) { return reliefNames.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *ReliefKind) UnmarshalText(text []byte) error { return enum.Parse(reliefNames, text, k) }

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
		return []Relief{{Kind: AllowSharing, Task: cmp.Or(r.Partner, r.ID)}}
	case packer.UnknownNeed:
		return []Relief{{Kind: TellNeed, Task: cmp.Or(r.Partner, r.ID)}}
	case packer.MeasuredSlow:
		return []Relief{{Kind: ForgetMeasured, Task: cmp.Or(r.Partner, r.ID)}}
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
