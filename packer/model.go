package packer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// BatchModel is a Model that answers for many pairs in one call. n tasks have
// n²/2 pairs, so the calls are what packing costs; this form lets a model
// keep what it knows of one task while it walks over the partners, and costs no
// allocation per pair.
type BatchModel interface {
	Model
	// PairSpeeds fills own[j] with the speed of task beside partners[j], and other[j]
	// with the speed of partners[j] beside task. Each is the same number as Speeds
	// gives for that pair.
	PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error
}

// TriedModel is a Model that remembers sets that ran and did less than the best of their
// members alone, and says so in its speeds. Reasons then tell [MeasuredSlow].
type TriedModel interface {
	Model
	// Tried reports that set, or a part of it, is such a one on gpu by mech.
	Tried(set []*Task, gpu *GPU, mech profile.Mechanism) bool
}

// SliceModel is a Model that knows what a task does on each size of MIG
// instance. With it, packer chooses the layout itself on GPUs that list
// [profile.MIG] among their Mechanisms and whose Type has MIG profiles: the
// value of a set is that of its best layout, in which each task has an instance
// of its own, and Set.Instances says who sits where. Of another Model it asks
// Speeds with [profile.MIG], and no layout is told.
type SliceModel interface {
	Model
	// SliceSpeeds fills dst[p] with the speed of task alone on an instance of
	// profile gpu.Type.MIG[p], relative to solo throughput on the whole GPU, 0
	// where it cannot run. Packer looks after memory itself. len(dst) ==
	// len(gpu.Type.MIG).
	SliceSpeeds(task *Task, gpu *GPU, dst []float64) error
}

// PaceModel is a Model that knows how GPUs compare. The speeds of a Model are
// relative to the same GPU without company, so that an empty H100 and an empty T4
// are worth the same to it; pace says what that is on each. The value of a set is
// then the sum of weight times pace times speed, and a task that can have either of
// two empty GPUs gets the one with the higher pace. Limits on speed (MinSpeed) bind
// what company costs on the GPU at hand, whatever the pace.
type PaceModel interface {
	Model
	// Pace returns the throughput of task without company on gpu, relative to a fixed
	// reference: the same for all tasks and GPUs of a Problem, or of a scheduler. Only
	// ratios matter, up to the resolution that the package comment defines. It must lie
	// in [1/4096, 4096], and may depend on gpu's Type, Memory and Labels, but not on its
	// ID, Residents or Mechanisms. It is asked for every task on every kind of GPU,
	// also where the task does not fit; of tasks that are alike, see Task.Kind and
	// Task.Profile, for one.
	Pace(task *Task, gpu *GPU) float64
}

// maxPace is the highest pace that makes sense, and one part of it the lowest.
const maxPace = 4096

// PaceError says that a [PaceModel] gave a number that is no pace.
type PaceError struct {
	Task, GPU string // IDs
	Pace      float64
}

// Error names the task, the GPU and the number.
func (e *PaceError) Error() string {
	return fmt.Sprintf("packer: model: the pace of %q on GPU %q is %v; want a number from 1/%d to %d, relative to a reference that is the same for all GPUs", e.Task, e.GPU, e.Pace, maxPace, maxPace)
}

// AskPace returns the pace that m gives a task on a GPU, 1 if m is no [PaceModel]. It
// returns a [PaceError] if the pace makes no sense.
func AskPace(m Model, t *Task, gpu *GPU) (float64, error) {
	x, ok := m.(PaceModel)
	if !ok {
		return 1, nil
	}
	pace := x.Pace(t, gpu)
	if !(pace >= 1.0/maxPace && pace <= maxPace) {
		return 1, &PaceError{Task: t.ID, GPU: gpu.ID, Pace: pace}
	}
	return pace, nil
}

// Ask asks a model for the speeds of a set and checks what it says: the errors name the
// tasks, the GPU and the mechanism. Methods ask through it.
func Ask(m Model, set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	if err := m.Speeds(set, gpu, mech, dst); err != nil {
		return modelError(set, gpu, mech, err)
	}
	for i, s := range dst {
		if !(s >= 0 && s <= instance.MaxSpeed) {
			return modelError(set, gpu, mech, noSpeed(set[i], "", s))
		}
	}
	return nil
}

// AskPairs asks a model about a task beside each of some partners and checks what
// it says.
func AskPairs(m Model, t *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	if batch, ok := m.(BatchModel); ok {
		if err := batch.PairSpeeds(t, partners, gpu, mech, own, other); err != nil {
			return locate(m, t, partners, gpu, mech, err)
		}
	} else {
		pair, dst := [2]*Task{t}, [2]float64{}
		for n, o := range partners {
			pair[1] = o
			if err := m.Speeds(pair[:], gpu, mech, dst[:]); err != nil {
				return modelError(pair[:], gpu, mech, err)
			}
			own[n], other[n] = dst[0], dst[1]
		}
	}
	for n, a := range own {
		if b := other[n]; !(a >= 0 && a <= instance.MaxSpeed && b >= 0 && b <= instance.MaxSpeed) {
			who, s := t, a
			if checkSpeed(a) == "" {
				who, s = partners[n], b
			}
			return modelError([]*Task{t, partners[n]}, gpu, mech, noSpeed(who, "", s))
		}
	}
	return nil
}

// noSpeed is the error for a number that is no speed of a task.
func noSpeed(t *Task, where string, s float64) error {
	return fmt.Errorf("the speed of %q%s is %s; want a finite number in [0, %d]", t.ID, where, checkSpeed(s), instance.MaxSpeed)
}

// modelError names the set for which the model failed.
func modelError(set []*Task, gpu *GPU, mech profile.Mechanism, err error) error {
	names := make([]string, len(set))
	for i, t := range set {
		names[i] = strconv.Quote(t.ID)
	}
	return fmt.Errorf("packer: model: %s on GPU %q (%v): %w", strings.Join(names, " with "), gpu.ID, mech, err)
}

// locate names the pair for which a whole row failed.
func locate(m Model, t *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, err error) error {
	var dst [2]float64
	for _, o := range partners {
		if one := Ask(m, []*Task{t, o}, gpu, mech, dst[:]); one != nil {
			return one
		}
	}
	return fmt.Errorf("packer: model: %q beside %d partners on GPU %q (%v): %w", t.ID, len(partners), gpu.ID, mech, err)
}

// checkSpeed reports why s is not a speed, or "".
func checkSpeed(s float64) string {
	switch {
	case math.IsNaN(s):
		return "NaN"
	case math.IsInf(s, 0):
		return "infinite"
	case s < 0:
		return "negative"
	case s > instance.MaxSpeed:
		return fmt.Sprintf("above %d times solo", instance.MaxSpeed)
	}
	return ""
}
