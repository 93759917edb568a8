package colloc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/packer"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Task is one program that wants a GPU.
type Task struct {
	// ID names the task; unique within one call, not empty, without control
	// characters.
	ID string
	// Profile is what is known of it, see [profile.New]. It must not be modified
	// while the Planner uses it. Required unless Reserved is set: nil is a task of
	// which nothing is known, a stranger's for example.
	Profile *profile.Profile
	// Elsewhere are profiles of the same task that were taken on other products: on
	// a card of one of them it counts instead of Profile. Where two and more tell
	// step times, these decide how the products compare, see [Planner.Score]. Tasks
	// that share a Profile share them.
	Elsewhere []*profile.Profile
	// Reserved is the memory set aside for the task; 0 lets the Planner
	// predict it. For residents it is what they were promised when placed.
	// [memory.Whole] asks for a whole GPU, whatever it holds.
	Reserved profile.Bytes
	// Weight is how much the task's speed counts, at most 1e9; 0 means 1. Only
	// ratios matter. Package fair makes weights of policies: fair shares, deadlines.
	Weight float64
	// MaxSlowdown is solo speed over collocated speed that the task bears, at
	// least 1; 0 means [Config].MaxSlowdown, +Inf that it bears any. A server (see
	// [profile.Server]) bears what keeps its latency, whatever Config says.
	MaxSlowdown float64
	// Alone forbids sharing.
	Alone bool
	// Labels are what other tasks may go by in Avoid and Only: a tenant, a project, a
	// class of service. No list of labels may be modified while the Planner uses it.
	Labels []string
	// Avoid lists labels of tasks with which it must not share a GPU, and Only, if not
	// empty, those with which it may: its company must carry one of them at least. Both
	// bind both sides. A tenant that shares with nobody else labels its tasks with its
	// name and says Only that name. Alone on a GPU a task respects both.
	Avoid, Only []string
	// On lists labels that the task's GPU must carry, all of them: see [GPU].Labels.
	On []string
	// Home is the ID of the GPU on which the task runs now, if it may be moved or
	// stopped: list it among the tasks of a Plan instead of the GPU's Residents. Empty
	// for a task that does not run yet, and for gangs. Of a resident it says nothing.
	Home string
	// MoveCost is what is lost if the task does not stay at Home, as a multiple of its
	// weight times its pace there, in [0, 16]: the time that checkpoint and restart
	// take, divided by the time for which the decision is made.
	MoveCost float64
	// Kind, if not empty, promises that the task equals every other one of this Kind in
	// all fields but ID, Weight, Home, MoveCost and Priority, and that their Profiles
	// tell the same. Whoever has many copies of few programs says so here: one of them
	// is then judged for all.
	Kind string
	// Priority is the task's class, higher before lower. [Planner.Plan] serves one class
	// after the other.
	// Within a class weights decide; [online.Scheduler] heeds weights alone.
	Priority int
	// Foreign marks a resident that nobody registered, see [Foreign]: nothing joins it
	// but with [Config].ShareForeign, and nobody may send it away.
	Foreign bool
	// GPUs is how many GPUs of one product the task takes at once, a gang, all or
	// none; 0 means what the Profile's training says, or 1. Reserved is what it
	// takes of each; its weight counts once. It shares its GPUs where all there agree; in a
	// [Planner.Plan], which joins no gang that runs, with gangs of its size.
	GPUs int
}

// GPU is one card and what runs there.
type GPU struct {
	// ID names the card, for example its UUID; unique within one call, without
	// control characters.
	ID string
	// Model is the product, see [profile.LookupGPU].
	Model profile.GPUModel
	// Memory is the card's total as NVML reports it; 0 means Model.Memory.
	Memory profile.Bytes
	// Labels are what tasks may ask for by On: the node, a rack, a pool. The product's
	// name, as Model has it and as [profile.GPUModel.Canonical] gives it, is a label of
	// every GPU.
	Labels []string
	// Mechanisms are the allowed ways to share: time-slicing and MPS. nil means
	// time-slicing, which needs no set-up; a list that holds only Exclusive
	// forbids sharing.
	Mechanisms []profile.Mechanism
	// Slice says that the GPU is a MIG instance: each is a GPU of its own, with its
	// own ID. nil is the whole card, unless Model's name says otherwise ("NVIDIA
	// A100-SXM4-40GB MIG 1g.5gb") or Memory is, within 6 %, that of a slice of it.
	Slice *profile.MIGProfile
	// Residents are the tasks that run there and stay. A gang is listed on each of
	// its GPUs.
	Residents []Task
}

// Bounds, as packer has them.
const (
	maxWeight                 = 1e9
	maxGPUs                   = 1 << 16
	maxReserved profile.Bytes = 1 << 56
)

