package pods

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
)

// Needed returns what collocd needs of a pod, of ours or of somebody else. It is what the
// caches hold.
func Needed(pod *corev1.Pod) *corev1.Pod {
	if Ours(pod) {
		return Trim(pod)
	}
	return TrimOther(pod)
}

// Trim returns what collocd needs of a pod of ours, a tenth of it.
func Trim(pod *corev1.Pod) *corev1.Pod {
	out := bare(pod)
	out.CreationTimestamp, out.ResourceVersion = pod.CreationTimestamp, pod.ResourceVersion
	out.DeletionTimestamp = pod.DeletionTimestamp
	if value, set := pod.Labels[api.LabelTask]; set {
		out.Labels = map[string]string{api.LabelTask: value}
	}
	for name, value := range pod.Annotations {
		if strings.HasPrefix(name, api.Domain+"/") {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[name] = value
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out.Spec.SchedulingGates, out.Spec.NodeSelector, out.Spec.Tolerations = pod.Spec.SchedulingGates, pod.Spec.NodeSelector, pod.Spec.Tolerations
	out.Spec.Priority, out.Spec.PreemptionPolicy, out.Spec.ResourceClaims = pod.Spec.Priority, pod.Spec.PreemptionPolicy, pod.Spec.ResourceClaims
	out.Spec.SchedulingGroup = pod.Spec.SchedulingGroup
	out.Status.ResourceClaimStatuses = pod.Status.ResourceClaimStatuses
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		out.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == api.ConditionPlaced || c.Type == corev1.PodScheduled {
			out.Status.Conditions = append(out.Status.Conditions, c)
		}
	}
	return out
}

// TrimOther returns what collocd needs of a pod of somebody else: where it is and what it
// asks for.
func TrimOther(pod *corev1.Pod) *corev1.Pod {
	out := bare(pod)
	out.ResourceVersion = pod.ResourceVersion
	return out
}

// bare is who a pod is, where it is, and what it asks for.
func bare(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	out.Spec.NodeName, out.Spec.Overhead, out.Spec.Resources = pod.Spec.NodeName, pod.Spec.Overhead, pod.Spec.Resources
	out.Spec.Containers, out.Spec.InitContainers = asking(pod.Spec.Containers), asking(pod.Spec.InitContainers)
	out.Status.Phase = pod.Status.Phase
	return out
}

// asking keeps of containers what they ask for.
func asking(list []corev1.Container) []corev1.Container {
	if len(list) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(list))
	for i := range list {
		out[i] = corev1.Container{RestartPolicy: list[i].RestartPolicy, Resources: corev1.ResourceRequirements{Requests: list[i].Resources.Requests}}
	}
	return out
}
