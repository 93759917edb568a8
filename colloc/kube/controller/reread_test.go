package controller_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// TestRereadBesideWatch: while the pods are read, the watch tells that one is new and one
// is gone. The answer, made before, does not undo it; of what nobody told it counts.
func TestRereadBesideWatch(t *testing.T) {
	old, lost, gone, fresh := taskPod(1), taskPod(2), taskPod(3), taskPod(4)
	s := newServer(old, fresh)
	c, b := newController(t, s, clock, nil)
	b.SetPod(old)
	b.SetPod(lost) // its end was not told
	s.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		b.SetPod(fresh)
		b.DropPod(gone.UID)
		return true, &corev1.PodList{Items: []corev1.Pod{*old, *gone}}, nil
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
