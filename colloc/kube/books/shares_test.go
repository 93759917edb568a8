package books_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// Many pods of one namespace delay those of another by no more than their share: whoever holds least goes first.
func TestShares(t *testing.T) {
	b := opened(t, books.Config{Batch: 8}, gpuNode("n1", a100, 40960, 8))
	for i := range 100 {
		p := taskPod(i, api.AnnotationAlone, "true")
		if p.Namespace = "red"; i >= 96 {
			p.Namespace = "blue"
		}
		b.SetPod(p)
	}
	r, said := decide(t, b)
	of := map[string]int{}
	for _, d := range r.Decisions {
		of[d.Pod.Namespace]++
	}
	if of["red"] != 4 || of["blue"] != 4 {
		t.Errorf("of eight cards red has %d and blue %d: %v", of["red"], of["blue"], said)
	}
}

// A namespace holds no more GPUs than it may, gangs among them, and one whose first pod finds no room gives its turn to
// the next.
func TestLimits(t *testing.T) {
	b := opened(t, books.Config{Limits: map[string]int{"default": 3, "*": 0}}, gpuNode("n1", a100, 40960, 8))
	b.SetPod(taskPod(0, api.AnnotationMemory, "70Gi"))
	for i := range 5 {
		b.SetPod(taskPod(1+i, api.AnnotationAlone, "true"))
	}
	other := taskPod(9)
	other.Namespace = "other"
	b.SetPod(other)
	placed := map[string]bool{}
	var last string
	for range 3 {
		r, said := decide(t, b)
		write(t, b, r)
		for _, d := range r.Decisions {
			placed[d.Pod.Name] = true
		}
		if len(said) > 0 {
			last = fmt.Sprint(said)
		}
	}
	if len(placed) != 3 || !placed["task-1"] || !placed["task-3"] || !strings.Contains(last, "holds 3 GPUs of the 3") {
		t.Fatalf("placed are %v; the last said %s", placed, last)
	}
	if r, said := decide(t, b); len(said) > 0 || len(r.Refusals) > 0 {
		t.Errorf("decided again without any change: %v", said)
	}
	b.DropPod("uid-000001")
	b.SetPod(member(20, "g", 2, 1))
	b.SetPod(member(21, "g", 2, 1))
	decide(t, b) // task-0 has its turn again
	if r, said := decide(t, b); len(r.Decisions) != 1 || !strings.HasPrefix(said["task-20"], books.OverLimit) {
		t.Errorf("one GPU may be had, and %v", said)
	}
}

// Nodes on which a device plugin hands out GPUs beside collocd are counted.
func TestPlugins(t *testing.T) {
	with := gpuNode("n1", a100, 40960, 1)
	with.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
	b := open(t, 0, with, gpuNode("n2", a100, 40960, 1))
	if got := b.Plugins(); got != 1 {
		t.Errorf("%d nodes, want 1", got)
	}
}
