package colloc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// FaultError is one fault of a task, of a GPU or of a resident: what cannot be
// understood, or what can never be. Several come joined; [Faults] lists them, so
// that a scheduler can leave out the one bad task of a round.
type FaultError struct {
	// Task is the ID of the task, GPU that of the card: a fault of a resident has
	// both, one of the card itself no Task. Either may be what is at fault.
	Task, GPU string
	// TaskIndex is the place of the task among those given to Plan, or among the
	// GPU's residents; GPUIndex that of the GPU. -1 is none: no such thing, or a
	// call that was given one of them.
	TaskIndex, GPUIndex int
	// Field is the field at fault.
	Field string
	// Err says what is wrong with it and what is wanted.
	Err error

	onGPU bool // of a GPU or one of its residents
}

// Error names the task or GPU, the field, and what is wanted.
func (e *FaultError) Error() string {
	var b strings.Builder
	b.WriteString("colloc: ")
	switch {
	case !e.onGPU:
		name(&b, "task", e.TaskIndex, e.Task)
	case e.TaskIndex < 0:
		name(&b, "GPU", e.GPUIndex, e.GPU)
	default:
		name(&b, "GPU", e.GPUIndex, e.GPU)
		name(&b, "resident", e.TaskIndex, e.Task)
	}
	fmt.Fprintf(&b, "%s %v", e.Field, e.Err)
	return b.String()
}

func name(b *strings.Builder, what string, index int, id string) {
	b.WriteString(what)
	if index >= 0 {
		fmt.Fprintf(b, " %d", index)
	}
	fmt.Fprintf(b, " %q: ", id)
}

// Unwrap returns Err.
func (e *FaultError) Unwrap() error { return e.Err }

// Faults lists every [FaultError] in an error of this package, however it was
// joined or wrapped, in their order.
func Faults(err error) []*FaultError {
	var list []*FaultError
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case nil:
	case *FaultError:
		list = append(list, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = append(list, Faults(one)...)
		}
	case interface{ Unwrap() error }:
		list = Faults(e.Unwrap())
	}
	return list
}

// place is where a task or a GPU stands in a call.
type place struct {
	gpu             string // of a GPU or its resident
	onGPU           bool
	gpuIndex, index int
}

// nowhere is for calls that are given one task or GPU.
//
//nolint:gochecknoglobals // read-only
var nowhere = place{gpuIndex: -1, index: -1}

// fault makes the error of one field; task is "" for that of a GPU.
func (at place) fault(task, field string, err error) *FaultError {
	return &FaultError{Task: task, GPU: at.gpu, TaskIndex: at.index, GPUIndex: at.gpuIndex, Field: field, Err: err, onGPU: at.onGPU}
}

// checkID reports why an ID is none, or "".
func checkID(id string) string {
	if id == "" {
		return "is empty, want a name"
	}
	plain := true // nearly all are, and this takes a tenth of the time
	for i := range len(id) {
		plain = plain && id[i] >= ' ' && id[i] < 0x7f
	}
	switch {
	case plain:
	case strings.ContainsFunc(id, unicode.IsControl):
		return "holds a control character, want a name that can be printed"
	}
	return ""
}

// planRound is newRound for a plan. Where [Config].LeaveOutFaulty says so it goes on
// without what is at fault, and returns that, with the indices that the caller knows.
func (p *Planner) planRound(tasks []Task, gpus []GPU) (*round, []*FaultError, error) {
	r, err := p.newRound(tasks, gpus, true)
	if err == nil || !p.config.LeaveOutFaulty {
		return r, nil, err
	}
	l := leftOut{tasks: places(len(tasks)), gpus: places(len(gpus))}
	for err != nil { // each turn leaves out one at least
		found := Faults(err)
		if len(found) == 0 {
			return nil, nil, err
		}
		found = append(found, elsewhere(found, tasks, gpus)...)
		found = append(found, homes(found, tasks, gpus)...)
		if tasks, gpus = l.without(found, tasks, gpus); !l.fewer {
			return nil, nil, err
		}
		r, err = p.newRound(tasks, gpus, true)
	}
	return r, l.faults, nil
}

