package books_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/pods"
)

// finish writes all decisions of a round.
func finish(t *testing.T, b *books.Books, r books.Round) {
	t.Helper()
	for _, d := range r.Decisions {
		if err := b.Finish(d.Pod.UID, books.Written, written(d)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoosen: a pod is alone while nothing is known of its Profile; once something is,
// less is set aside for it and another joins it.
func TestLoosen(t *testing.T) {
	known := pods.Known{}
	b, err := books.New(books.Config{Planner: planner(t), Now: clock, Profile: func(string, string) pods.Known { return known }})
	if err != nil {
		t.Fatal(err)
	}
	b.SetNode(gpuNode("n1", a100, 40960, 1))
	b.Open()
	for n := range 2 {
		b.SetPod(taskPod(n, api.AnnotationProfile, "light"))
	}
	r, said := decide(t, b)
	finish(t, b, r)
	if len(r.Decisions) != 1 || len(b.Loosened()) != 0 {
		t.Fatalf("placed %v, loosened %v, want one alone", said, b.Loosened())
	}
	before := b.Sets()[0].Members[0].Reserved
	known = profiles(t)("", "light")
	b.Refresh("default", "light")
	list := b.Loosened()
	if len(list) != 1 || list[0].At.Reserved >= before || list[0].At.GPU() != "n1/gpu-0" {
		t.Fatalf("loosened %+v, want the one that runs, with less than %v", list, before)
	}
	b.Loosen(list[0].Pod.UID, list[0].At.Reserved)
	b.Loosen(list[0].Pod.UID, before) // never more
	r, said = decide(t, b)
	finish(t, b, r)
	if said["task-1"] != "n1/gpu-0" || b.Check() != nil || b.Drift() != 0 || len(b.Loosened()) != 0 {
		t.Errorf("placed %v; %v; %d drift; loosened %v, want both on the card", said, b.Check(), b.Drift(), b.Loosened())
	}
}

// What a process was told at its start that it may take does not change while it runs.
func TestLoosenedLimits(t *testing.T) {
	known := pods.Known{}
	b, err := books.New(books.Config{Planner: planner(t), Now: clock, Profile: func(string, string) pods.Known { return known }})
	if err != nil {
		t.Fatal(err)
	}
	node := gpuNode("n1", a100, 40960, 1)
	node.Labels[api.LabelHAMi] = api.True
	b.SetNode(node)
	b.Open()
	b.SetPod(taskPod(0, api.AnnotationProfile, "light"))
	r, said := decide(t, b)
	finish(t, b, r)
	known = profiles(t)("", "light")
	b.Refresh("default", "light")
	if len(r.Decisions) != 1 || !r.Decisions[0].At.Limits.HAMi || len(b.Loosened()) != 0 {
		t.Errorf("placed %v, %+v, loosened %v", said, r.Decisions, b.Loosened())
	}
}

// reopened returns Books of one node that begin where others have ended: with the pairs
// that these keep apart, and the pods as they run.
func reopened(t *testing.T, was *books.Books, now func() time.Time) *books.Books {
	t.Helper()
	b, err := books.New(books.Config{Planner: planner(t), Now: now, Profile: profiles(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.SetNode(gpuNode("n1", a100, 40960, 1))
	for _, s := range was.Sets() {
		for _, m := range s.Members {
			b.SetPod(m.Pod)
		}
	}
	b.Restore(was.Parted())
	b.Open()
	return b
}

// TestPart: two pods that are parted, and what their owners make anew, do not share until
// the time is over.
func TestPart(t *testing.T) {
	now := epoch
	b, err := books.New(books.Config{Planner: planner(t), Now: func() time.Time { return now }, Profile: profiles(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.SetNode(gpuNode("n1", a100, 40960, 1))
	b.Open()
	yes := true
	stays, goes, comes := taskPod(1, api.AnnotationProfile, "light"), taskPod(2, api.AnnotationProfile, "light"), taskPod(3, api.AnnotationProfile, "light")
	goes.OwnerReferences = []metav1.OwnerReference{{UID: "job", Controller: &yes}}
	comes.OwnerReferences = goes.OwnerReferences
	b.SetPod(stays)
	b.SetPod(goes)
	r, said := decide(t, b)
	finish(t, b, r)
	if said["task-1"] != said["task-2"] || len(b.Sets()) != 1 || len(b.Sets()[0].Members) != 2 {
		t.Fatalf("placed %v, want them together", said)
	}
	b.Part(stays.UID, goes.UID, now.Add(time.Hour))
	if b.Check() != nil || b.Drift() != 0 {
		t.Fatalf("%v; %d drift", b.Check(), b.Drift())
	}
	b.DropPod(goes.UID)
	b = reopened(t, b, func() time.Time { return now }) // as after a restart
	b.SetPod(comes)
	if r, said := decide(t, b); len(r.Decisions) != 0 {
		t.Fatalf("placed %v, want that the pair is not formed again", said)
	}
	b.SetPod(taskPod(4, api.AnnotationProfile, "light"))
	r, said = decide(t, b)
	finish(t, b, r)
	if said["task-4"] != "n1/gpu-0" {
		t.Errorf("%v, want that others share as before", said)
	}
	b.DropPod("uid-000004")
	now = now.Add(2 * time.Hour)
	b.Reopen()
	if _, said := decide(t, b); said["task-3"] != "n1/gpu-0" || b.Check() != nil {
		t.Errorf("after the time %v; %v, want them together", said, b.Check())
	}
}

// TestPartedDays: whoever comes, waits or goes, no decision joins pods whose owners are kept apart, and all others may share.
func TestPartedDays(t *testing.T) {
	joined, kept := 0, 0
	for seed := range uint64(12) {
		rng, now := rand.New(rand.NewPCG(seed, 45)), epoch
		b := opened(t, books.Config{Now: func() time.Time { return now }}, gpuNode("n1", a100, 40960, 1+rng.IntN(2)))
		owners, placed := map[types.UID]int{}, map[types.UID]*corev1.Pod{}
		apart := map[[2]int]time.Time{}
		yes := true
		for n := range 40 {
			now = now.Add(time.Duration(rng.IntN(10)) * time.Minute)
			pod := taskPod(n, api.AnnotationProfile, "light")
			owners[pod.UID] = rng.IntN(4)
			pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("job", owners[pod.UID])), Controller: &yes}}
			b.SetPod(pod)
			if all := slices.Sorted(maps.Keys(placed)); len(all) > 1 && rng.IntN(3) == 0 {
				x, y := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
				until := now.Add(time.Duration(1+rng.IntN(120)) * time.Minute)
				b.Part(x, y, until)
				apart[[2]int{owners[x], owners[y]}], apart[[2]int{owners[y], owners[x]}] = until, until
			}
			for _, uid := range slices.Sorted(maps.Keys(placed)) {
				if rng.IntN(4) == 0 {
					b.DropPod(uid)
					delete(placed, uid)
				}
			}
			r, said := decide(t, b)
			for _, pod := range write(t, b, r) {
				placed[pod.UID] = pod
			}
			for _, d := range r.Decisions {
				for uid, o := range placed {
					if uid == d.Pod.UID || o.Annotations[api.AnnotationGPU] != d.At.GPU() {
						continue
					}
					if joined++; now.Before(apart[[2]int{owners[uid], owners[d.Pod.UID]}]) {
						t.Fatalf("seed %d: %s joins %s, whose owner is kept apart from its own: %v", seed, d.Pod.Name, o.Name, said)
					}
				}
			}
			if len(apart) > 0 && len(r.Refusals) > 0 {
				kept++
			}
			if wrong := b.Check(); wrong != nil {
				t.Fatal(seed, wrong)
			}
		}
	}
	if joined < 40 || kept < 4 {
		t.Errorf("%d pods joined others, in %d rounds some were kept: this says little", joined, kept)
	}
}
