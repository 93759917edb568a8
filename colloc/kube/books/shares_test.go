package books_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

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

// of is a pod of a namespace, with how long its task takes.
func of(namespace string, n int, length string, annotations ...string) *corev1.Pod {
	p := taskPod(n, append(annotations, api.AnnotationLength, length)...)
	p.Namespace = namespace
	return p
}

// Of one batch, too, whoever holds least goes first, though the tasks of others came before and are shorter; where it is looked
// ahead, once namespaces differ by more than a GPU for each of all cards.
func TestSharesTogether(t *testing.T) {
	for _, c := range []struct {
		nodes, red, ends, blue, want int
		annotations                  []string
	}{
		{33, 300, 6, 4, 4, []string{api.AnnotationAlone, "true"}},
		{1, 60, 1, 4, 1, []string{api.AnnotationProfile, "light", api.AnnotationMaxSlowdown, "inf"}},
	} {
		b := openShared(t, []string{"*"})
		for i := range c.nodes {
			b.SetNode(gpuNode(fmt.Sprintf("n%02d", i), a100, 40960, 8))
		}
		for i := range c.red {
			b.SetPod(of("red", i, "1m", c.annotations...))
		}
		if n := placeAll(t, b)["red"]; n == c.red {
			t.Fatal("nobody waits")
		}
		for i := range c.blue {
			b.SetPod(of("blue", 1000+i, "20h", c.annotations...))
		}
		for i := range c.ends {
			b.DropPod(types.UID(fmt.Sprintf("uid-%06d", i)))
		}
		if got := placeAll(t, b); got["blue"] != c.want || got["red"] != c.ends-c.want {
			t.Errorf("of %d places blue has %d and red %d, want blue %d", c.ends, got["blue"], got["red"], c.want)
		}
	}
}

// placeAll decides until nobody starts, and counts by namespace who did.
func placeAll(t *testing.T, b *books.Books) map[string]int {
	t.Helper()
	all := map[string]int{}
	for {
		r, _ := decide(t, b)
		for _, pod := range write(t, b, r) {
			all[pod.Namespace]++
		}
		if len(r.Decisions) == 0 {
			return all
		}
	}
}

// What a namespace holds on cards that a Dispatcher is not shown counts.
func TestLimitsElsewhere(t *testing.T) {
	b := opened(t, books.Config{Limits: map[string]int{"red": 260}})
	for i := range 33 {
		b.SetNode(gpuNode(fmt.Sprintf("n%02d", i), a100, 40960, 8))
	}
	for i := range 258 {
		b.SetPod(of("red", i, "1h", api.AnnotationAlone, "true"))
	}
	placeAll(t, b)
	for i := range 4 {
		b.SetPod(of("red", 1000+i, "1h", api.AnnotationAlone, "true"))
		b.SetPod(of("blue", 2000+i, "1h", api.AnnotationAlone, "true"))
	}
	r, said := decide(t, b)
	if len(r.Decisions) != 6 || said["task-1001"] == "" || !strings.HasPrefix(said["task-1002"], books.OverLimit) || !strings.Contains(said["task-1003"], "namespace red holds 260 GPUs of the 260") {
		t.Errorf("two of red and four of blue may start: %v", said)
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
