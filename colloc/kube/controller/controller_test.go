package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/controller"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/internal/race"
)

func clock() time.Time { return time.Unix(1_800_000_000, 0) }

// newController works on a server by hand: no watches, no pauses.
func newController(tb testing.TB, s *server, now func() time.Time, events record.EventRecorder) (*controller.Controller, *books.Books) {
	tb.Helper()
	b := newBooks(tb, now)
	c, err := controller.New(controller.Config{Client: s, Books: b, Now: now, Events: events, Pause: func(context.Context, int) {}})
	if err != nil {
		tb.Fatal(err)
	}
	return c, b
}

func TestBindAndSay(t *testing.T) {
	s := newServer(taskPod(1), taskPod(2))
	events := record.NewFakeRecorder(10)
	c, b := newController(t, s, clock, events)
	b.SetNode(gpuNode("n1", 1))
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Open()
	if err := c.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if on := s.placed(t); len(on) != 1 || on["task-1"] != "n1/gpu-0" {
		t.Fatalf("placed are %v, want the older task", on)
	}
	for name, want := range map[string]string{"task-1": "True Placed on n1/gpu-0 alone", "task-2": "False GpusTaken"} {
		pod, err := s.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		said := pods.Said(pod)
		if said == nil || !strings.HasPrefix(fmt.Sprintf("%s %s %s", said.Status, said.Reason, said.Message), want) {
			t.Errorf("%s was told %+v, want %q", name, said, want)
		}
	}
	if n := len(events.Events); n != 2 {
		t.Errorf("%d Events, want one for each pod", n)
	}
	before := len(s.Actions())
	if err := c.Step(t.Context()); err != nil || len(s.Actions()) != before {
		t.Errorf("without any change %d requests were sent; %v", len(s.Actions())-before, err)
	}
}

// TestFaults: of the writes 40 % fail, refused or with their answer lost; still each pod
// is placed once, on a card of its own, and the books agree.
func TestFaults(t *testing.T) {
	n, seeds := 60, uint64(5)
	if race.Enabled {
		n, seeds = 16, 2
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := newServer()
			for i := range n {
				if err := s.Tracker().Add(taskPod(i)); err != nil {
					t.Fatal(err)
				}
			}
			resource := schema.GroupResource{Resource: "pods"}
			s.fault = func(int) (before, after error) {
				faults := []error{
					apierrors.NewConflict(resource, "x", errors.New("modified")), apierrors.NewTooManyRequests("later", 1),
					apierrors.NewInternalError(errors.New("etcd")), errTimeout, context.DeadlineExceeded,
				}
				switch random.IntN(10) {
				case 0, 1:
					return faults[random.IntN(len(faults))], nil
				case 2, 3:
					return nil, faults[2+random.IntN(3)]
				}
				return nil, nil
			}
			var mu sync.Mutex
			now := clock()
			c, b := newController(t, s, func() time.Time { mu.Lock(); defer mu.Unlock(); return now }, nil)
			for i := range n / 4 {
				b.SetNode(gpuNode(fmt.Sprintf("n%d", i), 4))
			}
			if err := c.Reread(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.Open()
			for round := 0; len(s.placed(t)) < n || len(b.Unclear()) > 0; round++ {
				if round > 200 {
					t.Fatalf("%d of %d are placed after %d rounds", len(s.placed(t)), n, round)
				}
				if err := c.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				now = now.Add(time.Minute)
				mu.Unlock()
			}
			if wrong := b.Check(); wrong != nil {
				t.Error(wrong)
			}
			for _, card := range b.Cards() {
				if len(card.Tasks) != 1 {
					t.Errorf("the books have %d tasks on %s, want 1", len(card.Tasks), card.ID)
				}
			}
		})
	}
}

// TestSaidAgain: a condition that was not written, because its write failed or its writer
// was killed, is written later.
func TestSaidAgain(t *testing.T) {
	orphan := taskPod(2) // bound by somebody who was killed then
	orphan.Spec.SchedulingGates = nil
	orphan.Annotations = api.Placement{Node: "n1", Device: "gpu-1", Address: "1", Reserved: 7}.Annotations()
	lost := taskPod(3) // for a card that left before the pod ran
	lost.Spec.SchedulingGates = nil
	lost.Annotations = api.Placement{Node: "n9", Device: "gpu-0", Address: "0", Reserved: 7}.Annotations()
	full := taskPod(4) // for a node that another has filled, as the scheduler says for long
	full.Spec.SchedulingGates = nil
	full.Annotations = api.Placement{Node: "n1", Device: "gpu-2", Address: "2", Reserved: 7}.Annotations()
	full.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "Insufficient cpu"}}
	s := newServer(taskPod(1), orphan, lost, full)
	fails := 4 * 4
	s.statusFault = func() error {
		if fails--; fails >= 0 {
			return []error{apierrors.NewInternalError(errors.New("etcd")), apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "x", errors.New("modified"))}[fails%2]
		}
		return nil
	}
	now := clock()
	c, b := newController(t, s, func() time.Time { return now }, nil)
	b.SetNode(gpuNode("n1", 3))
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Open()
	if err := c.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if err := c.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"task-1": "True Placed", "task-2": "True Placed", "task-3": "False CardGone", "task-4": "False NodeRefuses"} {
		pod, err := s.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if said := pods.Said(pod); said == nil || string(said.Status)+" "+said.Reason != want {
			t.Errorf("%s was told %+v, want %s", name, said, want)
		}
	}
	before := len(s.Actions())
	if err := c.Step(t.Context()); err != nil || len(s.Actions()) != before {
		t.Errorf("what is said is said again: %d requests; %v", len(s.Actions())-before, err)
	}
}

