package decide

import (
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// Event is an event of package dispatch. Event is its name, which says what of the rest
// counts:
//
//	submitted   task, user, left_ns, done_ns, restart_ns, after.
//	adopted     the same, run, gpus.
//	described   the same as submitted.
//	held released withdrawn          job.
//	barred      job, gpus.
//	started     job, run.
//	refused     job, run, why.
//	stays       job, run.
//	ended       job, run, how, peak, left_ns.
//	seen        job, run, peak.
//	progress    job, run, left_ns.
//	gpu_added   card, machine.
//	gpu_changed card.
//	gpu_removed gpu_failed gpu_restored  gpu.
//	drained     gpu, off.
//	reserved    gpu, for.
//	foreign     gpu, memory.
//	allowed     user, limits.
//	elsewhere   user, jobs, cards.
//	accounted   user, used.
//	learned.
type Event struct {
	Event string `json:"event"`
	// Task is what a job needs: of one that says no more than its ID, and best its kind, memory is
	// learned from what is seen. Card is a GPU without residents: what runs there is adopted.
	Task *taskfile.Task `json:"task,omitempty"`
	Card *GPU           `json:"card,omitempty"`
	// Job and GPU name one that is known, Run is the number of a start.
	Job string   `json:"job,omitempty"`
	GPU string   `json:"gpu,omitempty"`
	Run uint64   `json:"run,omitempty"`
	On  []string `json:"gpus,omitempty"`
	// User, Left, Done, Restart and After are those of [dispatch.Job]; Left is also that of
	// [dispatch.Ended] and [dispatch.Progress].
	User    string                     `json:"user,omitempty"`
	Left    profile.Opt[time.Duration] `json:"left_ns,omitzero"`
	Done    profile.Opt[time.Duration] `json:"done_ns,omitzero"`
	Restart profile.Opt[time.Duration] `json:"restart_ns,omitzero"`
	After   []dispatch.Dependency      `json:"after,omitempty"`
	// How is how a run ended.
	How dispatch.How `json:"how,omitempty"`
	// For, Limits and Used are those of [dispatch.Reserved], [dispatch.Allowed] and [dispatch.Accounted].
	For    []dispatch.Reservation `json:"for,omitempty"`
	Limits dispatch.Limits        `json:"limits,omitzero"`
	Used   dispatch.Used          `json:"used,omitzero"`
	// Jobs of a user run on Cards where the session does not look.
	Jobs  int `json:"jobs,omitempty"`
	Cards int `json:"cards,omitempty"`
	// Peak is the most memory that a job was seen to use on a GPU. Memory is what is in use by
	// processes that are no jobs.
	Peak    profile.Opt[profile.Bytes] `json:"peak,omitzero"`
	Memory  profile.Bytes              `json:"memory,omitempty"`
	Machine int                        `json:"machine,omitempty"`
	Why     string                     `json:"why,omitempty"`
	// Off ends a drain.
	Off bool `json:"off,omitempty"`
}

// dispatched is an event as a Dispatcher takes it; where is its place in the request.
func (e *Event) dispatched(where string) (dispatch.Event, error) {
	switch e.Event {
	case "submitted":
		job, err := e.job(where)
		return dispatch.Submitted{Job: job}, err
	case "adopted":
		job, err := e.job(where)
		return dispatch.Adopted{Job: job, Run: e.Run, GPUs: e.On}, err
	case "described":
		job, err := e.job(where)
		return dispatch.Described{Job: job}, err
	case "barred":
		return dispatch.Barred{Job: e.Job, GPUs: e.On}, nil
	case "allowed":
		return dispatch.Allowed{User: e.User, Limits: e.Limits}, nil
	case "elsewhere":
		return dispatch.Elsewhere{User: e.User, Jobs: e.Jobs, GPUs: e.Cards}, nil
	case "accounted":
		return dispatch.Accounted{User: e.User, Used: e.Used}, nil
	case "held":
		return dispatch.Held{Job: e.Job}, nil
	case "released":
		return dispatch.Released{Job: e.Job}, nil
	case "withdrawn":
		return dispatch.Withdrawn{Job: e.Job}, nil
	case "started":
		return dispatch.Started{Job: e.Job, Run: e.Run}, nil
	case "refused":
		return dispatch.Refused{Job: e.Job, Run: e.Run, Why: e.Why}, nil
	case "ended", "seen", "progress", "stays":
		return e.ran(where)
	}
	return e.card(where)
}

// ran is an event of a run.
func (e *Event) ran(where string) (dispatch.Event, error) {
	switch e.Event {
	case "stays":
		return dispatch.Stays{Job: e.Job, Run: e.Run}, nil
	case "seen":
		peak, ok := e.Peak.Get()
		if !ok {
			return nil, missing(where+".peak", "the memory that was seen")
		}
		return dispatch.Seen{Job: e.Job, Run: e.Run, Peak: peak}, nil
	case "progress":
		left, ok := e.Left.Get()
		if !ok {
			return nil, missing(where+".left_ns", "how long it would still run alone")
		}
		return dispatch.Progress{Job: e.Job, Run: e.Run, Left: profile.Some(left)}, nil
	}
	if e.How == 0 {
		return nil, missing(where+".how", "how it ended")
	}
	return dispatch.Ended{Job: e.Job, Run: e.Run, How: e.How, Peak: e.Peak, Left: e.Left}, nil
}

// card is an event of a GPU.
func (e *Event) card(where string) (dispatch.Event, error) {
	switch e.Event {
	case "gpu_added", "gpu_changed":
		if e.Card == nil {
			return nil, missing(where+".card", "the GPU")
		}
		if len(e.Card.Residents) > 0 {
			return nil, wire.Errorf(wire.Invalid, where+".card.residents", "tell of what runs there by adopted and foreign", "a session keeps its own account of who runs where")
		}
		gpu, err := gpuOf(e.Card, where+".card")
		if e.Event == "gpu_changed" {
			return dispatch.GPUChanged{GPU: gpu}, err
		}
		return dispatch.GPUAdded{GPU: gpu, Machine: e.Machine}, err
	case "gpu_removed":
		return dispatch.GPURemoved{GPU: e.GPU}, nil
	case "gpu_failed":
		return dispatch.GPUFailed{GPU: e.GPU}, nil
	case "gpu_restored":
		return dispatch.GPURestored{GPU: e.GPU}, nil
	case "drained":
		return dispatch.Drained{GPU: e.GPU, Off: e.Off}, nil
	case "reserved":
		return dispatch.Reserved{GPU: e.GPU, For: e.For}, nil
	case "foreign":
		return dispatch.Foreign{GPU: e.GPU, Memory: e.Memory}, nil
	case "learned":
		return dispatch.Learned{}, nil
	}
	return nil, wire.Errorf(wire.Invalid, where+".event", "see docs/howto/http.md", "there is no event %.100q", e.Event)
}

// job is a job as a Dispatcher takes it.
func (e *Event) job(where string) (dispatch.Job, error) {
	if e.Task == nil {
		return dispatch.Job{}, missing(where+".task", "what the job needs")
	}
	t := *e.Task
	silent := t.Solo == nil && len(t.Elsewhere) == 0 && len(t.Model.Layers) == 0
	if silent && t.Training.BatchSize == 0 {
		t.Training.BatchSize = 1 // the least that a task says
	}
	task, err := taskOf(&t, where+".task")
	if silent && task.Reserved == 0 {
		task.Profile = nil // nothing is known of its memory
	}
	return dispatch.Job{Task: task, User: e.User, Left: e.Left, Done: e.Done, Restart: e.Restart, After: e.After}, err
}

func missing(where, what string) error {
	return wire.Errorf(wire.Invalid, where, "", "missing: %s", what)
}
