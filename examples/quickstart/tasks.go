package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// taskFile is the JSON form of a list of tasks.
type taskFile struct {
	About string            `json:"about"`
	Tasks []json.RawMessage `json:"tasks"`
}

type taskEntry struct {
	ID          string           `json:"id"`
	About       string           `json:"about"`
	ModelFile   string           `json:"model_file"`
	SeqLen      int              `json:"seq_len"`
	Model       profile.Model    `json:"model"`
	Dataset     profile.Dataset  `json:"dataset"`
	Training    profile.Training `json:"training"`
	Traced      profile.Traced   `json:"traced"`
	Solo        *soloEntry       `json:"solo"`
	Weight      float64          `json:"weight"`
	MaxSlowdown float64          `json:"max_slowdown"`
	Alone       bool             `json:"alone"`
	Reserved    profile.Bytes    `json:"reserved"`
}

// soloEntry is what was seen of a task alone on a GPU.
type soloEntry struct {
	GPU        string                     `json:"gpu"`
	Source     string                     `json:"source"`
	GPUBusy    profile.Opt[float64]       `json:"gpu_busy"`
	MemBusy    profile.Opt[float64]       `json:"mem_busy"`
	SMActive   profile.Opt[float64]       `json:"sm_active"`
	DRAMActive profile.Opt[float64]       `json:"dram_active"`
	PowerWatts profile.Opt[float64]       `json:"power_watts"`
	MemUsed    profile.Opt[profile.Bytes] `json:"mem_used"`
	StepTime   profile.Opt[string]        `json:"step_time"`
}

// workload is the tasks to plan and where each was described, by ID.
type workload struct {
	Tasks []colloc.Task
	place map[string]string
}

// loadTasks reads the tasks at path, or the built-in ones.
func loadTasks(name string) (*workload, error) {
	var file taskFile
	doc, files, err := open(name, "tasks.json", &file)
	if err != nil {
		return nil, err
	}
	if len(file.Tasks) == 0 {
		return nil, doc.errorAt(len(doc.data), errors.New(`no tasks: nothing to plan; see -h for an example of a "tasks" list`))
	}
	w := &workload{place: make(map[string]string)}
	err = each(doc, file.Tasks, func(e *taskEntry, place string) error {
		task, err := e.task(files)
		if err == nil && w.place[e.ID] != "" {
			err = fmt.Errorf("this id was used before, at %s", w.place[e.ID])
		}
		if err != nil {
			return fmt.Errorf("task %q: %w", e.ID, err)
		}
		w.place[e.ID] = place
		w.Tasks = append(w.Tasks, task)
		return nil
	})
	return w, err
}

func (e *taskEntry) task(files folder) (colloc.Task, error) {
	if e.ID == "" {
		return colloc.Task{}, errors.New("id is missing")
	}
	spec := profile.Spec{Model: e.Model, Dataset: e.Dataset, Training: e.Training, Traced: e.Traced}
	if e.ModelFile != "" {
		if err := e.readModel(&spec, files, e.ModelFile); err != nil {
			return colloc.Task{}, err
		}
	}
	gpu, trace, err := e.Solo.trace()
	if err != nil {
		return colloc.Task{}, fmt.Errorf("solo: %w", err)
	}
	p, err := profile.New(spec, trace, gpu)
	if err != nil {
		return colloc.Task{}, err
	}
	return colloc.Task{
		ID: e.ID, Profile: &p, Reserved: e.Reserved,
		Weight: e.Weight, MaxSlowdown: e.MaxSlowdown, Alone: e.Alone,
	}, nil
}

// readModel adds the layers of the model file; what the task states itself wins.
func (e *taskEntry) readModel(spec *profile.Spec, files folder, name string) error {
	if len(e.Model.Layers) > 0 {
		return errors.New("model.layers and model_file are both given")
	}
	f, err := files(name)
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := modelfile.Read(f, &modelfile.Options{SequenceLength: e.SeqLen})
	if err != nil {
		return fmt.Errorf("model_file %s: %w", name, err)
	}
	spec.Model.Layers = file.Model.Layers
	if spec.Model.Name == "" {
		spec.Model.Name = file.Model.Name
	}
	if spec.Model.Family == profile.UnknownFamily {
		spec.Model.Family = file.Model.Family
	}
	return nil
}

// trace turns the entry into one sample. Without an entry nothing was seen.
func (s *soloEntry) trace() (profile.GPUModel, profile.Trace, error) {
	if s == nil {
		return profile.GPUModel{}, profile.Trace{}, nil
	}
	gpu, ok := profile.LookupGPU(s.GPU)
	if !ok {
		return gpu, profile.Trace{}, fmt.Errorf("gpu %q is not in the catalogue", s.GPU)
	}
	sample := profile.Sample{
		GPUBusy: s.GPUBusy, MemBusy: s.MemBusy, SMActive: s.SMActive, DRAMActive: s.DRAMActive,
		PowerWatts: s.PowerWatts, MemUsed: s.MemUsed,
	}
	if text, ok := s.StepTime.Get(); ok {
		step, err := time.ParseDuration(text)
		if err != nil {
			return gpu, profile.Trace{}, fmt.Errorf("step_time: %w", err)
		}
		sample.StepTime = profile.Some(step)
	}
	return gpu, profile.Trace{Samples: []profile.Sample{sample}}, nil
}
