package books_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

func TestExplain(t *testing.T) {
	b := open(t, 0, gpuNode("n1", a100, 40960, 1), gpuNode("n2", "Tesla-T4", 15360, 1))
	b.DropNode("n2")
	for i := range 4 {
		pod := taskPod(i, api.AnnotationProfile, "light")
		if i == 2 {
			pod.Namespace = "team"
		}
		if i == 3 {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/admission"})
		}
		b.SetPod(pod)
	}
	r, said := decide(t, b)
	if len(r.Decisions) != 2 {
		t.Fatal(said)
	}
	for i, want := range [][]string{
		{"is waiting", "card n1/gpu-0, A100-40GB", "  it: speed 0.", "  pod task-1: speed 0."},
		{"  pod task-0: speed 0."},
		{"is waiting", "all 1 nodes with GPUs would take it", "fits on none of 1 cards; on the nearest: "},
		{"is held", "held by colloc.example.com/place, kueue.x-k8s.io/admission"},
	} {
		var out strings.Builder
		if err := b.Explain(&out, taskPod(i).UID); err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("task-%d lacks %q:\n%s", i, part, out.String())
			}
		}
		if strings.Contains(out.String(), "uid-") {
			t.Errorf("task-%d tells UIDs:\n%s", i, out.String())
		}
	}
	if err := b.Explain(&strings.Builder{}, "nobody"); !errors.Is(err, books.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}
