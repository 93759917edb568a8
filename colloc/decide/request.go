package decide

import (
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// GPU is one card, or MIG slice, and what runs there.
type GPU struct {
	// ID names the card; unique within one request.
	ID string `json:"id"`
	// Model is the product by any name that NVML, nvidia-smi, Slurm or a shop has for it,
	// with the slice for one: "A100-SXM4-40GB MIG 1g.5gb". Figures describe a product that
	// the catalogue does not hold.
	Model   string            `json:"model"`
	Figures *profile.GPUModel `json:"gpu_model,omitempty"`
	// Memory is the card's as NVML reports it; 0 is what the product has.
	Memory profile.Bytes `json:"memory,omitempty"`
	// Mechanisms are the allowed ways to share; none means time-slicing, exclusive alone
	// forbids it.
	Mechanisms []profile.Mechanism `json:"mechanisms,omitempty"`
	// Labels are what tasks may ask for by on.
	Labels []string `json:"labels,omitempty"`
	// Residents are the tasks that run there and stay, each best with what was reserved
	// for it. One of which nothing else is known says reserved, and alone if nobody may
	// join it.
	Residents []taskfile.Task `json:"residents,omitempty"`
}

// FitRequest asks whether a task may run on a GPU, beside its residents.
type FitRequest struct {
	Task taskfile.Task `json:"task"`
	GPU  GPU           `json:"gpu"`
}

// BestRequest asks on which of some GPUs a task runs best.
type BestRequest struct {
	Task taskfile.Task `json:"task"`
	GPUs []GPU         `json:"gpus"`
}

// PlanRequest asks which tasks should share which GPU.
type PlanRequest struct {
	Tasks []taskfile.Task `json:"tasks"`
	GPUs  []GPU           `json:"gpus"`
}

// Observation is what was measured of one set while it shared a GPU, or of a task alone.
type Observation struct {
	// Model and Figures are the product, as in [GPU].
	Model   string            `json:"model"`
	Figures *profile.GPUModel `json:"gpu_model,omitempty"`
	// Mechanism is how the set shared it; missing is time-slicing.
	Mechanism profile.Opt[profile.Mechanism] `json:"mechanism,omitzero"`
	// Members are the tasks of the set.
	Members []Measurement `json:"members"`
}

// Measurement is what was seen of one member; each field is as in [colloc.Measurement].
type Measurement struct {
	Task        taskfile.Task              `json:"task"`
	Speed       profile.Opt[float64]       `json:"speed,omitzero"`
	Throughput  profile.Opt[float64]       `json:"throughput,omitzero"`
	Peak        profile.Opt[profile.Bytes] `json:"peak,omitzero"`
	OutOfMemory bool                       `json:"out_of_memory,omitempty"`
	Reserved    profile.Bytes              `json:"reserved,omitempty"`
}

// What a request may hold.
const (
	// MaxTasks is how many tasks a list holds at most.
	MaxTasks = 4096
	// MaxGPUs is how many GPUs a list holds at most.
	MaxGPUs = 4096
	// MaxResidents is how many residents all GPUs of a request have at most.
	MaxResidents = 8 * MaxGPUs
	// maxParts is for the layers of all tasks, and for what else is measured of them.
	maxParts = 1 << 17
)

// Most bounds the request, see [wire.Bounded].
func (*FitRequest) Most() map[string]int { return most() }

// Most bounds the request, see [wire.Bounded].
func (*BestRequest) Most() map[string]int { return most() }

// Most bounds the request, see [wire.Bounded].
func (*PlanRequest) Most() map[string]int { return most() }

// Most bounds the observation, see [wire.Bounded].
func (*Observation) Most() map[string]int { return most() }

func most() map[string]int {
	return map[string]int{
		"tasks": MaxTasks, "gpus": MaxGPUs, "residents": MaxResidents, "members": MaxTasks,
		"layers": maxParts, "elsewhere": maxParts / 4, "missing": maxParts, "": wire.MaxValues,
	}
}

// taskOf is a task as a Planner takes it; where is its place in the request.
func taskOf(t *taskfile.Task, where string) (colloc.Task, error) {
	if t.ModelFile != "" {
		return colloc.Task{}, wire.Errorf(wire.Invalid, where+".model_file", "send the layers: colloc describe -spec FILE prints them", "a server reads no files for others")
	}
	c, err := t.Colloc()
	if err != nil {
		return c, wire.Errorf(wire.Invalid, where, "", "%v", err)
	}
	return c, nil
}

// tasksOf are the tasks of a list.
func tasksOf(list []taskfile.Task, where string) ([]colloc.Task, error) {
	if len(list) > MaxTasks {
		return nil, wire.Errorf(wire.TooLarge, where, "", "%d tasks, want at most %d", len(list), MaxTasks)
	}
	tasks := make([]colloc.Task, len(list))
	for i := range list {
		var err error
		if tasks[i], err = taskOf(&list[i], fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// productOf is a product by its name, or by its figures.
func productOf(name string, figures *profile.GPUModel, where string) (profile.GPUModel, error) {
	if figures != nil {
		return *figures, nil
	}
	m, ok := profile.LookupGPU(name)
	if !ok {
		return m, wire.Errorf(wire.Invalid, where+".model", "describe it in gpu_model: {\"name\": ..., \"memory_bytes\": ...}", "%.100q is not in the catalogue", name)
	}
	if (&profile.GPUModel{Name: name}).Sliced() {
		m.Name = name // the catalogue's entry is that of the card, and only the name says which slice
	}
	return m, nil
}

// gpuOf is a GPU as a Planner takes it.
func gpuOf(g *GPU, where string) (colloc.GPU, error) {
	c := colloc.GPU{ID: g.ID, Memory: g.Memory, Labels: g.Labels, Mechanisms: g.Mechanisms}
	var err error
	if c.Model, err = productOf(g.Model, g.Figures, where); err != nil {
		return c, err
	}
	if len(g.Residents) > colloc.LargestSet {
		return c, wire.Errorf(wire.TooLarge, where+".residents", "", "%d tasks, want at most %d", len(g.Residents), colloc.LargestSet)
	}
	c.Residents, err = tasksOf(g.Residents, where+".residents")
	return c, err
}

// gpusOf are the GPUs of a list.
func gpusOf(list []GPU) ([]colloc.GPU, error) {
	if len(list) > MaxGPUs {
		return nil, wire.Errorf(wire.TooLarge, "gpus", "", "%d, want at most %d", len(list), MaxGPUs)
	}
	gpus := make([]colloc.GPU, len(list))
	for i := range list {
		var err error
		if gpus[i], err = gpuOf(&list[i], fmt.Sprintf("gpus[%d]", i)); err != nil {
			return nil, err
		}
	}
	return gpus, nil
}

// observationOf is an observation as a Planner takes it.
func observationOf(o *Observation) (c colloc.Observation, err error) {
	if c.GPU, err = productOf(o.Model, o.Figures, "observation"); err != nil {
		return c, err
	}
	switch {
	case len(o.Members) == 0:
		return c, wire.Errorf(wire.Invalid, "members", "give at least one", "there is none")
	case len(o.Members) > colloc.LargestSet:
		return c, wire.Errorf(wire.TooLarge, "members", "", "%d, want at most %d", len(o.Members), colloc.LargestSet)
	}
	c.Mechanism = o.Mechanism.Or(0)
	for i := range o.Members {
		m := &o.Members[i]
		t, err := taskOf(&m.Task, fmt.Sprintf("members[%d].task", i))
		if err != nil {
			return c, err
		}
		c.Members = append(c.Members, colloc.Measurement{
			Profile: t.Profile, Speed: m.Speed, Throughput: m.Throughput, Peak: m.Peak, OutOfMemory: m.OutOfMemory, Reserved: m.Reserved,
		})
	}
	return c, nil
}
