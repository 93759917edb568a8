package colloc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

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

// elsewhere are the tasks that may run already on a GPU that is at fault: to place
// them could start them twice.
func elsewhere(found []*FaultError, tasks []Task, gpus []GPU) []*FaultError {
	at := make(map[string]string) // GPU by the ID of its residents
	for _, f := range found {
		if f.GPUIndex < 0 {
			continue
		}
		for i := range gpus[f.GPUIndex].Residents {
			at[gpus[f.GPUIndex].Residents[i].ID] = gpus[f.GPUIndex].ID
		}
	}
	var more []*FaultError
	for i := range tasks {
		if gpu, runs := at[tasks[i].ID]; runs && tasks[i].ID != "" {
			more = append(more, place{index: i, gpuIndex: -1}.fault(tasks[i].ID, "ID", fmt.Errorf("is that of a resident of GPU %q, which is left out; want a task that runs nowhere", gpu)))
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
	Task      string `json:"task,omitempty"`
	GPU       string `json:"gpu,omitempty"`
	TaskIndex int    `json:"task_index"`
	GPUIndex  int    `json:"gpu_index"`
	Field     string `json:"field"`
	Error     string `json:"error"`
}

// MarshalJSON writes the fields, Err as its text.
func (e *FaultError) MarshalJSON() ([]byte, error) {
	f := faultJSON{Task: e.Task, GPU: e.GPU, TaskIndex: e.TaskIndex, GPUIndex: e.GPUIndex, Field: e.Field}
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
		Task: f.Task, GPU: f.GPU, TaskIndex: f.TaskIndex, GPUIndex: f.GPUIndex, Field: f.Field,
		Err: errors.New(f.Error), onGPU: f.GPU != "" || f.GPUIndex >= 0,
	}
	return nil
}
