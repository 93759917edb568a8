package taskfile

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Task is what is known of one task.
type Task struct {
	// ID names the task; unique in a file.
	ID string `json:"id"`
	// About is for people.
	About string `json:"about,omitempty"`
	// ModelFile names a file with the layers, relative to the task file. SeqLen is the
	// number of tokens of a sample that it is read with. Reading resolves both.
	ModelFile string `json:"model_file,omitempty"`
	SeqLen    int    `json:"seq_len,omitempty"`
	// Spec is what the task is. A Spec of nothing but a batch of 1 is fine.
	profile.Spec
	// Missing is what is not known, and how to get it.
	Missing []Gap `json:"missing,omitempty"`
	// Solo is what was seen of the task alone on a GPU; nil is nothing.
	Solo *Solo `json:"solo,omitempty"`
	// Elsewhere is what was seen of it on GPUs of other products.
	Elsewhere []Solo `json:"elsewhere,omitempty"`

	// The wishes are those of [colloc.Task]; absent is its zero value.
	Weight      float64       `json:"weight,omitempty"`
	Priority    int           `json:"priority,omitempty"`
	MaxSlowdown float64       `json:"max_slowdown,omitempty"`
	Alone       bool          `json:"alone,omitempty"`
	Labels      []string      `json:"labels,omitempty"`
	Avoid       []string      `json:"avoid,omitempty"`
	Only        []string      `json:"only,omitempty"`
	On          []string      `json:"on,omitempty"`
	Home        string        `json:"home,omitempty"`
	MoveCost    float64       `json:"move_cost,omitempty"`
	Kind        string        `json:"kind,omitempty"`
	GPUs        int           `json:"gpus,omitempty"`
	Reserved    profile.Bytes `json:"reserved,omitempty"`

	// Command is what runs, with its arguments; Env are settings KEY=value for it,
	// and Dir is where it runs.
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	// CPUs and Memory are what it asks of the host; 0 is not given.
	CPUs   int           `json:"cpus,omitempty"`
	Memory profile.Bytes `json:"memory,omitempty"`
	// Time is how long it may take alone; 0 is not given.
	Time Duration `json:"time,omitzero"`

	place string // where it was read
}

// Gap is something that is not known of a task.
type Gap struct {
	// What is not known, and what follows from that.
	What string `json:"what"`
	// Get says how to get it.
	Get string `json:"get,omitempty"`
}

// String returns both parts.
func (g Gap) String() string {
	if g.Get == "" {
		return g.What
	}
	return g.What + ": " + g.Get
}

// Solo is what was seen of a task alone on a GPU: means over its steady time, ratios
// in [0, 1]. What was not measured is missing.
type Solo struct {
	// GPU is the product, as [profile.LookupGPU] knows it. Model describes one that
	// it does not know, or a slice; nil otherwise.
	GPU   string            `json:"gpu"`
	Model *profile.GPUModel `json:"gpu_model,omitempty"`
	// Source says who saw it.
	Source string `json:"source,omitempty"`

	// The counters are as in [profile.Sample].
	GPUBusy      profile.Opt[float64]       `json:"gpu_busy,omitzero"`
	MemBusy      profile.Opt[float64]       `json:"mem_busy,omitzero"`
	SMActive     profile.Opt[float64]       `json:"sm_active,omitzero"`
	SMOccupancy  profile.Opt[float64]       `json:"sm_occupancy,omitzero"`
	TensorActive profile.Opt[float64]       `json:"tensor_active,omitzero"`
	DRAMActive   profile.Opt[float64]       `json:"dram_active,omitzero"`
	CPUBusy      profile.Opt[float64]       `json:"cpu_busy,omitzero"`
	PowerWatts   profile.Opt[float64]       `json:"power_watts,omitzero"`
	PCIe         profile.Opt[float64]       `json:"pcie_bytes_per_sec,omitzero"`
	MemUsed      profile.Opt[profile.Bytes] `json:"mem_used,omitzero"`
	StepTime     profile.Opt[Duration]      `json:"step_time,omitzero"`
	// DataWait is the share of its steps in which the task waited for its data.
	DataWait profile.Opt[float64] `json:"data_wait,omitzero"`
	// Spread are 95th percentiles and peaks, by the name of their feature, such as
	// peak_memory in bytes.
	Spread map[string]float64 `json:"spread,omitempty"`

	// Run is which run was seen, Watched for how long.
	Run     string   `json:"run,omitempty"`
	Watched Duration `json:"watched,omitzero"`
	// Startup is the time before the first step. CycleTime is that of a step with its part
	// of what is between epochs. Epochs is how many of those ended.
	Startup   profile.Opt[Duration] `json:"startup,omitzero"`
	CycleTime profile.Opt[Duration] `json:"cycle_time,omitzero"`
	Epochs    int                   `json:"epochs,omitempty"`
	// Steps is the number of steps of the whole task.
	Steps profile.Opt[int64] `json:"steps,omitzero"`
	// RunTime is how long the whole task takes.
	RunTime profile.Opt[Duration] `json:"run_time,omitzero"`
}

