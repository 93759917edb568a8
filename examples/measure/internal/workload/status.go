package workload

// Status is how a task or a cell came to its end.
type Status string

// The ends. A cell has the first status, in this order, that a member has.
const (
	Crash   Status = "crash"   // the process ended or reported an error
	Timeout Status = "timeout" // it hung and was killed
	Garbage Status = "garbage" // it broke the protocol
	OOM     Status = "oom"     // the device memory was not enough: a censored observation
	Short   Status = "short"   // too few steps in the window to tell a speed
	OK      Status = "ok"
)

// Known reports whether s is one of the ends.
func (s Status) Known() bool {
	switch s {
	case OK, OOM, Short, Crash, Timeout, Garbage:
		return true
	}
	return false
}

// Trouble reports whether the run says nothing about the task.
func (s Status) Trouble() bool {
	return s == Crash || s == Timeout || s == Garbage
}
