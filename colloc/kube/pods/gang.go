package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
)

// Gang is what a pod says of the pods that have to start with it. The zero Gang is none.
type Gang struct {
	// Key is equal for the pods of one gang, Name what people call it.
	Key, Name string
	// Size is how many pods it has.
	Size int
	// Open says that more than Size may start, one after the other, once so many run.
	Open bool
}

// String calls the gang.
func (g Gang) String() string {
	if g.Size == 1 {
		return fmt.Sprintf("gang %q of one pod", g.Name) // with several GPUs
	}
	return fmt.Sprintf("gang %q of %d pods", g.Name, g.Size)
}

// Groups tells how many pods of a PodGroup have to start at once, 0 where any of them may
// start alone. It is not ok where there is no such PodGroup.
type Groups func(namespace, name string) (pods int, ok bool)

// GangOf returns the gang of a pod: that of its PodGroup, or that which its annotations
// name, or the pods of its owner. A pod of several GPUs that is in none of these is a gang
// by itself. The error says why the gang cannot be known, or not yet.
func GangOf(pod *corev1.Pod, d api.Demand, groups Groups) (Gang, error) {
	group := pod.Spec.SchedulingGroup
	switch owner := metav1.GetControllerOf(pod); {
	case group != nil && group.PodGroupName != nil:
		name := *group.PodGroupName
		size, ok := groups(pod.Namespace, name)
		if !ok {
			return Gang{}, fmt.Errorf("%w %q", ErrNoGroup, name)
		}
		if size > 1 {
			return Gang{pod.Namespace + "/group/" + name, name, size, true}, nil
		}
	case d.GangSize > 1 && d.Gang != "":
		return Gang{pod.Namespace + "/gang/" + d.Gang, d.Gang, d.GangSize, false}, nil
	case d.GangSize > 1 && owner == nil:
		return Gang{}, &api.AnnotationError{Name: api.AnnotationGangSize, Value: pod.Annotations[api.AnnotationGangSize], Want: api.AnnotationGang + " beside it, for the pod has no owner such as a Job"}
	case d.GangSize > 1:
		return Gang{pod.Namespace + "/owner/" + string(owner.UID), owner.Name, d.GangSize, false}, nil
	}
	if d.Width() > 1 {
		return Gang{"pod/" + string(pod.UID), pod.Name, 1, false}, nil
	}
	return Gang{}, nil
}

// Error is a reason why a pod cannot be decided about.
type Error string

// Error returns the reason.
func (e Error) Error() string { return string(e) }

// ErrNoGroup means that a pod belongs to a PodGroup that does not exist, or that the API
// server does not serve.
const ErrNoGroup = Error("there is no PodGroup")
