package books_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/profile"
)

// ranked gives a pod a priority.
func ranked(pod *corev1.Pod, priority int32) *corev1.Pod {
	pod.Spec.Priority = &priority
	return pod
}

// preempting is books that preempt, on a clock of their own.
func preempting(t *testing.T, now *time.Time, nodes ...*corev1.Node) *books.Books {
	t.Helper()
	b, err := books.New(books.Config{Planner: planner(t), Profile: profiles(t), Preempt: true, Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		b.SetNode(n)
	}
	b.Open()
	return b
}

// victims names those that have to go, in order.
func victims(r books.Round) string {
	var names []string
	for _, p := range r.Preemptions {
		for _, pod := range p.Victims {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// alone is a pod that shares with nobody.
func alone(n int, priority int32) *corev1.Pod {
	return ranked(taskPod(n, api.AnnotationProfile, "heavy", api.AnnotationAlone, "true", api.AnnotationRestart, "1m"), priority)
}

// TestPreemptGang: a gang sends away as many pods of the lowest priority as it has to; what
// they leave is kept for it, though others wait.
func TestPreemptGang(t *testing.T) {
	now := epoch
	b := preempting(t, &now, gpuNode("a", a100, 40960, 4), gpuNode("b", a100, 40960, 4))
	for i, priority := range []int32{5, 5, 1, 1, 1, 2, 9} { // one card is free
		b.SetPod(alone(i, priority))
	}
	r, _ := decide(t, b)
	pods := write(t, b, r)
	if len(pods) != 7 {
		t.Fatalf("%d are placed, want 7", len(pods))
	}
	for i := range 2 {
		b.SetPod(ranked(member(10+i, "g", 2, 2), 5))
	}
	r, said := decide(t, b)
	if got := victims(r); got != "task-2 task-3 task-4" || len(r.Decisions) > 0 || !strings.HasPrefix(said["task-10"], "MakingRoom") {
		t.Fatalf("%q have to go, want the three of priority 1: %v", got, said)
	}
	b.DropPod(pods["task-2"].UID)
	b.SetPod(alone(20, 1)) // would fit
	r, said = decide(t, b)
	if len(r.Decisions) > 0 || victims(r) != "" || !strings.Contains(said["task-20"], "kept for a pod of higher priority") {
		t.Fatalf("while they go: %v, and %q have to go", said, victims(r))
	}
	going := pods["task-3"].DeepCopy()
	going.DeletionTimestamp, going.ResourceVersion = &metav1.Time{Time: now}, "99"+going.ResourceVersion
	b.SetPod(going)
	now = now.Add(10 * time.Second)
	b.Reopen()
	if r, said := decide(t, b); len(r.Decisions) > 0 || victims(r) != "" {
		t.Fatalf("later: %v, and %q have to go", said, victims(r))
	}
	b.DropPod(pods["task-3"].UID)
	b.DropPod(pods["task-4"].UID)
	if r, said = decide(t, b); len(r.Decisions) != 2 || !strings.HasPrefix(said["task-10"], "a/") && !strings.HasPrefix(said["task-10"], "b/") {
		t.Fatalf("once they have gone: %v", said)
	}
}

// TestPreemptLeast: of more cards than a gang needs those are freed whose pods matter least, wherever they are.
func TestPreemptLeast(t *testing.T) {
	for spared := range 5 {
		now := epoch
		b := preempting(t, &now, gpuNode("a", a100, 40960, 5))
		for i := range 5 {
			pod := alone(i, 1)
			if i == spared {
				pod = ranked(pod, 2)
			}
			maps.Copy(pod.Annotations, api.Placement{Node: "a", Device: "gpu-" + strconv.Itoa(i), Address: strconv.Itoa(i), Reserved: 30 * profile.GiB}.Annotations())
			pod.Spec.SchedulingGates, pod.Spec.NodeName = nil, "a"
			b.SetPod(pod)
		}
		for i := range 2 {
			b.SetPod(ranked(member(10+i, "g", 2, 2), 5))
		}
		r, said := decide(t, b)
		if got := victims(r); len(strings.Fields(got)) != 4 || strings.Contains(got, fmt.Sprint("task-", spared)) {
			t.Errorf("%q have to go, want all but task-%d: %v", got, spared, said)
		}
	}
}

// TestPreemptPod: a pod has the Planner say who goes. One that never preempts, and one of
// no higher priority, waits.
func TestPreemptPod(t *testing.T) {
	never := corev1.PreemptNever
	for _, tt := range []struct {
		name     string
		priority int32
		policy   *corev1.PreemptionPolicy
		want     string
	}{{"higher", 3, nil, "task-1"}, {"never", 3, &never, ""}, {"equal", 1, nil, ""}} {
		t.Run(tt.name, func(t *testing.T) {
			now := epoch
			b := preempting(t, &now, gpuNode("a", a100, 40960, 2))
			b.SetPod(alone(0, 2))
			b.SetPod(alone(1, 1))
			r, _ := decide(t, b)
			write(t, b, r)
			pod := alone(9, tt.priority)
			pod.Spec.PreemptionPolicy = tt.policy
			b.SetPod(pod)
			if r, said := decide(t, b); victims(r) != tt.want {
				t.Errorf("%q have to go, want %q: %v", victims(r), tt.want, said)
			}
		})
	}
}

// TestPreemptStays: who could not be evicted is left alone for a while; others go, or
// nobody, and later it is asked again.
func TestPreemptStays(t *testing.T) {
	now := epoch
	b := preempting(t, &now, gpuNode("a", a100, 40960, 2))
	b.SetPod(alone(0, 1))
	b.SetPod(alone(1, 2))
	r, _ := decide(t, b)
	write(t, b, r)
	b.SetPod(alone(9, 3))
	for i, want := range []string{"task-0", "task-1", ""} {
		r, said := decide(t, b)
		if victims(r) != want {
			t.Fatalf("%d: %q have to go, want %q: %v", i, victims(r), want, said)
		}
		for _, p := range r.Preemptions {
			b.Stays(p.Victims)
		}
	}
	now = now.Add(2 * time.Minute)
	b.Reopen()
	if r, said := decide(t, b); victims(r) != "task-0" {
		t.Errorf("later %q have to go, want task-0 again: %v", victims(r), said)
	}
}

// TestPreemptGangs: of a gang that has to go all pods go, and its cards on other nodes are
// free too.
func TestPreemptGangs(t *testing.T) {
	now := epoch
	b := preempting(t, &now, gpuNode("a", a100, 40960, 2), gpuNode("b", a100, 40960, 2))
	for i := range 2 {
		b.SetPod(ranked(member(i, "low", 2, 2, api.AnnotationRestart, "1m"), 1))
	}
	r, _ := decide(t, b)
	write(t, b, r)
	b.SetPod(alone(9, 3))
	r, said := decide(t, b)
	if victims(r) != "task-0 task-1" {
		t.Fatalf("%q have to go, want both of the gang: %v", victims(r), said)
	}
	b.SetPod(ranked(member(20, "high", 1, 2), 3)) // one pod with two GPUs
	if r, said := decide(t, b); victims(r) != "" || !strings.HasPrefix(said["task-20"], "MakingRoom") {
		t.Errorf("the other node is free as well: %q have to go; %v", victims(r), said)
	}
}

// Who does not say what a restart costs is not sent away, and neither is a gang of which one does not.
func TestPreemptConsent(t *testing.T) {
	now := epoch
	b := preempting(t, &now, gpuNode("a", a100, 40960, 3))
	silent := alone(0, 1)
	delete(silent.Annotations, api.AnnotationRestart)
	b.SetPod(silent)
	b.SetPod(ranked(member(1, "low", 2, 1, api.AnnotationRestart, "1m"), 1))
	b.SetPod(ranked(member(2, "low", 2, 1), 1))
	r, _ := decide(t, b)
	if pods := write(t, b, r); len(pods) != 3 {
		t.Fatalf("%d are placed, want 3", len(pods))
	}
	b.SetPod(alone(9, 3))
	if r, said := decide(t, b); victims(r) != "" {
		t.Errorf("%q have to go: %v", victims(r), said)
	}
}
