package books_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// Numbers at the edge of what a tenant may write, and times at the edge of what a node may,
// keep nobody else from a card, in a cluster small enough to look ahead and in a large one.
func TestExtremes(t *testing.T) {
	const ages = "2562047h47m16s" // all that a duration holds
	for name, nodes := range map[string]int{"ahead": 2, "large": 40} {
		t.Run(name, func(t *testing.T) {
			var list []*corev1.Node
			for i := range nodes {
				list = append(list, gpuNode(fmt.Sprintf("n%d", i), a100, 40960, 8))
			}
			b := opened(t, books.Config{Preempt: true}, list...)
			runs := 0
			for _, year := range []int{1, 1969, 1970, 2200, 9999} { // by the clock of a node
				for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded} {
					pod := taskPod(100+runs, api.AnnotationProfile, "light", api.AnnotationGPU, fmt.Sprintf("n0/gpu-%d", runs%8), api.AnnotationReserved, "1000000000")
					pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Status.Phase = nil, "n0", phase
					since := metav1.Date(year, 1, 2, 3, 4, 5, 6, time.UTC)
					pod.Status.StartTime = &since
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Date(9999-year, 1, 1, 1, 1, 1, 1, time.UTC)}}}}
					pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", UID: "job", Controller: new(bool)}}
					*pod.OwnerReferences[0].Controller = true
					b.SetPod(pod)
					runs++
				}
			}
			n := 0
			for _, extreme := range [][]string{
				{api.AnnotationLength, ages},
				{api.AnnotationLength, "1ns"},
				{api.AnnotationRestart, ages},
				{api.AnnotationRestart, ages, api.AnnotationLength, ages},
				{api.AnnotationMaxSlowdown, "1.7e308"},
				{api.AnnotationMaxSlowdown, "1"},
				{api.AnnotationMemory, "1"},
				{api.AnnotationMemory, "64Pi"},
				{api.AnnotationGPUs, "32"},
				{api.AnnotationGPUs, "8", api.AnnotationLength, ages},
				{api.AnnotationGangSize, "4096", api.AnnotationGang, "g", api.AnnotationGPUs, "32"},
			} {
				for _, priority := range []int32{-1 << 31, 0, 1<<31 - 1} {
					pod := taskPod(n, append([]string{api.AnnotationProfile, "light"}, extreme...)...)
					pod.Spec.Priority = &priority
					b.SetPod(pod)
					n++
				}
			}
			late := taskPod(99, api.AnnotationProfile, "light")
			late.Namespace = "other"
			top := int32(1<<31 - 1)
			late.Spec.Priority = &top
			b.SetPod(late)
			r, said := decide(t, b)
			finish(t, b, r)
			if _, where, _ := api.ReadPlacement(written(decisionOf(t, r, "task-99")).Annotations); !where || b.Check() != nil {
				t.Errorf("%v; %v", said, b.Check())
			}
		})
	}
}

// decisionOf is that about a pod.
func decisionOf(t *testing.T, r books.Round, pod string) books.Decision {
	t.Helper()
	for _, d := range r.Decisions {
		if d.Pod.Name == pod {
			return d
		}
	}
	t.Fatalf("nothing was decided of %s: %+v", pod, r.Refusals)
	return books.Decision{}
}