// valid reports whether nothing is wrong with the task.
func (t *Task) valid() bool {
	return checkID(t.ID) == "" && (t.Profile != nil || t.Reserved > 0) && t.Reserved >= 0 && (t.Reserved <= maxReserved || t.Reserved == memory.Whole) &&
		t.Weight >= 0 && t.Weight <= maxWeight && (t.MaxSlowdown == 0 || t.MaxSlowdown >= 1) && t.GPUs >= 0 && t.Width() <= maxGPUs &&
		!slices.Contains(t.Elsewhere, nil) && t.labelled() && t.MoveCost >= 0 && t.MoveCost <= packer.MaxMoveCost && (t.Home == "" || t.Width() == 1)
}

// labelled reports whether nothing is wrong with the labels.
func (t *Task) labelled() bool {
	return checkLabels(t.Labels) == "" && checkLabels(t.Avoid) == "" && checkLabels(t.Only) == "" && checkLabels(t.On) == ""
}

// checkLabels reports why labels are none, or "".
func checkLabels(labels []string) string {
	for _, l := range labels {
		if why := checkID(l); why != "" {
			return "holds a label that " + why
		}
	}
	return ""
}

// Validate reports every fault of the task, each a [*FaultError]. It does not
// allocate for a valid one.
func (t *Task) Validate() error { return t.validate(nowhere) }

func (t *Task) validate(at place) error {
	if t.valid() {
		return nil
	}
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, at.fault(t.ID, field, fmt.Errorf("is %v, want %s", value, want)))
		}
	}
	if why := checkID(t.ID); why != "" {
		errs = append(errs, at.fault(t.ID, "ID", errors.New(why)))
	}
	check(t.Profile != nil || t.Reserved > 0, "Profile", "nil", "what profile.New returns, or a task that carries its Reserved")
	check(!slices.Contains(t.Elsewhere, nil), "Elsewhere", "holding nil", "what profile.New returns")
	check(t.Reserved >= 0 && (t.Reserved <= maxReserved || t.Reserved == memory.Whole), "Reserved", int64(t.Reserved), fmt.Sprintf("0 bytes to %v, or memory.Whole", maxReserved))
	check(t.Weight >= 0 && t.Weight <= maxWeight, "Weight", t.Weight, fmt.Sprintf("0 to %g", float64(maxWeight)))
	check(t.MaxSlowdown == 0 || t.MaxSlowdown >= 1, "MaxSlowdown", t.MaxSlowdown, "0 for the default or at least 1")
	check(t.GPUs >= 0 && t.Width() <= maxGPUs, "GPUs", cmp.Or(t.GPUs, t.Width()), fmt.Sprintf("0 for what the Profile says, or 1 to %d", maxGPUs))
	check(t.MoveCost >= 0 && t.MoveCost <= packer.MaxMoveCost, "MoveCost", t.MoveCost, fmt.Sprintf("0 to %d", packer.MaxMoveCost))
	check(t.Home == "" || t.Width() == 1, "Home", t.Home, "nothing for a task of several GPUs: list it as a resident")
	for _, list := range [...]struct {
		field  string
		labels []string
	}{{"Labels", t.Labels}, {"Avoid", t.Avoid}, {"Only", t.Only}, {"On", t.On}} {
		if why := checkLabels(list.labels); why != "" {
			errs = append(errs, at.fault(t.ID, list.field, errors.New(why)))
		}
	}
	return errors.Join(errs...)
}

// Accepts reports whether t and o may share a GPU as far as their labels go.
func (t *Task) Accepts(o *Task) bool { return t.likes(o) && o.likes(t) }

func (t *Task) likes(o *Task) bool {
	return !overlap(t.Avoid, o.Labels) && (len(t.Only) == 0 || overlap(t.Only, o.Labels))
}

// overlap reports whether two short lists have a label in common.
func overlap(a, b []string) bool {
	return len(a) > 0 && slices.ContainsFunc(b, func(label string) bool { return slices.Contains(a, label) })
}

// asked are the labels that some task wants of its GPU.
func asked(tasks []Task) map[string]bool {
	labels := make(map[string]bool)
	for i := range tasks {
		for _, l := range tasks[i].On {
			labels[l] = true
		}
	}
	return labels
}

// carried are all labels of the GPU.
func (g *GPU) carried() []string {
	return append(slices.Clone(g.Labels), g.Model.Name, g.Model.Canonical())
}

// Lacks returns the first label of the task's On that g does not carry, or "".
func (g *GPU) Lacks(t *Task) string {
	for _, label := range t.On {
		if label != g.Model.Name && !slices.Contains(g.Labels, label) && label != g.Model.Canonical() {
			return label
		}
	}
	return ""
}

// Width is how many GPUs the task takes at once, at least 1: GPUs, or what its
// Profile says.
func (t *Task) Width() int {
	if t.GPUs == 0 && t.Profile != nil {
		return max(1, t.Profile.Spec.Training.GPUs)
	}
	return max(t.GPUs, 1)
}

// unknown is the profile of a task that carries its reservation and of which
// nothing else is known.
//
//nolint:gochecknoglobals // read-only
var unknown profile.Profile