// Duration is a time.Duration that is written as Go writes it, "1h30m", and more
// than 0.
type Duration time.Duration

// String returns for example "1h30m0s".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes what String returns.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration does, if it is more than 0.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v <= 0 {
		err = fmt.Errorf("%q is not more than 0", text)
	}
	*d = Duration(v)
	return err
}

// Product is the GPU that the task was seen on; false if nothing tells.
func (s *Solo) Product() (profile.GPUModel, bool) {
	if s.Model != nil {
		return *s.Model, true
	}
	return profile.LookupGPU(s.GPU)
}

// sample is the means as one sample.
func (s *Solo) sample() profile.Sample {
	sample := profile.Sample{
		GPUBusy: s.GPUBusy, MemBusy: s.MemBusy, SMActive: s.SMActive, SMOccupancy: s.SMOccupancy,
		TensorActive: s.TensorActive, DRAMActive: s.DRAMActive, CPUBusy: s.CPUBusy,
		PowerWatts: s.PowerWatts, PCIeBytesPerSec: s.PCIe, MemUsed: s.MemUsed,
	}
	if step, ok := s.StepTime.Get(); ok {
		sample.StepTime = profile.Some(time.Duration(step))
	}
	return sample
}

// isSpread reports whether a feature is a percentile or a peak of what was seen.
func isSpread(f profile.Feature) bool {
	name := f.String()
	return strings.HasPrefix(name, "p95_") || strings.HasPrefix(name, "peak_")
}

// SoloOf returns what a profile says was seen of a task alone; nil if that is nothing.
func SoloOf(p *profile.Profile) *Solo {
	s := &Solo{GPU: p.GPU.Name}
	if known, ok := profile.LookupGPU(s.GPU); !ok || known.Memory != p.GPU.Memory || known.SMs != p.GPU.SMs {
		s.Model = &p.GPU
	}
	none := true
	get := func(f profile.Feature) profile.Opt[float64] {
		x, ok := p.Vector.Get(f)
		if !ok {
			return profile.Opt[float64]{}
		}
		none = false
		return profile.Some(x)
	}
	s.GPUBusy, s.MemBusy, s.CPUBusy = get(profile.MeanGPUBusy), get(profile.MeanMemBusy), get(profile.MeanCPUBusy)
	s.SMActive, s.SMOccupancy = get(profile.MeanSMActive), get(profile.MeanSMOccupancy)
	s.TensorActive, s.DRAMActive = get(profile.MeanTensorActive), get(profile.MeanDRAMActive)
	s.PowerWatts, s.PCIe = get(profile.MeanPowerWatts), get(profile.MeanPCIe)
	if x, ok := get(profile.MeanMemory).Get(); ok {
		s.MemUsed = profile.Some(profile.BytesOf(x))
	}
	if x, ok := get(profile.MedianStepTime).Get(); ok {
		s.StepTime = profile.Some(max(1, Duration(math.Round(float64(x*float64(time.Second))))))
	}
	for f := profile.Feature(0); int(f) < profile.FeatureCount; f++ {
		x, ok := p.Vector.Get(f)
		if !ok || !isSpread(f) {
			continue
		}
		if s.Spread == nil {
			s.Spread = make(map[string]float64)
		}
		s.Spread[f.String()], none = x, false
	}
	if none {
		return nil
	}
	return s
}

