package ledger

import (
	"fmt"

	"example.com/colloc/internal/enum"
	"example.com/colloc/profile"
)

// DiscrepancyKind says how the books and reality differ.
type DiscrepancyKind int

// The kinds of discrepancy.
const (
	// Foreign: a process that belongs to no task in the books holds memory. It
	// counts against what is free. Task is set if it claims to be of a task:
	// one that was released, expired, or never reserved.
	Foreign DiscrepancyKind = iota + 1
	// Stray: a process of a task in the books is on a GPU that is not the
	// task's. It counts against what is free there.
	Stray
	// Overuse: a task uses more than it reserved. From now on it counts with
	// what it uses.
	Overuse
	// Absent: a task was committed StartTime ago or earlier and has no process
	// on its GPU. Its reservation stands until it is released.
	Absent
	// Zombie: memory is in use that no process accounts for, beyond Overhead:
	// what a dead process left behind, or one that the reader cannot see. It
	// counts against what is free.
	Zombie
	// Overcommitted: what runs and what is reserved is more than the GPU has
	// after headroom. Nothing more is granted there; out-of-memory is near.
	Overcommitted
	// UnknownGPU: the books have no such GPU.
	UnknownGPU
	// BadReading: the reading cannot be true and was ignored.
	BadReading
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var discrepancyNames = enum.Of("ledger: discrepancy", "none", "foreign", "stray", "overuse", "absent", "zombie", "overcommitted", "unknown-gpu", "bad-reading")

// String returns a short name such as "overuse".
func (k DiscrepancyKind) String() string { return discrepancyNames.Text(int(k)) }

// MarshalText writes what String returns; an undefined value is an error.
func (k DiscrepancyKind) MarshalText() ([]byte, error) { return discrepancyNames.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *DiscrepancyKind) UnmarshalText(text []byte) error {
	return enum.Parse(discrepancyNames, text, k)
}

// Discrepancy is one difference between the books and what was seen. Fields
// that do not apply are zero.
type Discrepancy struct {
	// Kind says what it is.
	Kind DiscrepancyKind `json:"kind"`
	// GPU is the card's ID.
	GPU string `json:"gpu"`
	// Task is the task's ID, PID the process.
	Task string `json:"task,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Reserved is what the books have for the task. Used is what was seen of it. Short
	// is what the GPU lacks. With Overcommitted, Reserved is that of the whole GPU and
	// Used is what foreigners use.
	Reserved profile.Bytes `json:"reserved_bytes,omitempty"`
	Used     profile.Bytes `json:"used_bytes,omitempty"`
	Short    profile.Bytes `json:"short_bytes,omitempty"`
	// Text says the same for people.
	Text string `json:"text"`
}

// Say returns Text with another word for a task, as where tasks are called jobs.
func (d *Discrepancy) Say(noun string) string {
	if d.Kind == BadReading {
		return d.Text
	}
	return d.text(noun)
}

// text explains d; BadReading carries its explanation.
func (d *Discrepancy) text(noun string) string {
	switch d.Kind {
	case Foreign:
		who := "nobody registered"
		if d.Task != "" {
			who = fmt.Sprintf("claims to be %s %q, which has no reservation", noun, d.Task)
		}
		return fmt.Sprintf("GPU %q: process %d, which %s, uses %v", d.GPU, d.PID, who, d.Used)
	case Stray:
		return fmt.Sprintf("GPU %q: process %d of %s %q uses %v; it is booked on another GPU", d.GPU, d.PID, noun, d.Task, d.Used)
	case Overuse:
		return fmt.Sprintf("GPU %q: %s %q uses %v, %v more than the %v it reserved", d.GPU, noun, d.Task, d.Used, d.Used-d.Reserved, d.Reserved)
	case Absent:
		return fmt.Sprintf("GPU %q: %s %q reserved %v and has no process there", d.GPU, noun, d.Task, d.Reserved)
	case Zombie:
		return fmt.Sprintf("GPU %q: %v are in use that no process accounts for", d.GPU, d.Used)
	case Overcommitted:
		return fmt.Sprintf("GPU %q: %ss need %v and others use %v, %v more than there is after headroom", d.GPU, noun, d.Reserved, d.Used, d.Short)
	case UnknownGPU:
		return fmt.Sprintf("GPU %q is not in the books; %v are in use there", d.GPU, d.Used)
	default:
		return fmt.Sprintf("GPU %q: reading ignored: %s", d.GPU, d.Text)
	}
}
