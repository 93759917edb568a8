package books_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
)

// offered are GPUs of a node that a DRA driver offers, to several claims or to one.
func offered(node string, several bool, names ...string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: nodes.Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: "pool-" + node, Generation: 1, ResourceSliceCount: 1},
	}}
	for _, name := range names {
		uuid, product := "GPU-"+node+name, "NVIDIA A100-SXM4-40GB"
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: name, AllowMultipleAllocations: &several,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuid}, "productName": {StringValue: &product}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}},
		})
	}
	return s
}

func claimant(n int) *corev1.Pod {
	template, pod := claims.Template, taskPod(n)
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	return pod
}

// refused makes a pod that is placed one that the scheduler has refused, as the API server
// shows it: the time is that of the gate, for the status has been False since.
func refused(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ResourceVersion = "8" + pod.ResourceVersion
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: pod.CreationTimestamp,
	})
	return pod
}

func TestClaimedCards(t *testing.T) {
	b := opened(t, books.Config{Claims: true}, gpuNode("n1", a100, 40960, 1), gpuNode("n2", a100, 40960, 2), gpuNode("n3", a100, 40960, 1))
	for _, s := range []*resourcev1.ResourceSlice{offered("n2", true, "gpu-0", "gpu-1"), offered("n3", false, "gpu-0")} {
		b.SetSlice(s)
	}
	theirs := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{UID: "c-1"}}
	theirs.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Driver: nodes.Driver, Pool: "pool-n2", Device: "gpu-0"},
	}}}
	b.SetClaim(theirs)
	b.SetPod(claimant(1))
	b.SetPod(claimant(2))
	b.SetPod(taskPod(3))
	_, said := decide(t, b)
	if said["task-1"] != "n2/gpu-1" {
		t.Errorf("placed on %q, want the one card that claims share and nobody else holds", said["task-1"])
	}
	for pod, want := range map[string]string{"task-2": "of 1 cards: a ResourceClaim of somebody else holds it", "task-3": "BadClaim: "} {
		if !strings.Contains(said[pod], want) {
			t.Errorf("%s was told %q, want %q", pod, said[pod], want)
		}
	}
	b.DropClaim("c-1")
	if _, said := decide(t, b); said["task-2"] != "n2/gpu-0" {
		t.Errorf("the card that is free again is not used: %v", said)
	}
	annotating := open(t, 0, gpuNode("n1", a100, 40960, 1))
	annotating.SetPod(claimant(1))
	if _, said := decide(t, annotating); !strings.HasPrefix(said["task-1"], "BadClaim: ") {
		t.Errorf("a pod that would wait for its claim for ever is %q", said["task-1"])
	}
}

