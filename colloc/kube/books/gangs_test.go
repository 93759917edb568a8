package books_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// member is a pod of a gang that its annotations name.
func member(n int, gang string, size, gpus int, annotations ...string) *corev1.Pod {
	pod := taskPod(n, append(annotations, api.AnnotationGang, gang, api.AnnotationGangSize, strconv.Itoa(size), api.AnnotationGPUs, strconv.Itoa(gpus))...)
	if pod.Annotations[api.AnnotationProfile] == "" {
		pod.Annotations[api.AnnotationProfile] = "heavy"
	}
	return pod
}

// write makes the API server take all decisions, and the books hear of it.
func write(t *testing.T, b *books.Books, r books.Round) map[string]*corev1.Pod {
	t.Helper()
	pods := map[string]*corev1.Pod{}
	for _, d := range r.Decisions {
		pod := written(d)
		pods[pod.Name] = pod
		if err := b.Finish(pod.UID, books.Written, pod); err != nil {
			t.Fatal(err)
		}
	}
	return pods
}

// TestGang: no pod of a gang is placed before all are there, each then has its GPUs on one
// node, all of one product, and nobody joins them.
func TestGang(t *testing.T) {
	b := open(t, 0, gpuNode("a", a100, 40960, 3), gpuNode("b", a100, 40960, 5), gpuNode("c", a100, 40960, 4), gpuNode("v", "Tesla-V100-SXM2-32GB", 32768, 8))
	b.SetPod(member(1, "g", 2, 4))
	if r, said := decide(t, b); len(r.Decisions) > 0 || !strings.HasPrefix(said["task-1"], `Gathering: gang "g" of 2 pods: 1 are here`) {
		t.Fatalf("half a gang: %v", said)
	}
	b.SetPod(member(2, "g", 2, 4))
	b.SetPod(member(3, "g", 2, 4))
	r, said := decide(t, b)
	at := []string{said["task-1"], said["task-2"]}
	slices.Sort(at)
	onV := "v/gpu-0,gpu-1,gpu-2,gpu-3 v/gpu-4,gpu-5,gpu-6,gpu-7"
	if got := strings.Join(at, " "); got != onV && got != "b/gpu-0,gpu-1,gpu-2,gpu-3 c/gpu-0,gpu-1,gpu-2,gpu-3" || !strings.HasPrefix(said["task-3"], "GangFull") {
		t.Fatalf("the gang is on %v", said)
	}
	for _, d := range r.Decisions {
		if n := strings.Count(d.At.Address, ","); n != 3 || d.Pod.Name == "task-3" {
			t.Errorf("%s has the addresses %q, want four", d.Pod.Name, d.At.Address)
		}
	}
	write(t, b, r)
	held := map[string]bool{}
	for _, d := range r.Decisions {
		for _, id := range d.At.GPUs() {
			held[id] = true
		}
	}
	for i := range 30 {
		b.SetPod(taskPod(10+i, api.AnnotationProfile, "light"))
	}
	r, _ = decide(t, b)
	for _, d := range r.Decisions {
		if held[d.At.GPU()] {
			t.Errorf("%s joins the gang on %s", d.Pod.Name, d.At.GPU())
		}
	}
	if len(r.Decisions) != 30 {
		t.Errorf("%d single pods are placed on the 12 other cards, want all 30", len(r.Decisions))
	}
	if wrong := b.Check(); wrong != nil {
		t.Error(wrong)
	}
}

// TestGangRoom: a gang without room waits with a reason and holds nothing, also where the
// node has the GPUs and not the CPUs.
func TestGangRoom(t *testing.T) {
	small := gpuNode("b", a100, 40960, 4)
	small.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m")
	b := open(t, 0, gpuNode("a", a100, 40960, 7), small)
	b.SetPod(member(1, "g", 2, 4))
	b.SetPod(member(2, "g", 2, 4))
	for i := range 7 {
		b.SetPod(taskPod(10+i, api.AnnotationAlone, "true", api.AnnotationProfile, "heavy"))
	}
	r, said := decide(t, b)
	if len(r.Decisions) != 7 || !strings.HasPrefix(said["task-1"], "TooFewGpus") || !strings.Contains(said["task-1"], "1 too little cpu") {
		t.Errorf("%d decisions, %q; want seven single pods and a gang that holds nothing", len(r.Decisions), said["task-1"])
	}
}