// elsewhere are the tasks that may run already, on a GPU that is at fault or as a task
// at fault says: to place them could start them twice.
func elsewhere(found []*FaultError, tasks []Task, gpus []GPU) []*FaultError {
	at := make(map[string]string) // GPU by the ID of what runs there
	gone := make(map[int]bool)
	for _, f := range found {
		if f.GPUIndex < 0 {
			gone[f.TaskIndex] = true
			if t := &tasks[f.TaskIndex]; t.Home != "" {
				at[t.ID] = t.Home
			}
			continue
		}
		for i := range gpus[f.GPUIndex].Residents {
			at[gpus[f.GPUIndex].Residents[i].ID] = gpus[f.GPUIndex].ID
		}
	}
	var more []*FaultError
	for i := range tasks {
		if gpu, runs := at[tasks[i].ID]; runs && tasks[i].ID != "" && !gone[i] {
			more = append(more, place{index: i, gpuIndex: -1}.fault(tasks[i].ID, "ID", fmt.Errorf("is that of what runs on GPU %q, which is left out; want a task that runs nowhere", gpu)))
		}
	}
	return more
}

// homes are the GPUs on which tasks at fault run: what is free there is not known.
func homes(found []*FaultError, tasks []Task, gpus []GPU) []*FaultError {
	by := make(map[string]string) // task by its Home
	for _, f := range found {
		if f.GPUIndex < 0 && tasks[f.TaskIndex].Home != "" {
			by[tasks[f.TaskIndex].Home] = f.Task
		}
	}
	var more []*FaultError
	for g := range gpus {
		if task, runs := by[gpus[g].ID]; runs {
			more = append(more, place{gpus[g].ID, true, g, -1}.fault("", "ID", fmt.Errorf("is the Home of task %q, which is left out; want a task without fault", task)))
		}
	}
	return more
}

// leftOut is what a round goes on without: the places, among those that the caller
// gave, of what is still there, and the faults of what is not.
type leftOut struct {
	tasks, gpus []int
	faults      []*FaultError
	fewer       bool // the last call of without left something out
}

func places(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// without returns what no fault is of. A GPU goes with all that have its ID, for
// which of them tells the truth is not known.
func (l *leftOut) without(found []*FaultError, tasks []Task, gpus []GPU) ([]Task, []GPU) {
	noTask, noGPU, named := make(map[int]bool), make(map[int]bool), make(map[string]bool)
	for _, f := range found {
		if f.GPUIndex >= 0 {
			noGPU[f.GPUIndex] = true
			named[f.GPU] = f.GPU != ""
			f.GPUIndex = l.gpus[f.GPUIndex]
		} else {
			noTask[f.TaskIndex] = true
			f.TaskIndex = l.tasks[f.TaskIndex]
		}
		l.faults = append(l.faults, f)
	}
	for g := range gpus {
		if !noGPU[g] && named[gpus[g].ID] {
			noGPU[g] = true
			l.faults = append(l.faults, place{gpus[g].ID, true, l.gpus[g], -1}.fault("", "ID", errors.New("is that of a GPU that is left out; want IDs that differ")))
		}
	}
	l.fewer = len(noTask)+len(noGPU) > 0
	tasks, l.tasks = rest(tasks, noTask), rest(l.tasks, noTask)
	gpus, l.gpus = rest(gpus, noGPU), rest(l.gpus, noGPU)
	return tasks, gpus
}

// rest returns a new list of what is not gone.
func rest[T any](list []T, gone map[int]bool) []T {
	i := -1
	return slices.DeleteFunc(slices.Clone(list), func(T) bool { i++; return gone[i] })
}

// faultJSON is the JSON form of a FaultError.
type faultJSON struct {
	Task      string  `json:"task,omitempty"`
	GPU       *string `json:"gpu,omitempty"` // of a fault on a GPU; "" is one without ID
	TaskIndex int     `json:"task_index"`
	GPUIndex  int     `json:"gpu_index"`
	Field     string  `json:"field"`
	Error     string  `json:"error"`
}

// MarshalJSON writes the fields, Err as its text.
func (e *FaultError) MarshalJSON() ([]byte, error) {
	f := faultJSON{Task: e.Task, TaskIndex: e.TaskIndex, GPUIndex: e.GPUIndex, Field: e.Field}
	if e.onGPU || e.GPU != "" {
		f.GPU = &e.GPU
	}
	if e.Err != nil {
		f.Error = e.Err.Error()
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes; Err is then its text and no more.
func (e *FaultError) UnmarshalJSON(data []byte) error {
	var f faultJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("colloc: fault: %w", err)
	}
	*e = FaultError{
		Task: f.Task, TaskIndex: f.TaskIndex, GPUIndex: f.GPUIndex, Field: f.Field,
		Err: errors.New(f.Error), onGPU: f.GPU != nil || f.GPUIndex >= 0,
	}
	if f.GPU != nil {
		e.GPU = *f.GPU
	}
	return nil
}