// known is what is known of the task.
func (t *Task) known() *profile.Profile {
	if t.Profile == nil {
		return &unknown
	}
	return t.Profile
}

// Validate reports every fault of the GPU and of its residents, each a
// [*FaultError]. It does not allocate for a valid one.
func (g *GPU) Validate() error { return g.validate(-1) }

func (g *GPU) validate(index int) error {
	if g.valid() {
		return nil
	}
	at := place{g.ID, true, index, -1}
	var errs []error
	fault := func(field, format string, args ...any) {
		errs = append(errs, at.fault("", field, fmt.Errorf(format, args...)))
	}
	if why := checkID(g.ID); why != "" {
		fault("ID", "%s", why)
	}
	switch total := g.Total(); {
	case g.Memory < 0 || total > maxReserved:
		fault("Memory", "is %d bytes, want 0 to %v", int64(g.Memory), maxReserved)
	case total <= 0:
		fault("Memory", "is not known; set it, or Model from profile.LookupGPU")
	}
	for _, m := range g.Mechanisms {
		if !bySoftware(m) {
			fault("Mechanisms", "lists %v, want time-slicing or mps; a MIG instance is a GPU of its own", m)
		}
	}
	if why := checkLabels(g.Labels); why != "" {
		fault("Labels", "%s", why)
	}
	if err := g.checkSlice(); err != nil {
		fault("Slice", "is none of the card: %w", err)
	}
	for i := range g.Residents {
		errs = append(errs, g.Residents[i].validate(place{g.ID, true, index, i}))
	}
	return errors.Join(errs...)
}

// valid reports whether nothing is wrong with the GPU and its residents.
func (g *GPU) valid() bool {
	if checkID(g.ID) != "" || checkLabels(g.Labels) != "" || g.checkSlice() != nil || g.Memory < 0 || g.Total() <= 0 || g.Total() > maxReserved {
		return false
	}
	for _, m := range g.Mechanisms {
		if !bySoftware(m) {
			return false
		}
	}
	for i := range g.Residents {
		if !g.Residents[i].valid() {
			return false
		}
	}
	return true
}

// checkSlice reports why Slice cannot be one of the card.
func (g *GPU) checkSlice() error {
	if g.Slice == nil {
		return nil
	}
	_, err := new(pace.MIGSpeed).Speed(nil, &g.Model, *g.Slice)
	return err
}

func bySoftware(m profile.Mechanism) bool {
	return m == profile.Exclusive || m == profile.TimeSlice || m == profile.MPS
}

// Total is the GPU's memory: Memory, or else that of the slice or the Model.
func (g *GPU) Total() profile.Bytes {
	if g.Memory > 0 {
		return g.Memory
	}
	if slice := g.slice(); slice != nil {
		return slice.Memory
	}
	return g.Model.Memory
}

func weight(t *Task) float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

//nolint:gochecknoglobals // read-only default
var timeSlicing = []profile.Mechanism{profile.TimeSlice}

// sharing lists the mechanisms of a GPU; Exclusive may be among them.
func sharing(g *GPU) []profile.Mechanism {
	if len(g.Mechanisms) == 0 {
		return timeSlicing
	}
	return g.Mechanisms
}

// on is the task's profile for a product: what was observed there, if it was.
func (t *Task) on(gpu *profile.GPUModel) *profile.Profile {
	if len(t.Elsewhere) == 0 {
		return t.known()
	}
	name := gpu.Canonical()
	if own := t.known(); own.GPU.Canonical() == name {
		return own
	}
	for _, m := range t.Elsewhere {
		if m.GPU.Canonical() == name {
			return m
		}
	}
	return t.known()
}

// slice is the MIG slice that the GPU is, or nil for a whole card.
func (g *GPU) slice() *profile.MIGProfile {
	if g.Slice != nil {
		return g.Slice
	}
	name := g.Model.Name
	at := indexFold(name, "mig")
	if at < 0 && (g.Memory == 0 || g.Memory >= g.Model.Memory) {
		return nil
	}
	list := g.Model.MIG
	if list == nil && at >= 0 {
		full, _ := profile.LookupGPU(g.Model.Name)
		list = full.MIG
	}
	best := -1
	for i := range list {
		m := &list[i]
		switch {
		case at >= 0 && indexFold(name[at:], m.Name) >= 0:
			return m
		case at < 0 && fills(g.Memory, m.Memory) && m.Memory < g.Model.Memory && (best < 0 || m.Compute < list[best].Compute):
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &list[best]
}

// indexFold is strings.Index without regard to case, for ASCII.
func indexFold(s, part string) int {
	for i := range len(s) - len(part) + 1 {
		if strings.EqualFold(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// fills reports whether a GPU's memory is that of a slice: drivers report up to
// 6 % less than the name says.
func fills(memory, nominal profile.Bytes) bool {
	share := float64(memory) / float64(nominal)
	return share >= 0.94 && share <= 1.01
}
