package controller_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/controller"
)

// TestNoClaim: a claim that may not be made, or whose namespace is about to go, is tried
// less and less often, its user is told once of what is no matter of time, and it is made
// once it may be.
func TestNoClaim(t *testing.T) {
	of := schema.GroupResource{Resource: "resourceclaims"}
	t.Run("forbidden", func(t *testing.T) { testNoClaim(t, apierrors.NewForbidden(of, "x", errors.New("exceeded quota")), 1) })
	t.Run("not found", func(t *testing.T) { testNoClaim(t, apierrors.NewNotFound(of, "x"), 0) })
}

func testNoClaim(t *testing.T, fault error, tell int) {
	t.Helper()
	template, pod := claims.Template, taskPod(1)
	pod.Spec.SchedulingGates = nil
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	pod.Annotations = api.Placement{Node: "n1", Device: "gpu-0", Address: "GPU-a", Reserved: 7}.Annotations()
	s, tries, made := newServer(pod), 0, false
	s.PrependReactor("create", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		tries++
		if made = tries > 8; made {
			return false, nil, nil
		}
		return true, nil, fault
	})
	s.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "status", pod, nil // the pod points to its claim, or is told
	})
	now, events := clock(), record.NewFakeRecorder(100)
	b, err := books.New(books.Config{Planner: newPlanner(t), Claims: true, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.New(controller.Config{Client: s, Books: b, Claims: true, Events: events, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Open()
	seconds := 0
	for ; !made && seconds < 600; seconds++ {
		if err := c.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if !made || seconds != 256 { // 1 + 2 + ... + 128 seconds, then the ninth
		t.Errorf("%d tries in %d seconds, made: %v, want the ninth after 255", tries, seconds, made)
	}
	for range 600 {
		if err := c.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if tries != 9 {
		t.Errorf("tried %d times, want none once it is made", tries)
	}
	told := 0
	for len(events.Events) > 0 {
		if e := <-events.Events; strings.Contains(e, "NoClaim") && strings.Contains(e, "exceeded quota") {
			told++
		}
	}
	if told != tell {
		t.Errorf("told %d times, want %d", told, tell)
	}
}
