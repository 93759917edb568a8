package runner

import (
	"fmt"

	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Task is one command to run on one GPU, or on several at once.
type Task = queue.Task

// Dependency makes a task wait for another one.
type Dependency = queue.Dependency

// Progress says how a task tells how far it is.
type Progress = queue.Progress

// Owner is the user that a task runs as.
type Owner = queue.Owner

// Limit is a resource limit of an Owner.
type Limit = queue.Limit

// Record is everything known of a task in the queue.
type Record = queue.Record

// State is where a task is in its life.
type State = queue.State

// The states, in the order of a life.
const (
	Queued    = queue.Queued
	Starting  = queue.Starting
	Running   = queue.Running
	Succeeded = queue.Succeeded
	Failed    = queue.Failed
	Cancelled = queue.Cancelled
)

// RanAlone is the last step of what is done when memory ran out.
const RanAlone = queue.RanAlone

// Event is something that happened.
type Event = queue.Event

// EventKind says what happened.
type EventKind = queue.EventKind

// The kinds of events.
const (
	EventQueued     = queue.EventQueued
	EventStarted    = queue.EventStarted
	EventAdopted    = queue.EventAdopted
	EventProgress   = queue.EventProgress
	EventRecovering = queue.EventRecovering
	EventRetry      = queue.EventRetry
	EventFinished   = queue.EventFinished
	EventLost       = queue.EventLost
	EventHalted     = queue.EventHalted
	EventWarning    = queue.EventWarning
	EventFound      = queue.EventFound
	EventOverrun    = queue.EventOverrun
	EventStopped    = queue.EventStopped
)

// Sharing returns those of the ways to share that the device's compute mode allows:
// one that takes a single process is shared by MPS or not at all.
func Sharing(d nvmlx.DeviceInfo, mechanisms []profile.Mechanism) []profile.Mechanism {
	return fleet.Sharing(d, mechanisms)
}

// Reading is what is known of a program's progress.
type Reading = progress.Reading

// Follower reads how far a program is that no Runner started: from the file that
// its output goes to, or from one that it writes its steps to. It is safe for
// concurrent use.
type Follower struct{ follower progress.Follower }

// Follow returns a Follower of the file at path. pattern finds steps in the lines
// of an output, as [Progress] says; without one the file holds the steps alone, as
// that of COLLOC_PROGRESS does.
func Follow(path, pattern string) (*Follower, error) {
	compiled, err := progress.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	f := &Follower{}
	f.follower.Begin(compiled, path, path)
	return f, nil
}

// Read returns what is known by now; end says that nothing more comes, so that an
// unfinished line counts. What cannot be read is no progress. O(what is new).
func (f *Follower) Read(end bool) Reading { return f.follower.Follow(end, 1) }
