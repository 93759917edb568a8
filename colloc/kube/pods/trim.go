package pods

import (
	"strings"
	"time"

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

// maxAnnotation is the most of an annotation that is kept, in bytes: a pod may have a quarter
// of a MiB of them. The longest that is of use is a decision about 32 GPUs, or a query.
const maxAnnotation = 16 << 10

// Trim returns what collocd needs of a pod of ours, a tenth of it.
func Trim(pod *corev1.Pod) *corev1.Pod {
	out := bare(pod)
	out.CreationTimestamp, out.ResourceVersion = pod.CreationTimestamp, pod.ResourceVersion
	out.DeletionTimestamp = pod.DeletionTimestamp
	for name, value := range pod.Annotations {
		if api.Known(name) {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[name] = strings.Clone(value[:min(len(value), maxAnnotation)])
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out.Spec.SchedulingGates, out.Spec.NodeSelector, out.Spec.Tolerations = pod.Spec.SchedulingGates, pod.Spec.NodeSelector, pod.Spec.Tolerations
	out.Spec.Priority, out.Spec.PreemptionPolicy, out.Spec.ResourceClaims = pod.Spec.Priority, pod.Spec.PreemptionPolicy, pod.Spec.ResourceClaims
	out.Spec.SchedulingGroup = pod.Spec.SchedulingGroup
	out.Status.ResourceClaimStatuses, out.Status.StartTime = pod.Status.ResourceClaimStatuses, pod.Status.StartTime
	if pod.Status.Phase == corev1.PodSucceeded {
		for i := range pod.Status.ContainerStatuses {
			if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil {
				out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: end.FinishedAt}}})
			}
		}
	}
	out.Spec.TopologySpreadConstraints = pod.Spec.TopologySpreadConstraints
	if a := pod.Spec.Affinity; a != nil {
		out.Spec.Affinity = &corev1.Affinity{PodAffinity: a.PodAffinity, PodAntiAffinity: a.PodAntiAffinity}
		if a.NodeAffinity != nil {
			out.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution}
		}
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			out.Spec.Volumes = append(out.Spec.Volumes, *v)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == api.ConditionPlaced || c.Type == corev1.PodScheduled {
			out.Status.Conditions = append(out.Status.Conditions, c)
		}
	}
	return out
}

// TrimOther returns what collocd needs of a pod of somebody else: where it is, what it
// asks for, and whom it keeps off.
func TrimOther(pod *corev1.Pod) *corev1.Pod {
	out := bare(pod)
	out.ResourceVersion = pod.ResourceVersion
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		out.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}
	}
	return out
}

// bare is who a pod is, where it is, and what it asks for.
func bare(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Labels: pod.Labels}}
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
		for _, p := range list[i].Ports {
			if p.HostPort > 0 {
				out[i].Ports = append(out[i].Ports, p)
			}
		}
	}
	return out
}

// Ran is since when a pod runs, or how long one ran that has done its work; zero where that is not told.
func Ran(pod *corev1.Pod) (since time.Time, took time.Duration) {
	if pod.Status.StartTime == nil {
		return time.Time{}, 0
	}
	since = pod.Status.StartTime.Time
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && pod.Status.Phase == corev1.PodSucceeded {
			took = max(took, end.FinishedAt.Sub(since))
		}
	}
	return since, took
}
