package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// server is client-go's fake with what it lacks of an API server: resource versions and
// UIDs as preconditions of a patch, and that a decision cannot be changed.
type server struct {
	*fake.Clientset
	mu      sync.Mutex
	version int
	patches int
	// fault, if not nil, makes the n-th patch of pods (not of their status) fail: before
	// it is done, or after.
	fault func(n int) (before, after error)
	// statusFault, if not nil, makes a patch of a status fail.
	statusFault func() error
	// wrote is told each pod that was patched.
	wrote func(pod *corev1.Pod)
}

func newServer(objects ...runtime.Object) *server {
	s := &server{Clientset: fake.NewClientset(objects...), version: 1000}
	s.PrependReactor("patch", "pods", s.patch)
	return s
}

// errTimeout is what a client sees that gave up waiting.
var errTimeout = errors.New("net/http: request canceled (Client.Timeout exceeded while awaiting headers)")

func (s *server) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	action, ok := a.(clienttesting.PatchAction)
	if !ok {
		return false, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if action.GetSubresource() == "status" {
		if s.statusFault != nil {
			if err := s.statusFault(); err != nil {
				return true, nil, err
			}
		}
		return s.apply(action)
	}
	s.patches++
	var before, after error
	if s.fault != nil {
		before, after = s.fault(s.patches)
	}
	if before != nil {
		return true, nil, before
	}
	handled, pod, err := s.apply(action)
	if err == nil && after != nil {
		return true, nil, after
	}
	return handled, pod, err
}

// apply does what a merge patch of ours means. Unmarshal adds to maps and replaces
// lists, which is the same.
func (s *server) apply(action clienttesting.PatchAction) (bool, runtime.Object, error) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	object, err := s.Tracker().Get(pods, action.GetNamespace(), action.GetName())
	if err != nil {
		return true, nil, err
	}
	old, ok := object.(*corev1.Pod)
	if !ok {
		return true, nil, fmt.Errorf("%T is no pod", object)
	}
	var want corev1.Pod
	pod := old.DeepCopy()
	if err := errors.Join(json.Unmarshal(action.GetPatch(), &want), json.Unmarshal(action.GetPatch(), pod)); err != nil {
		return true, nil, err
	}
	if want.UID != "" && want.UID != old.UID || want.ResourceVersion != "" && want.ResourceVersion != old.ResourceVersion {
		return true, nil, apierrors.NewConflict(pods.GroupResource(), old.Name, errors.New("the object has been modified"))
	}
	if action.GetSubresource() == "status" {
		pod = old.DeepCopy()
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == want.Status.Conditions[0].Type })
		pod.Status.Conditions = append(pod.Status.Conditions, want.Status.Conditions...)
	} else if len(old.Spec.SchedulingGates) == 0 && want.Spec.Affinity != nil {
		return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, old.Name, nil)
	}
	s.version++
	pod.ResourceVersion = strconv.Itoa(s.version)
	if err := s.Tracker().Update(pods, pod, pod.Namespace); err != nil {
		return true, nil, err
	}
	if s.wrote != nil {
		s.wrote(pod)
	}
	return true, pod, nil
}

func gpuNode(name string, count int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.memory": "40960", "nvidia.com/gpu.count": strconv.Itoa(count),
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourcePods: resource.MustParse("110")}},
	}
}

func taskPod(n int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("task-%d", n), UID: types.UID(fmt.Sprintf("uid-%04d", n)), ResourceVersion: strconv.Itoa(n + 1),
			Labels: map[string]string{api.LabelTask: api.True}, CreationTimestamp: metav1.NewTime(time.Unix(int64(n), 0)),
		},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: api.Gate}}},
	}
}

func newPlanner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func newBooks(tb testing.TB, now func() time.Time) *books.Books {
	tb.Helper()
	b, err := books.New(books.Config{Planner: newPlanner(tb), Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// placed returns the card of each pod that the server has bound, and fails where two
// pods have one: all tasks of these tests run alone.
func (s *server) placed(tb testing.TB) map[string]string {
	tb.Helper()
	list, err := s.CoreV1().Pods("").List(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	on, by := map[string]string{}, map[string]string{}
	for i := range list.Items {
		pod := &list.Items[i]
		gpu := pod.Annotations[api.AnnotationGPU]
		if (gpu != "") != (len(pod.Spec.SchedulingGates) == 0) {
			tb.Errorf("%s has card %q and gates %v", pod.Name, gpu, pod.Spec.SchedulingGates)
		}
		if gpu == "" {
			continue
		}
		if by[gpu] != "" {
			tb.Errorf("%s and %s are both on %s", by[gpu], pod.Name, gpu)
		}
		by[gpu], on[pod.Name] = pod.Name, gpu
	}
	return on
}
