package books

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
)

// Decision places one pod: its card is reserved until [Books.Finish].
type Decision struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// At is where it goes, Left where an earlier decision had put it that counts no more;
	// the zero value is that there was none.
	At, Left api.Placement
	// Speed is its predicted speed there as a fraction of that alone.
	Speed float64
	// Company is how many others run on the card.
	Company int
	// Text says what was decided, for people.
	Text string
}

// Refusal says why a pod waits.
type Refusal struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// Reason is a word such as GpusTaken, Text the sentence for people.
	Reason, Text string
}

// Reasons of a Refusal that packer.ReasonCode does not have.
const (
	// BadAnnotation: an annotation cannot be read.
	BadAnnotation = "BadAnnotation"
	// BadClaim: the pod's resourceClaims and collocd's binding do not go together.
	BadClaim = "BadClaim"
	// NoNode: no node that is open would take the pod.
	NoNode = "NoNode"
	// CardGone: the pod was placed, and its card left before it came to run.
	CardGone = "CardGone"
	// NodeRefuses: the pod was placed and is held to its node, and the scheduler does not
	// let it start there.
	NodeRefuses = "NodeRefuses"
	// Placed is no reason to wait: it is that of a condition that says True.
	Placed = "Placed"
	// Fault: the Planner found something wrong with the task or its Profile.
	Fault = "Fault"
	// Gathering: pods of its gang are not there yet, or cannot be used.
	Gathering = "Gathering"
	// GangFull: its gang has all its pods without it.
	GangFull = "GangFull"
	// GangBroken: it is placed, and others of its gang are gone.
	GangBroken = "GangBroken"
	// OverLimit: its namespace holds as many GPUs as it may.
	OverLimit = "OverLimit"
	// MakingRoom: others are evicted for it.
	MakingRoom = "MakingRoom"
)

// Round is what [Books.Decide] did.
type Round struct {
	// Decisions are to be written, each told back by [Books.Finish].
	Decisions []Decision
	// Refusals are pods that wait, with the reason.
	Refusals []Refusal
	// Preemptions say who has to be evicted for some of these.
	Preemptions []Preemption
	// More says that others wait that were not tried yet: decide again.
	More bool
}

// Preemption is room to be made for a pod or a gang that waits.
type Preemption struct {
	// For is the pod, or one of the gang.
	For *corev1.Pod
	// Victims are the pods of lower priority that have to be evicted, all of them. Those
	// that could not be are told back by [Books.Stays].
	Victims []*corev1.Pod
	// Text says to a victim of any namespace why it goes.
	Text string
}

// Bound is a pod with its placement.
type Bound struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// At is where it is placed.
	At api.Placement
}
