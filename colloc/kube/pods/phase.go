package pods

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
)

// Phase is how far the decision about a pod has come.
type Phase int

// The phases.
const (
	// Held: our gate is there, and somebody else's too: it is not our turn.
	Held Phase = iota
	// Waiting: our gate is the last.
	Waiting
	// Placed: it carries a decision and no gate of ours.
	Placed
	// Loose: it carries neither our gate nor a decision: colloc knows nothing of it.
	Loose
	// Ended: it runs no more.
	Ended
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var phaseNames = []string{"held", "waiting", "placed", "loose", "ended"}

// String returns a short name such as "waiting".
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return "unknown"
	}
	return phaseNames[p]
}

// Ours reports whether collocd has to do with a pod: it carries the label, or a decision,
// which holds its card whatever became of the label.
func Ours(pod *corev1.Pod) bool {
	return pod.Labels[api.LabelTask] == api.True || pod.Annotations[api.AnnotationGPU] != ""
}

// PhaseOf returns the phase of a pod, and the decision that it carries where that is
// Placed. A pod that is being deleted and never reached a node has ended: nothing will
// start it; one that runs there holds its card until it is gone. A pod whose decision
// cannot be read is Loose.
func PhaseOf(pod *corev1.Pod) (Phase, api.Placement) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" {
		return Ended, api.Placement{}
	}
	own := false
	for _, g := range pod.Spec.SchedulingGates {
		own = own || g.Name == api.Gate
	}
	if own {
		if len(pod.Spec.SchedulingGates) > 1 {
			return Held, api.Placement{}
		}
		return Waiting, api.Placement{}
	}
	p, ok, err := api.ReadPlacement(pod.Annotations)
	if err != nil || !ok {
		return Loose, api.Placement{}
	}
	return Placed, p
}