// TestGangSet: two gangs of one size share a site where there is one and no other, as the
// Planner says, also in books that were made anew.
func TestGangSet(t *testing.T) {
	for _, count := range []int{4, 8} {
		n := gpuNode("a", a100, 40960, count)
		b := open(t, 0, n)
		var all []*corev1.Pod
		for i := range 4 {
			all = append(all, member(i, []string{"x", "y"}[i%2], 2, 2, api.AnnotationProfile, "light", api.AnnotationMaxSlowdown, "inf"))
			b.SetPod(all[i])
		}
		r, said := decide(t, b)
		cards := map[string]bool{}
		for _, d := range r.Decisions {
			cards[d.At.GPU()] = true
		}
		if len(r.Decisions) != 4 || len(cards) != count/2 {
			t.Fatalf("two gangs on %d cards: %v", count, said)
		}
		now := write(t, b, r)
		again := opened(t, books.Config{}, n)
		for _, name := range slices.Sorted(maps.Keys(now)) {
			again.SetPod(now[name])
		}
		again.Open()
		for _, b := range []*books.Books{b, again} {
			b.SetPod(taskPod(9, api.AnnotationProfile, "light", api.AnnotationMaxSlowdown, "inf"))
			if r, said := decide(t, b); len(r.Decisions) > 0 || b.Check() != nil {
				t.Errorf("a single pod joins gangs: %v, %v", said, b.Check())
			}
		}
	}
}

// TestGangSetCrowded: two gangs that would share a site do not where its node has too few
// CPUs for the pods of both.
func TestGangSetCrowded(t *testing.T) {
	n := gpuNode("a", a100, 40960, 4)
	n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3") // a pod asks for one
	b := open(t, 0, n)
	for i := range 4 {
		b.SetPod(member(i, []string{"x", "y"}[i%2], 2, 2, api.AnnotationProfile, "light", api.AnnotationMaxSlowdown, "inf"))
	}
	r, said := decide(t, b)
	if len(r.Decisions) != 2 || r.Decisions[0].Pod.Annotations[api.AnnotationGang] != r.Decisions[1].Pod.Annotations[api.AnnotationGang] || b.Check() != nil {
		t.Errorf("want one gang: %v, %v", said, b.Check())
	}
}

// TestGangRestart: of a gang that was half written when collocd died the rest is placed
// first, where it was to be, before one of higher priority.
func TestGangRestart(t *testing.T) {
	n := gpuNode("a", a100, 40960, 4)
	b := open(t, 0, n)
	for i := range 2 {
		b.SetPod(member(i, "g", 2, 2))
	}
	r, _ := decide(t, b)
	again := opened(t, books.Config{}, n)
	again.SetPod(written(r.Decisions[0]))
	again.SetPod(r.Decisions[1].Pod)
	high, urgent := taskPod(9, api.AnnotationProfile, "heavy", api.AnnotationAlone, "true"), int32(9)
	high.Spec.Priority = &urgent
	again.SetPod(high)
	again.Open()
	if broken := again.Broken(); len(broken) > 0 {
		t.Errorf("before anything was decided it is said %q", broken[0].Text)
	}
	if now, said := decide(t, again); len(now.Decisions) != 1 || now.Decisions[0].At != r.Decisions[1].At || again.Check() != nil {
		t.Errorf("want the rest of the gang at %s: %v, %v", r.Decisions[1].At.GPU(), said, again.Check())
	}
}

// TestGangLost: who is left of a gang is told, keeps its cards, and what comes in the place
// of who is gone is placed before others of any priority. One that has run to its end is
// not missed.
func TestGangLost(t *testing.T) {
	b := open(t, 0, gpuNode("a", a100, 40960, 4))
	for i := range 2 {
		b.SetPod(member(i, "g", 2, 2))
	}
	r, _ := decide(t, b)
	pods := write(t, b, r)
	if broken := b.Broken(); len(broken) > 0 {
		t.Fatalf("a whole gang is %q", broken[0].Text)
	}
	b.DropPod(pods["task-1"].UID)
	if broken := b.Broken(); len(broken) != 1 || broken[0].Pod.Name != "task-0" || broken[0].Reason != books.GangBroken {
		t.Fatalf("told are %+v, want the one that is left", broken)
	}
	high := int32(1000)
	single := taskPod(5, api.AnnotationProfile, "heavy", api.AnnotationAlone, "true")
	single.Spec.Priority = &high
	b.SetPod(single)
	b.SetPod(member(6, "g", 2, 2))
	r, said := decide(t, b)
	if len(r.Decisions) != 1 || said["task-6"] == "" || r.Decisions[0].Pod.Name != "task-6" {
		t.Fatalf("want the gang made whole first: %v", said)
	}
	pods = write(t, b, r)
	done := pods["task-6"].DeepCopy()
	done.Status.Phase, done.ResourceVersion = corev1.PodSucceeded, "99"+done.ResourceVersion
	b.SetPod(done)
	if broken := b.Broken(); len(broken) > 0 {
		t.Errorf("one has run to its end, and the other is told %q", broken[0].Text)
	}
	if r, said := decide(t, b); len(r.Decisions) != 1 || r.Decisions[0].Pod.Name != "task-5" {
		t.Errorf("what it held is free: %v", said)
	}
}

