package colloc

import (
	"fmt"

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
	// Throughput is the weighted set throughput with the task.
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
		return "must be alone: the task or a resident forbids sharing"
	case packer.GangSize:
		return "gang: a task of several GPUs takes empty ones, and nobody joins it"
	case packer.SetFull:
		return "set size: the GPU already holds as many tasks as may share it"
	default:
		return v.Code.String()
	}
}
