package books_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// TestIdle: a round that nothing was told for, but that nodes live, asks nobody anything; one that was told of something
// does, and so does one when a pod may be tried again of which a write was refused.
func TestIdle(t *testing.T) {
	now, asked := epoch, 0
	n := gpuNode("n1", a100, 40960, 4)
	b := opened(t, books.Config{Preempt: true, Now: func() time.Time { return now }, Volumes: func(string, []string, *corev1.Node) string { asked++; return "" }}, n)
	for i := range 2 { // a gang without room, which is asked about in each round that asks anything
		pod := member(i, "g", 2, 4, api.AnnotationProfile, "light")
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		b.SetPod(pod)
	}
	round := func() (books.Round, int) {
		before := asked
		r, _ := decide(t, b)
		return r, asked - before
	}
	for range 2 { // it is said that the gang waits, then nothing is left to be done
		if _, n := round(); n == 0 {
			t.Fatal("nobody asked whether the volumes fit: this test says nothing")
		}
	}
	for i := range 3 {
		beat := n.DeepCopy()
		beat.Status.Conditions[0].LastHeartbeatTime.Time = epoch.Add(time.Duration(i) * time.Second)
		b.SetNode(beat)
		now = now.Add(time.Second)
		b.Reopen()
		if r, n := round(); n > 0 || len(r.Refusals) > 0 {
			t.Fatalf("nothing changed, and the volumes are asked %d times: %+v", n, r.Refusals)
		}
	}
	b.SetPod(taskPod(8, api.AnnotationProfile, "none", api.AnnotationAlone, "true"))
	b.SetPod(taskPod(9, api.AnnotationMemory, "90Gi"))
	r, _ := decide(t, b)
	var placed *corev1.Pod
	for _, change := range []struct {
		what string
		tell func()
	}{
		{"a write is done", func() { placed = write(t, b, r)["task-8"] }},
		{"a volume comes", b.Reconsider},
		{"a pod comes", func() { b.SetPod(taskPod(7, api.AnnotationMemory, "90Gi")) }},
		{"a pod is changed", func() { b.SetPod(taskPod(10007, api.AnnotationMemory, "91Gi")) }},
		{"a Profile comes", func() { b.Refresh("default", "light") }},
		{"a pod that waits goes", func() { b.DropPod("uid-000009") }},
		{"a pod that runs is about to go", func() {
			placed.Spec.NodeName, placed.ResourceVersion, placed.DeletionTimestamp = "n1", "99"+placed.ResourceVersion, &metav1.Time{Time: now}
			b.SetPod(placed)
		}},
		{"a node is larger", func() { b.SetNode(gpuNode("n1", a100, 40960, 5)) }},
	} {
		for _, n := round(); n > 0; _, n = round() {
		}
		change.tell()
		if _, n := round(); n == 0 {
			t.Errorf("%s, and nobody is asked", change.what)
		}
	}
}

// TestIdleAgain: where it is looked ahead, one that waits is asked about again after a minute, and what was said is not said again.
func TestIdleAgain(t *testing.T) {
	for _, cards := range []int{8, 264} {
		now, asked := epoch, 0
		b := opened(t, books.Config{Now: func() time.Time { return now }, Volumes: func(string, []string, *corev1.Node) string { asked++; return "" }})
		for i := range cards / 8 {
			b.SetNode(gpuNode(fmt.Sprintf("n%02d", i), a100, 40960, 8))
		}
		pod := taskPod(1, api.AnnotationMemory, "90Gi")
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		b.SetPod(pod)
		if r, _ := decide(t, b); len(r.Refusals) != 1 {
			t.Fatalf("%+v", r)
		}
		for range 2 {
			for second := range 60 {
				before := asked
				r, said := decide(t, b)
				if len(r.Refusals) > 0 || (asked > before) != (cards == 8 && second == 0 && now != epoch) {
					t.Fatalf("%d cards, %v: asked %d times; %v", cards, now.Sub(epoch), asked-before, said)
				}
				now = now.Add(time.Second)
			}
		}
	}
}

// TestIdleRefused: a pod of which the API server refused a write is tried again when it is due, though nothing was told: after a
// second, and twice that for each refusal in a row, up to a minute.
func TestIdleRefused(t *testing.T) {
	now := epoch
	b := opened(t, books.Config{Now: func() time.Time { return now }}, gpuNode("n1", a100, 40960, 1))
	pod := taskPod(1, api.AnnotationProfile, "light")
	b.SetPod(pod)
	row := 0
	for i, how := range []books.Outcome{
		books.Refused, books.Refused, books.Refused, books.Written, books.Refused, books.Refused, books.Refused, books.Refused, books.Refused, books.Refused, books.Refused, books.Refused,
	} {
		r, said := decide(t, b)
		if len(r.Decisions) != 1 {
			t.Fatalf("%d: it is not placed: %v", i, said)
		}
		if how == books.Written {
			row = 0
			write(t, b, r)
			b.Leave(pod.UID)
			now = now.Add(time.Hour)
			b.Reopen()
			continue
		}
		if err := b.Finish(pod.UID, how, nil); err != nil {
			t.Fatal(err)
		}
		wait := min(time.Second<<row, time.Minute)
		row++
		now = now.Add(wait - 1)
		if r, _ := decide(t, b); len(r.Decisions) > 0 {
			t.Fatalf("%d: tried again before %v are over", i, wait)
		}
		now = now.Add(1)
	}
}

// TestLengths: of those that do not say how long they take the first are those whose owner's others were quick; what is known
// goes with the pods that told it.
func TestLengths(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		for _, told := range []int{1, 3} {
			now := epoch
			b := opened(t, books.Config{Now: func() time.Time { return now }}, gpuNode("n1", a100, 40960, 1))
			owned := func(n int, job string) *corev1.Pod {
				yes, pod := true, taskPod(n, api.AnnotationProfile, "heavy", api.AnnotationAlone, "true")
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", UID: types.UID(job), Controller: &yes}}
				return pod
			}
			for i := range 2 * told {
				pod := owned(i, []string{"slow", "quick"}[i%2])
				pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Status.Phase = nil, "n1", corev1.PodSucceeded
				took := []time.Duration{20 * time.Hour, time.Minute}[i%2] * time.Duration(1+i/2)
				pod.Status.StartTime = &metav1.Time{Time: epoch.Add(-took)}
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(epoch)}}}}
				b.SetPod(pod)
				if forgotten {
					b.DropPod(pod.UID)
				}
			}
			for i := range 8 {
				b.SetPod(owned(100+i, []string{"slow", "quick"}[i/4]))
			}
			var order []string
			for range 8 {
				r, said := decide(t, b)
				if len(r.Decisions) != 1 {
					t.Fatal(said)
				}
				write(t, b, r)
				order = append(order, string(r.Decisions[0].Pod.OwnerReferences[0].UID))
				now = now.Add(time.Minute)
				b.DropPod(r.Decisions[0].Pod.UID)
			}
			want := []string{"quick", "slow"}
			if forgotten {
				want = []string{"slow", "quick"} // as they came
			}
			if !slices.Equal(slices.Compact(order), want) {
				t.Errorf("%d of each are over, forgotten %v: the order is %v", told, forgotten, order)
			}
		}
	}
}