// TestGangRefused: where one write of several is refused the others stand, and the pod is
// tried again on cards of its own.
func TestGangRefused(t *testing.T) {
	b := open(t, 0, gpuNode("a", a100, 40960, 4))
	for i := range 2 {
		b.SetPod(member(i, "g", 2, 2))
	}
	r, _ := decide(t, b)
	for i, d := range r.Decisions {
		pod, how := written(d), books.Written
		if i == 1 {
			pod, how = d.Pod.DeepCopy(), books.Refused
			pod.ResourceVersion = "9" + pod.ResourceVersion
		}
		if err := b.Finish(pod.UID, how, pod); err != nil {
			t.Fatal(err)
		}
	}
	again, said := decide(t, b)
	if len(again.Decisions) != 1 || again.Decisions[0].At != r.Decisions[1].At || b.Check() != nil {
		t.Errorf("got %v, %v; want the same place again", said, b.Check())
	}
}

// TestGangGroup: the pods of a PodGroup are a gang as large as it says, others may come
// once these run, and one that is not there is told.
func TestGangGroup(t *testing.T) {
	size := map[string]int{}
	b := opened(t, books.Config{Groups: func(_, name string) (int, bool) { n, ok := size[name]; return n, ok }}, gpuNode("a", a100, 40960, 8))
	name := "train"
	for i := range 3 {
		pod := taskPod(i, api.AnnotationProfile, "heavy")
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		b.SetPod(pod)
	}
	if r, said := decide(t, b); len(r.Decisions) > 0 || !strings.Contains(said["task-0"], `there is no PodGroup "train"`) {
		t.Fatalf("without the PodGroup: %v", said)
	}
	size[name] = 2
	b.Regroup("default", name)
	r, said := decide(t, b)
	if len(r.Decisions) != 2 {
		t.Fatalf("want two at once: %v", said)
	}
	write(t, b, r)
	if r, said := decide(t, b); len(r.Decisions) != 1 || r.Decisions[0].Pod.Name != "task-2" {
		t.Errorf("want the third after them: %v", said)
	}
}

// TestGangOwners: pods of one Job are a gang without a name; those of two are two.
func TestGangOwners(t *testing.T) {
	b := open(t, 0, gpuNode("a", a100, 40960, 8))
	yes := true
	for i := range 4 {
		pod := taskPod(i, api.AnnotationProfile, "heavy", api.AnnotationGangSize, "3")
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j", UID: "job-1", Controller: &yes}}
		if i == 3 {
			pod.OwnerReferences[0].UID = "job-2"
		}
		b.SetPod(pod)
	}
	if r, said := decide(t, b); len(r.Decisions) != 3 || !strings.HasPrefix(said["task-3"], "Gathering") {
		t.Errorf("%v", said)
	}
	b.SetPod(taskPod(7, api.AnnotationGangSize, "3"))
	if _, said := decide(t, b); !strings.HasPrefix(said["task-7"], "BadAnnotation") {
		t.Errorf("a gang without a name or an owner: %v", said)
	}
}

// TestGangWaits: what is said to the pods of a gang speaks of the gang, not of a pod.
func TestGangWaits(t *testing.T) {
	b := open(t, 0, gpuNode("a", a100, 40960, 1))
	b.SetPod(member(1, "g", 2, 1))
	b.SetPod(member(2, "g", 2, 1))
	_, said := decide(t, b)
	for _, name := range []string{"task-1", "task-2"} {
		if !strings.HasPrefix(said[name], `TooFewGpus: gang "g" of 2 pods: it waits: there are too few GPUs`) {
			t.Errorf("%s: %s", name, said[name])
		}
	}
}