// TestLeave: a pod that the scheduler refuses is decided again, elsewhere; events of what
// it was before, and a restart, change nothing.
func TestLeave(t *testing.T) {
	now := epoch.Add(time.Hour) // the pod has had its gate for long
	b, err := books.New(books.Config{Planner: planner(t), Claims: true, Unpinned: true, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1", "n2"} {
		b.SetNode(gpuNode(name, a100, 40960, 2))
		b.SetSlice(offered(name, true, "gpu-0", "gpu-1"))
	}
	b.Open()
	b.SetPod(claimant(1))
	r, said := decide(t, b)
	first := written(r.Decisions[0])
	if err := b.Finish("uid-000001", books.Written, first); err != nil || len(b.Unclaimed()) != 1 {
		t.Fatalf("%v; %v, want that its claim is missing", err, b.Unclaimed())
	}
	first.Status.ResourceClaimStatuses = claims.Status(first, r.Decisions[0].At)
	b.SetPod(refused(first))
	now = now.Add(30 * time.Second)
	if len(b.Unclaimed()) != 0 || len(b.Stuck()) != 0 {
		t.Fatalf("unclaimed %v, stuck %v, want nothing so early", b.Unclaimed(), b.Stuck())
	}
	now = now.Add(2 * time.Minute)
	if len(b.Stuck()) != 1 {
		t.Fatal("a pod that the scheduler refuses for two minutes is not stuck")
	}
	b.Leave("uid-000001")
	b.SetPod(refused(refused(first))) // an event of before
	r, again := decide(t, b)
	if again["task-1"] == "" || again["task-1"][:2] == said["task-1"][:2] || r.Decisions[0].Left.GPU() != said["task-1"] {
		t.Fatalf("decided %v after %v, want another node", again, said)
	}
	if err := b.Finish("uid-000001", books.Refused, nil); err != nil || b.Check() != nil || b.Pending() != 1 {
		t.Fatalf("%v, %v, %d wait, want that it waits again after a write that was refused", err, b.Check(), b.Pending())
	}
	now = now.Add(time.Hour) // it may go back after a while
	b.Reopen()
	r, _ = decide(t, b)
	moved := written(r.Decisions[0])
	moved.ResourceVersion = "9" + moved.ResourceVersion
	if err := b.Finish("uid-000001", books.Written, moved); err != nil {
		t.Fatal(err)
	}
	b.SetPod(refused(moved)) // the condition of before
	now = now.Add(30 * time.Second)
	if len(b.Stuck()) != 0 {
		t.Error("one refusal makes a pod leave the next node too")
	}
	b.Leave("uid-000001")
	bound := moved.DeepCopy()
	bound.ResourceVersion, bound.Spec.NodeName = "9"+bound.ResourceVersion, r.Decisions[0].At.Node
	b.SetPod(bound) // the scheduler was faster
	if b.Check() != nil || b.Pending() != 0 {
		t.Errorf("%v, %d wait, want it where it runs", b.Check(), b.Pending())
	}
}

// A pod that will not start where it is placed is given up after a while, if somebody
// makes another; what is made goes elsewhere where the scheduler refused it, and back
// after a while. Nobody makes a bare pod anew: it keeps its card.
func TestStuck(t *testing.T) {
	now := epoch
	b, err := books.New(books.Config{Planner: planner(t), Profile: profiles(t), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1", "n2"} {
		b.SetNode(gpuNode(name, a100, 40960, 2))
	}
	b.Open()
	owned := func(n int) *corev1.Pod {
		yes, pod := true, taskPod(n)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", UID: "job", Controller: &yes}}
		return pod
	}
	place := func(pod *corev1.Pod) (string, *corev1.Pod) {
		t.Helper()
		b.SetPod(pod)
		r, said := decide(t, b)
		if len(r.Decisions) != 1 {
			t.Fatalf("%v, want one decision", said)
		}
		p := written(r.Decisions[0])
		if err := b.Finish(pod.UID, books.Written, p); err != nil {
			t.Fatal(err)
		}
		return r.Decisions[0].At.Node, p
	}
	_, bare := place(taskPod(1))
	on, job := place(owned(2))
	b.SetPod(refused(bare))
	b.SetPod(refused(job))
	if len(b.Stuck()) != 0 {
		t.Fatal("given up at once")
	}
	now = now.Add(2 * time.Minute)
	stuck := b.Stuck()
	if len(stuck) != 1 || stuck[0].Pod.Name != "task-2" || stuck[0].Reason != books.NodeRefuses {
		t.Fatalf("stuck are %+v, want the pod of the Job", stuck)
	}
	b.Shun("uid-000002")
	b.DropPod("uid-000002")
	forged := owned(9) // another namespace's that names the same owner
	forged.Namespace = "other"
	if other, p := place(forged); other != on {
		t.Errorf("a pod of another namespace goes to %s, want %s, which refused it nothing", other, on)
	} else {
		b.DropPod(p.UID)
	}
	next, again := place(owned(3))
	if next == on {
		t.Errorf("the next pod of the Job goes to %s again, which refused the last", next)
	}
	b.DropNode(next)
	b.Stuck() // it notes since when the card is gone
	now = now.Add(2 * time.Minute)
	if stuck = b.Stuck(); len(stuck) != 1 || stuck[0].Pod.UID != again.UID || stuck[0].Reason != books.CardGone {
		t.Fatalf("stuck are %+v, want the pod whose card is gone", stuck)
	}
	b.Shun(again.UID)
	b.DropPod(again.UID)
	b.SetPod(owned(4))
	if _, said := decide(t, b); !strings.Contains(said["task-4"], "1 the scheduler refused it there") {
		t.Errorf("told %q, want that the one node left refuses it", said["task-4"])
	}
	now = now.Add(time.Hour)
	b.Reopen()
	if _, said := decide(t, b); !strings.HasPrefix(said["task-4"], on+"/") {
		t.Errorf("told %q, want %s, which may take it by now", said["task-4"], on)
	}
}
