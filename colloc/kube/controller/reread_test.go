package controller_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"example.com/colloc/colloc/kube/api"
)

// TestRereadBesideWatch: while the pods are read, the watch tells that one is new and two
// are gone. The answer, made before, does not undo it; of what nobody told it counts.
func TestRereadBesideWatch(t *testing.T) {
	old, lost, gone, fresh, known := taskPod(1), taskPod(2), taskPod(3), taskPod(4), taskPod(5)
	s := newServer(old, fresh)
	c, b := newController(t, s, clock, nil)
	b.SetPod(old)
	b.SetPod(lost) // its end was not told
	b.SetPod(known)
	s.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		b.SetPod(fresh)
		b.DropPod(gone.UID)
		b.DropPod(known.UID)
		return true, &corev1.PodList{Items: []corev1.Pod{*old, *gone, *known}}, nil
	})
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []types.UID
	for _, pod := range b.Tasks() {
		got = append(got, pod.UID)
	}
	slices.Sort(got)
	if want := []types.UID{old.UID, fresh.UID}; !slices.Equal(got, want) {
		t.Errorf("the books have %q, want %q", got, want)
	}
}

// TestReadBesideWatch: a pod is read after a write that failed, and the watch tells at once that it is gone. It does not
// come back for having been read: nobody would ever tell of its end again.
func TestReadBesideWatch(t *testing.T) {
	for name, fault := range map[string]error{"refused": apierrors.NewConflict(corev1.Resource("pods"), "x", nil), "nobody knows": errTimeout} {
		t.Run(name, func(t *testing.T) {
			pod := taskPod(1)
			s := newServer(pod)
			c, b := newController(t, s, clock, nil)
			b.SetNode(gpuNode("n1", 1))
			b.SetPod(pod)
			b.Open()
			s.fault = func(int) (before, after error) { return fault, nil }
			reads, gone := 0, false
			s.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if reads++; name != "refused" && reads <= 4 {
					return true, nil, errTimeout
				}
				now := pod.DeepCopy()
				now.Annotations = map[string]string{api.AnnotationMemory: "7Gi"} // what was decided does not hold
				b.DropPod(pod.UID)
				gone = true
				return true, now, nil
			})
			for steps := 0; steps < 2 && !gone; steps++ {
				if err := c.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if left := b.Tasks(); len(left) != 0 || !gone {
				t.Errorf("after %d reads the books have %d pods that are gone", reads, len(left))
			}
		})
	}
}