// TestShadow decides, records and binds nothing; a new process knows what it recorded.
func TestShadow(t *testing.T) {
	running := taskPod(1)
	running.Spec.SchedulingGates, running.Spec.NodeName = nil, "n1"
	s := newServer(running, taskPod(2))
	for range 2 {
		b, err := books.New(books.Config{Planner: newPlanner(t), Now: clock, Shadow: true})
		if err != nil {
			t.Fatal(err)
		}
		c, err := controller.New(controller.Config{Client: s, Books: b, Now: clock, Shadow: true})
		if err != nil {
			t.Fatal(err)
		}
		b.SetNode(gpuNode("n1", 2))
		if err := c.Reread(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Open()
		if err := c.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Cards()[0].Tasks) + len(b.Cards()[1].Tasks); n != 2 || b.Check() != nil {
			t.Errorf("%d tasks in the books, want 2; %v", n, b.Check())
		}
	}
	if s.patches != 2 {
		t.Errorf("%d patches, want one for each pod and none by the second process", s.patches)
	}
	for _, want := range []*corev1.Pod{running, taskPod(2)} {
		pod, err := s.CoreV1().Pods("default").Get(t.Context(), want.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Annotations[api.AnnotationShadow] == "" || pod.Annotations[api.AnnotationGPU] != "" || len(pod.Spec.SchedulingGates) != len(want.Spec.SchedulingGates) || pod.Spec.Affinity != nil {
			t.Errorf("%s has annotations %v, gates %v, affinity %v", pod.Name, pod.Annotations, pod.Spec.SchedulingGates, pod.Spec.Affinity)
		}
	}
}

// TestAnotherDecider: somebody else places a pod between our decision and our write. The
// API server's word counts.
func TestAnotherDecider(t *testing.T) {
	s := newServer(taskPod(1))
	c, b := newController(t, s, clock, nil)
	b.SetNode(gpuNode("n1", 2))
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Open()
	theirs := taskPod(1)
	theirs.ResourceVersion, theirs.Spec.SchedulingGates = "500", nil
	theirs.Annotations = api.Placement{Node: "n1", Device: "gpu-1", Address: "1", Reserved: 7}.Annotations()
	if err := s.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, theirs, "default"); err != nil {
		t.Fatal(err)
	}
	if err := c.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	cards := b.Cards()
	if len(cards[0].Tasks) != 0 || len(cards[1].Tasks) != 1 || cards[1].Reserved != 7 || b.Check() != nil || b.Drift() != 1 {
		t.Errorf("the books say %+v, %v, want the pod where the API server has it", cards, b.Check())
	}
}

// TestRefusedForever: what the API server refuses is not sent again at once.
func TestRefusedForever(t *testing.T) {
	s := newServer(taskPod(1))
	s.fault = func(int) (before, after error) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "task-1", errors.New("no rights")), nil
	}
	c, b := newController(t, s, clock, nil)
	b.SetNode(gpuNode("n1", 1))
	if err := c.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Open()
	for range 10 {
		if err := c.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.patches != 1 || len(b.Cards()[0].Tasks) != 0 {
		t.Errorf("%d patches and %v, want one try and a free card", s.patches, b.Cards())
	}
}

// TestRun watches: pods that come later are placed, a pod that ends makes room.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(gpuNode("n1", 1), taskPod(1))
		c, b := newController(t, s, time.Now, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(10*time.Second, func() {
			if on := s.placed(t); on["task-1"] == "" {
				t.Errorf("after ten seconds placed are %v", on)
			}
			if _, err := s.CoreV1().Pods("default").Create(ctx, taskPod(2), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(20*time.Second, func() {
			if on := s.placed(t); on["task-2"] != "" {
				t.Errorf("the card holds two: %v", on)
			}
			if err := s.CoreV1().Pods("default").Delete(ctx, "task-1", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		if err := c.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run returned %v, want that its time is over", err)
		}
		if on := s.placed(t); on["task-2"] != "n1/gpu-0" || b.Check() != nil {
			t.Errorf("placed are %v; %v", on, b.Check())
		}
	})
}

// TestTakeOver: of two replicas one decides; when it ends, the other takes over with the
// same books.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(gpuNode("n1", 3), taskPod(1))
		var lead, takeover time.Duration
		start := time.Now()
		s.wrote = func(pod *corev1.Pod) {
			switch {
			case pod.Name == "task-1" && lead == 0:
				lead = time.Since(start)
			case pod.Name == "task-2" && takeover == 0:
				takeover = time.Since(start)
			}
		}
		first, _ := newController(t, s, time.Now, nil)
		second, b := newController(t, s, time.Now, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		short, end := context.WithTimeout(ctx, 30*time.Second)
		defer end()
		var done sync.WaitGroup
		done.Go(func() {
			if err := first.Run(short, &controller.Election{Namespace: "colloc-system", Identity: "a"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first returned %v", err)
			}
			if _, err := s.CoreV1().Pods("default").Create(ctx, taskPod(2), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(5*time.Second, func() {
			done.Go(func() {
				_ = second.Run(ctx, &controller.Election{Namespace: "colloc-system", Identity: "b"})
			})
		})
		<-ctx.Done()
		done.Wait()
		if on := s.placed(t); len(on) != 2 || b.Check() != nil {
			t.Errorf("placed are %v; %v", on, b.Check())
		}
		// It looks every 2 to 4.4 s: after the last renewal, and after the 15 s of the Lease.
		if lead > 5*time.Second || takeover < 30*time.Second || takeover > 55*time.Second {
			t.Errorf("led after %v, took over after %v, want at once and within 25 s of the end at 30 s", lead, takeover)
		}
	})
}
