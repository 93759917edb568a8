package packer

import (
	"cmp"
	"fmt"
	"strings"

	"example.com/colloc/internal/enum"
	"example.com/colloc/profile"
)

// ReasonCode says which limit binds.
type ReasonCode int

// The reasons why a task is in no set or has a GPU to itself. 0 is none.
const (
	// NoGPU: the problem has no GPU.
	NoGPU ReasonCode = iota + 1
	// TooLarge: the task needs more memory than the largest GPU offers.
	TooLarge
	// GPUsTaken: the task waits, all GPUs that would take it run sets that are
	// worth more. Sharing says why it could not join one.
	GPUsTaken
	// Stopped: the context was cancelled before the task's turn.
	Stopped
	// MustBeAlone: the task, or its best partner, may not share.
	MustBeAlone
	// SetFull: Limits.MaxSet or the GPU's mechanisms forbid one more task.
	SetFull
	// MemoryLimit: together with its best partner the task needs more memory
	// than the GPU offers.
	MemoryLimit
	// SpeedLimit: a member of the set would run below its MinSpeed; Partner is
	// empty if that is so even when the task is alone.
	SpeedLimit
	// NoGain: sharing would not do more work than running alone.
	NoGain
	// NoPartner: there is no partner, or the good ones do more work elsewhere.
	NoPartner
	// OwnGPU: sharing would be allowed, but there are GPUs enough.
	OwnGPU
	// WrongGPU: no GPU carries the labels that the task asks for.
	WrongGPU
	// Incompatible: the task and its best partner do not accept each other's
	// labels.
	Incompatible
	// GangSize: the task and its best partner need different numbers of GPUs.
	GangSize
	// TooFewGPUs: there are not as many GPUs of one type as the task needs.
	TooFewGPUs
	// GPUsDown: GPUs that would take the task are out of service.
	GPUsDown
	// Kept: the GPUs that would take the task are kept for Partner, a gang that many have
	// passed.
	Kept
	// ByChoice: the task could start, but not under Rule, by which the rest of the day is
	// better. Sharing says what the task lacks by it.
	ByChoice
	// Undecided: the task may start at the next decision.
	Undecided
	// UnknownNeed: the task, or its best partner, is alone because nobody knows how much
	// memory it needs. A Planner says so; packer itself knows a reservation of each task.
	UnknownNeed
	// MeasuredSlow: the task and its best partner, or some of the set, ran together before
	// and did less than the best of them alone; see [TriedModel].
	MeasuredSlow
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var reasonNames = enum.Of("packer: reason", "none", "no-gpu", "too-large", "gpus-taken", "stopped", "must-be-alone", "set-full",
	"memory", "speed", "no-gain", "no-partner", "own-gpu", "wrong-gpu", "incompatible",
	"gang-size", "too-few-gpus", "gpus-down", "kept", "by-choice", "undecided", "unknown-need", "measured-slow")

// String returns a short name such as "memory".
func (c ReasonCode) String() string { return reasonNames.Text(int(c)) }

// MarshalText writes what String returns; an undefined value is an error.
func (c ReasonCode) MarshalText() ([]byte, error) { return reasonNames.Marshal(int(c)) }

// UnmarshalText reads what MarshalText writes.
func (c *ReasonCode) UnmarshalText(text []byte) error { return enum.Parse(reasonNames, text, c) }

// Reason says why a task is in no set, or why it shares its GPU with nobody,
// and what would change that. Fields that do not apply are zero.
type Reason struct {
	// Task is an index into Problem.Tasks, ID its name.
	Task int    `json:"task"`
	ID   string `json:"id"`
	// Placed is true if the task runs, alone on its GPU.
	Placed bool `json:"placed"`
	// Code is the limit that binds.
	Code ReasonCode `json:"code"`
	// Sharing is, with GPUsTaken, the limit that keeps the task from joining
	// its best partner, or those of Beside.
	Sharing ReasonCode `json:"sharing,omitempty"`
	// Partner is the ID of the best partner: the task or resident with which
	// sharing comes nearest to being allowed and, where it is allowed, gains
	// most. The 64 tasks that need least memory are considered, fewer where
	// there are more than 4096 tasks.
	Partner string `json:"partner,omitempty"`
	// Memory is the task's reservation. Largest is what the largest GPU that carries its
	// labels offers after headroom and residents. Short is how many bytes are missing
	// for the task alone (TooLarge) or with Partner (MemoryLimit).
	Memory  profile.Bytes `json:"memory_bytes"`
	Largest profile.Bytes `json:"largest_bytes,omitempty"`
	Short   profile.Bytes `json:"short_bytes,omitempty"`
	// Slow is the ID of the task that would run at Speed, below Limit, its
	// MinSpeed (SpeedLimit).
	Slow  string  `json:"slow,omitempty"`
	Speed float64 `json:"speed,omitempty"`
	Limit float64 `json:"limit,omitempty"`
	// Shared is the value of the set with Partner, Apart the value to beat
	// (NoGain) or that of both alone (OwnGPU).
	Shared float64 `json:"shared,omitempty"`
	Apart  float64 `json:"apart,omitempty"`
	// GPUs is how many more GPUs the task needs to run, and Free how many would take a gang
	// now.
	GPUs int `json:"gpus,omitempty"`
	Free int `json:"free,omitempty"`
	// Beside are the IDs of those that run on the GPU that comes nearest to taking the task,
	// and Rule the order and the limits by which it waits, in words: where tasks come and
	// go, see online.Scheduler.
	Beside []string `json:"beside,omitempty"`
	Rule   string   `json:"rule,omitempty"`
}

// String explains the reason in a sentence or two.
func (r Reason) String() string {
	if r.Placed && r.Code == 0 {
		return r.ID + " runs."
	}
	if r.Placed {
		return fmt.Sprintf("%s runs alone: %s.", r.ID, r.limit(r.Code))
	}
	switch r.Code {
	case NoGPU:
		return fmt.Sprintf("%s waits: there is no GPU. One%s would run it.", r.ID, r.with())
	case TooLarge:
		if r.Largest <= 0 {
			return fmt.Sprintf("%s waits: it needs %v and no GPU has memory left. A GPU that offers %v would place it.", r.ID, r.Memory, r.Memory)
		}
		return fmt.Sprintf("%s waits: it needs %v and the largest GPU offers %v. A GPU that offers %v more, or a reservation of at most %v, would place it.",
			r.ID, r.Memory, r.Largest, r.Short, r.Largest)
	case TooFewGPUs:
		return fmt.Sprintf("%s waits: there are too few GPUs of one type on which it may run. %d more would run it.", r.ID, r.GPUs)
	case WrongGPU:
		return r.ID + " waits: no GPU carries all the labels that it asks for. A GPU that does, or fewer labels, would place it."
	case SpeedLimit:
		if r.Speed <= 0 {
			return r.ID + " waits: it runs on none of the GPUs, not even alone."
		}
		return fmt.Sprintf("%s waits: even alone it would run at speed %.3g, below its limit %.3g.", r.ID, r.Speed, r.Limit)
	case Stopped:
		return r.ID + " waits: packing was cancelled before its turn. More time would help."
	case GPUsDown:
		return fmt.Sprintf("%s waits: GPUs on which it could run are out of service. %s in service would do.", r.ID, more(r.GPUs))
	case Kept:
		return fmt.Sprintf("%s waits: the GPUs that would take it are kept for %s, which many have passed.", r.ID, r.Partner)
	case ByChoice:
		return fmt.Sprintf("%s waits for a better place: it could start, but %s (%s).", r.ID, r.limit(r.Sharing), r.Rule)
	case Undecided:
		return r.ID + " waits for the next decision, at which it may start."
	default:
	}
	return r.taken()
}

// taken explains GPUsTaken.
func (r Reason) taken() string {
	text := r.ID + " waits: every GPU that would take it is taken by work that is worth more"
	switch {
	case r.Free > 0:
		text = fmt.Sprintf("%s waits: %d of the %d GPUs that it needs at once would take it now", r.ID, r.Free, r.Free+r.GPUs)
		if r.Sharing != 0 {
			text += ", and another not: " + r.limit(r.Sharing)
		}
	case r.Sharing != 0:
		text += ", and it can join none: " + r.limit(r.Sharing)
	}
	return fmt.Sprintf("%s. %s%s would run it.", text, more(r.GPUs), r.with())
}

// with is " with 3 GiB": what a GPU must have that would do, where that is known.
func (r Reason) with() string {
	if r.Memory <= 0 || r.Sharing == UnknownNeed && r.Partner == "" {
		return ""
	}
	return fmt.Sprintf(" with %v", r.Memory)
}

// more is "1 more GPU" or "2 more GPUs".
func more(n int) string {
	if n > 1 {
		return fmt.Sprintf("%d more GPUs", n)
	}
	return "1 more GPU"
}

// limit explains why sharing is off.
func (r Reason) limit(code ReasonCode) string {
	partner := ""
	switch {
	case len(r.Beside) > 0:
		partner = "beside " + strings.Join(r.Beside, " and ")
	case r.Partner != "":
		partner = "with " + r.Partner + ", its best partner,"
	}
	var b strings.Builder
	switch code {
	case MustBeAlone:
		if r.Partner == "" {
			return "it must not share"
		}
		return r.Partner + " must not share"
	case GangSize:
		return "it and " + r.Partner + " need different numbers of GPUs"
	case Incompatible:
		return "it and " + r.Partner + " do not accept each other's labels; Avoid and Only say which"
	case UnknownNeed:
		return cmp.Or(r.Partner, "it") + " reserves the whole GPU, as its need is not known; give its measured peak or describe the model"
	case SetFull:
		if len(r.Beside) > 0 {
			return partner + " there is no place for one more"
		}
		return "no more may share a GPU, or it has no mechanism for that"
	case MemoryLimit:
		fmt.Fprintf(&b, "%s it would be %v short of memory; reservations smaller by that much, or a GPU that much larger, would do", partner, r.Short)
	case SpeedLimit:
		if r.Speed <= 0 {
			return partner + " " + r.Slow + " could not run"
		}
		fmt.Fprintf(&b, "%s the speed of %s would be %.3g, below its limit %.3g; a limit of %.3g would do", partner, r.Slow, r.Speed, r.Limit, r.Speed)
	case MeasuredSlow:
		fmt.Fprintf(&b, "%s it was measured to do less than one of them alone; another mechanism, a new measurement or forgetting that one would lift it", partner)
	case NoGain:
		if r.Apart == 0 { // what is too little is a matter of Rule
			return strings.TrimPrefix(partner+" it would add too little", " ")
		}
		fmt.Fprintf(&b, "%s the GPU would do %.3g instead of %.3g", partner, r.Shared, r.Apart)
	case NoPartner:
		if r.Partner == "" {
			return "there is no other task to share with"
		}
		return "the tasks that could share with it do more work elsewhere, " + r.Partner + " for one"
	case OwnGPU:
		fmt.Fprintf(&b, "there are GPUs enough; with %s on one GPU both would do %.3g instead of %.3g", r.Partner, r.Shared, r.Apart)
	default:
		return code.String()
	}
	return b.String()
}