// Profile is what a Planner needs to know of the task. Errors are those of
// [profile.New], and one for a GPU that nothing describes.
func (t *Task) Profile() (profile.Profile, error) {
	if t.Solo == nil {
		return profile.New(t.Spec, profile.Trace{}, profile.GPUModel{})
	}
	p, err := t.Solo.profile(t.Spec)
	if err != nil {
		return p, fmt.Errorf("solo: %w", err)
	}
	return p, nil
}

// profile is what was seen of a task with the specification.
func (s *Solo) profile(spec profile.Spec) (profile.Profile, error) {
	gpu, ok := s.Product()
	if !ok {
		return profile.Profile{}, fmt.Errorf("gpu %q is not in the catalogue; describe it in gpu_model: {\"name\": ..., \"memory_bytes\": ...}", s.GPU)
	}
	if w, ok := s.DataWait.Get(); ok && !(w >= 0 && w <= 1) {
		return profile.Profile{}, fmt.Errorf("data_wait is %v, want 0 to 1", w)
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{s.sample()}}, gpu)
	if err != nil {
		return p, err
	}
	var errs []error
	for name, x := range s.Spread {
		f, ok := profile.FeatureByName(name)
		if !ok || !isSpread(f) {
			errs = append(errs, fmt.Errorf("spread: %q is no 95th percentile or peak: want names such as p95_gpu_busy and peak_memory", name))
		} else if err := p.Vector.Set(f, x); err != nil {
			errs = append(errs, fmt.Errorf("spread: %w", err))
		}
	}
	return p, errors.Join(sorted(errs)...)
}

// Colloc is the task as a Planner takes it.
func (t *Task) Colloc() (colloc.Task, error) {
	p, err := t.Profile()
	if err != nil {
		return colloc.Task{}, err
	}
	c := colloc.Task{
		ID: t.ID, Profile: &p, Reserved: t.Reserved, Weight: t.Weight, Priority: t.Priority, MaxSlowdown: t.MaxSlowdown, Alone: t.Alone,
		Labels: t.Labels, Avoid: t.Avoid, Only: t.Only, On: t.On, Home: t.Home, MoveCost: t.MoveCost, Kind: t.Kind, GPUs: t.GPUs,
	}
	for i := range t.Elsewhere {
		other, err := t.Elsewhere[i].profile(t.Spec)
		if err != nil {
			return c, fmt.Errorf("elsewhere: %w", err)
		}
		c.Elsewhere = append(c.Elsewhere, &other)
	}
	return c, nil
}

// Place is where the task was read, "tasks.json:12"; empty if it was not.
func (t *Task) Place() string { return t.place }

// check reports what is wrong with a task by itself.
func (t *Task) check() error {
	if t.ID == "" {
		return errors.New("id is missing")
	}
	if math.IsInf(t.MaxSlowdown, 0) {
		return errors.New("max_slowdown is infinite, which JSON has no word for: 1e9 bears any")
	}
	if t.CPUs < 0 || t.Memory < 0 || t.Reserved < 0 || t.Time < 0 {
		return errors.New("cpus, memory, reserved and time want 0 or more")
	}
	c, err := t.Colloc()
	if err != nil {
		return err
	}
	return c.Validate()
}
