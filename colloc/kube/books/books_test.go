package books_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/profile"
)

const a100 = "NVIDIA-A100-SXM4-40GB"

// decide decides, demands no error, and tells each pod's card or reason.
func decide(t *testing.T, b *books.Books) (books.Round, map[string]string) {
	t.Helper()
	r, err := b.Decide(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if twice := saidTwice(r); twice != "" {
		t.Fatalf("%s is decided and waits, or waits for two reasons: %+v", twice, r)
	}
	said := map[string]string{}
	for _, d := range r.Decisions {
		said[d.Pod.Name] = d.At.GPU()
	}
	for _, f := range r.Refusals {
		said[f.Pod.Name] = f.Reason + ": " + f.Text
	}
	return r, said
}

// saidTwice is a pod of which a round says more than one thing, or "".
func saidTwice(r books.Round) string {
	said := map[types.UID]bool{}
	for _, d := range r.Decisions {
		if said[d.Pod.UID] {
			return d.Pod.Name
		}
		said[d.Pod.UID] = true
	}
	for _, f := range r.Refusals {
		if said[f.Pod.UID] {
			return f.Pod.Name
		}
		said[f.Pod.UID] = true
	}
	return ""
}

// written is the pod as it is once a decision was written.
func written(d books.Decision) *corev1.Pod {
	pod := d.Pod.DeepCopy()
	pod.ResourceVersion = "9" + pod.ResourceVersion
	pod.Spec.SchedulingGates = nil
	maps.Copy(pod.Annotations, d.At.Annotations())
	return pod
}

func TestShareAndAlone(t *testing.T) {
	b := open(t, 0, gpuNode("n1", a100, 40960, 2))
	b.SetPod(taskPod(3)) // nothing is known of it
	first, alone := decide(t, b)
	b.SetPod(taskPod(1, api.AnnotationProfile, "light"))
	b.SetPod(taskPod(2, api.AnnotationProfile, "light"))
	b.SetPod(taskPod(4, api.AnnotationProfile, "nobody"))
	r, said := decide(t, b)
	r.Decisions = append(r.Decisions, first.Decisions...)
	maps.Copy(said, alone)
	if said["task-1"] != said["task-2"] || !strings.HasPrefix(said["task-1"], "n1/gpu-") {
		t.Errorf("two light tasks should share a card: %v", said)
	}
	if len(r.Decisions) != 3 {
		t.Fatalf("%d decisions, want three tasks on two cards: %v", len(r.Decisions), said)
	}
	for _, d := range r.Decisions {
		if d.Pod.Name == "task-3" && (d.At.GPU() == said["task-1"] || !strings.Contains(d.Text, "names no Profile")) {
			t.Errorf("a task of which nothing is known runs alone and is told so: %v, %q", said, d.Text)
		}
	}
	if !strings.Contains(said["task-4"], `no Profile "nobody"`) {
		t.Errorf("the reason does not name the missing Profile: %q", said["task-4"])
	}
	if wrong := b.Check(); wrong != nil {
		t.Error(wrong)
	}
	if r, said := decide(t, b); len(said) > 0 || r.More {
		t.Errorf("decided again without any change: %v", said)
	}
}

// TestClockRuns: a clock goes on while it is decided, as real ones do.
func TestClockRuns(t *testing.T) {
	now := epoch
	b := opened(t, books.Config{Now: func() time.Time { now = now.Add(time.Microsecond); return now }}, gpuNode("n1", a100, 40960, 2))
	for i := range 3 {
		b.SetPod(taskPod(i, api.AnnotationProfile, "light"))
		if r, said := decide(t, b); len(r.Decisions) != 1 {
			t.Fatalf("pod %d: %v", i, said)
		}
	}
}

// TestRespected shows each thing on a node that keeps a pod off, and that without it the
// same pod is placed.
func TestRespected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spoil  func(n *corev1.Node, pod *corev1.Pod, b *books.Books)
		reason string
	}{
		{"nothing", func(*corev1.Node, *corev1.Pod, *books.Books) {}, ""},
		{"cordoned", func(n *corev1.Node, _ *corev1.Pod, _ *books.Books) { n.Spec.Unschedulable = true }, "1 is cordoned"},
		{"not ready", func(n *corev1.Node, _ *corev1.Pod, _ *books.Books) {
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
		}, "1 is not ready"},
		{"taint", func(n *corev1.Node, _ *corev1.Pod, _ *books.Books) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
		}, "1 taint team"},
		{"tolerated", func(n *corev1.Node, pod *corev1.Pod, _ *books.Books) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
		}, ""},
		{"cpu", func(_ *corev1.Node, pod *corev1.Pod, _ *books.Books) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("65")
		}, "1 too little cpu"},
		{"cpu of others", func(_ *corev1.Node, _ *corev1.Pod, b *books.Books) {
			other := taskPod(9)
			other.Spec.NodeName, other.Spec.SchedulingGates = "n1", nil
			other.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("63500m")
			b.SetPod(other)
		}, "1 too little cpu"},
		{"GPUs of others", func(_ *corev1.Node, _ *corev1.Pod, b *books.Books) {
			other := taskPod(9)
			other.Spec.NodeName, other.Spec.SchedulingGates = "n1", nil
			other.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
			b.SetPod(other)
		}, "1 runs GPU pods of others"},
		{"selector", func(_ *corev1.Node, pod *corev1.Pod, _ *books.Books) {
			pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "n2"}
		}, "1 node affinity or selector"},
		{"annotation", func(_ *corev1.Node, pod *corev1.Pod, _ *books.Books) { pod.Annotations[api.AnnotationMemory] = "much" }, "BadAnnotation: "},
		{"too much", func(_ *corev1.Node, pod *corev1.Pod, _ *books.Books) { pod.Annotations[api.AnnotationMemory] = "60Gi" }, "TooLarge: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := open(t, 0)
			n, pod := gpuNode("n1", a100, 40960, 1), taskPod(1, api.AnnotationProfile, "light")
			tt.spoil(n, pod, b)
			b.SetNode(n)
			b.SetPod(pod)
			_, said := decide(t, b)
			if tt.reason == "" && said["task-1"] != "n1/gpu-0" || !strings.Contains(said["task-1"], tt.reason) {
				t.Errorf("got %q, want %q", said["task-1"], tt.reason)
			}
		})
	}
}

func TestGatesOfOthers(t *testing.T) {
	b := open(t, 0, gpuNode("n1", a100, 40960, 1))
	pod := taskPod(1, api.AnnotationProfile, "light")
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/admission"})
	b.SetPod(pod)
	if _, said := decide(t, b); len(said) > 0 {
		t.Errorf("decided about a pod that Kueue holds: %v", said)
	}
	ours := taskPod(1, api.AnnotationProfile, "light")
	ours.ResourceVersion = "200000"
	b.SetPod(ours)
	if _, said := decide(t, b); said["task-1"] != "n1/gpu-0" {
		t.Errorf("our gate is the last, and still: %v", said)
	}
}

func TestNamespaces(t *testing.T) {
	for _, tt := range []struct {
		share  []string
		shared bool
	}{{nil, false}, {[]string{"default+team"}, true}, {[]string{"*"}, true}, {[]string{"team+else"}, false}} {
		t.Run(fmt.Sprint(tt.share), func(t *testing.T) {
			b := openShared(t, tt.share, gpuNode("n1", a100, 40960, 1))
			pod := taskPod(2, api.AnnotationProfile, "light")
			pod.Namespace = "team"
			b.SetPod(taskPod(1, api.AnnotationProfile, "light"))
			b.SetPod(pod)
			r, said := decide(t, b)
			if (len(r.Decisions) == 2) != tt.shared {
				t.Errorf("got %v, want shared %v", said, tt.shared)
			}
			for _, f := range r.Refusals {
				if strings.Contains(f.Text, "uid-") || strings.Contains(f.Text, "task-1") {
					t.Errorf("the reason tells of a pod of another namespace: %q", f.Text)
				}
			}
		})
	}
}

// TestEndsWhileWritten: the card of a pod that ends while its decision is written is
// free once the write is over, whatever became of it.
func TestEndsWhileWritten(t *testing.T) {
	for _, o := range []books.Outcome{books.Written, books.Refused, books.Unclear} {
		b := open(t, 0, gpuNode("n1", a100, 40960, 1))
		b.SetPod(taskPod(1))
		r, _ := decide(t, b)
		b.DropPod(r.Decisions[0].Pod.UID)
		if n := len(b.Cards()[0].Tasks); n != 1 {
			t.Fatalf("%d tasks while the write is under way, want 1", n)
		}
		if err := b.Finish(r.Decisions[0].Pod.UID, o, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Cards()[0].Tasks); n != 0 || b.Check() != nil || len(b.Tasks()) != 0 {
			t.Errorf("after outcome %d: %d tasks, books %v, pods %v", o, n, b.Check(), b.Tasks())
		}
	}
}

func TestNodeGoesAndComesBack(t *testing.T) {
	b := open(t, 0, gpuNode("n1", a100, 40960, 1))
	b.SetPod(taskPod(1))
	r, _ := decide(t, b)
	if err := b.Finish("uid-000001", books.Written, written(r.Decisions[0])); err != nil {
		t.Fatal(err)
	}
	b.DropNode("n1")
	if said := b.Unsaid(); len(said) != 1 || said[0].Pod.Name != "task-1" || said[0].Reason != books.CardGone {
		t.Errorf("to be said is %+v, want that task-1 has lost its card", said)
	}
	b.SetPod(taskPod(2))
	if _, said := decide(t, b); !strings.Contains(said["task-2"], "no node has a GPU") {
		t.Errorf("placed on a node that is gone: %v", said)
	}
	b.SetNode(gpuNode("n1", a100, 40960, 1))
	if _, said := decide(t, b); len(b.Unsaid()) != 1 || b.Unsaid()[0].Reason != books.Placed || !strings.HasPrefix(said["task-2"], "GpusTaken") {
		t.Errorf("the node is back with its task: %v, %v", b.Unsaid(), said)
	}
	b.SetNode(gpuNode("n1", a100, 40960, 2)) // a card was added
	if _, said := decide(t, b); said["task-2"] != "n1/gpu-1" || b.Check() != nil {
		t.Errorf("got %v and %v, want the new card", said, b.Check())
	}
}

// TestRebuilt: books that are opened anew on the same objects say the same.
func TestRebuilt(t *testing.T) {
	node := gpuNode("n1", a100, 40960, 4)
	b := open(t, 0, node)
	for i := range 6 {
		b.SetPod(taskPod(i, api.AnnotationProfile, []string{"light", "heavy"}[i%2]))
	}
	r, _ := decide(t, b)
	again := open(t, 0, node)
	for _, d := range r.Decisions {
		if err := b.Finish(d.Pod.UID, books.Written, written(d)); err != nil {
			t.Fatal(err)
		}
		again.SetPod(written(d))
	}
	again.Open()
	got, want := fmt.Sprint(again.Cards()), fmt.Sprint(b.Cards())
	if len(r.Decisions) < 4 || got != want || again.Check() != nil {
		t.Errorf("rebuilt are\n%s\nwant\n%s\n%v", got, want, again.Check())
	}
}

// TestOrder: higher priority first, then age; and one that cannot be placed does not
// hold up those behind it.
func TestOrder(t *testing.T) {
	b := open(t, 1, gpuNode("n1", a100, 40960, 1))
	large := taskPod(1, api.AnnotationMemory, "70Gi")
	urgent := taskPod(3)
	priority := int32(10)
	urgent.Spec.Priority = &priority
	b.SetPod(large)
	b.SetPod(taskPod(2))
	b.SetPod(urgent)
	var order []string
	for range 3 {
		r, said := decide(t, b)
		for name := range said {
			order = append(order, name)
		}
		if r.More != (len(order) < 3) {
			t.Errorf("More is %v after %v", r.More, order)
		}
	}
	if want := []string{"task-3", "task-1", "task-2"}; !slices.Equal(order, want) {
		t.Errorf("decided in the order %v, want %v", order, want)
	}
}

// TestNodeFills: the Planner may choose a node for more pods than its CPUs can take;
// those left over go elsewhere in the same round.
func TestNodeFills(t *testing.T) {
	b := open(t, 0, gpuNode("n1", a100, 40960, 4), gpuNode("n2", a100, 40960, 4))
	for i := range 8 {
		pod := taskPod(i)
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("20")
		b.SetPod(pod)
	}
	r, said := decide(t, b)
	per := map[string]int{}
	for _, d := range r.Decisions {
		per[d.At.Node]++
	}
	if per["n1"] != 3 || per["n2"] != 3 || len(r.Refusals) != 2 {
		t.Errorf("64 CPUs take three pods of 20 each: %v, %v", per, said)
	}
	for _, f := range r.Refusals {
		if f.Reason != books.NoNode || !strings.Contains(f.Text, "2 too little cpu") {
			t.Errorf("%s waits for %q", f.Pod.Name, f.Text)
		}
	}
}

// A pod that is placed and loses its label holds its card until it ends; one that waits is
// no pod of colloc's any more.
func TestLabelGone(t *testing.T) {
	b := open(t, 0, gpuNode("n1", "NVIDIA-A100-SXM4-40GB", 40960, 1))
	runs, waits := taskPod(1, api.AnnotationAlone, api.True), taskPod(2, api.AnnotationAlone, api.True)
	maps.Copy(runs.Annotations, api.Placement{Node: "n1", Device: "gpu-0", Address: "0", Reserved: 30 * profile.GiB}.Annotations())
	runs.Spec.SchedulingGates, runs.Spec.NodeName = nil, "n1"
	b.SetPod(runs)
	b.SetPod(waits)
	for _, pod := range []*corev1.Pod{runs, waits} {
		bare := pod.DeepCopy()
		bare.Labels, bare.ResourceVersion = nil, "200000"
		b.SetPod(bare)
	}
	if c := b.Cards()[0]; len(c.Tasks) != 1 || c.Reserved != 30*profile.GiB || c.Over != "" || len(b.Tasks()) != 1 || b.Check() != nil {
		t.Errorf("without labels: %+v, %d tasks, %v", c, len(b.Tasks()), b.Check())
	}
	forged := taskPod(3)
	forged.Annotations, forged.Spec = runs.Annotations, runs.Spec
	b.SetPod(forged)
	if c := b.Cards()[0]; c.Over != "memory" {
		t.Errorf("60 of 40 GiB: %+v", c)
	}
	b.DropPod(runs.UID)
	b.DropPod(forged.UID)
	if c := b.Cards()[0]; len(c.Tasks) != 0 || c.Reserved != 0 {
		t.Errorf("the pods are gone, and %+v holds some", c)
	}
}

// A node that tells of itself and has nothing new makes nobody try again who waits.
func TestHeartbeat(t *testing.T) {
	n := gpuNode("n1", a100, 40960, 1)
	b := open(t, 0, n)
	b.SetPod(taskPod(1, api.AnnotationMemory, "60Gi"))
	if r, _ := decide(t, b); len(r.Refusals) != 1 {
		t.Fatalf("%+v, want one refusal", r)
	}
	for _, tt := range []struct {
		change func(*corev1.Node)
		tries  int
	}{
		{func(n *corev1.Node) {
			n.ResourceVersion, n.Status.Conditions[0].LastHeartbeatTime = "9", metav1.NewTime(epoch)
		}, 0},
		{func(n *corev1.Node) { n.Labels["a"] = "b" }, 1},
		{func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("64000m") }, 0}, // the same
		{func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("63") }, 1},
		{func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, 1},
	} {
		n = n.DeepCopy()
		tt.change(n)
		b.SetNode(n)
		if r, _ := decide(t, b); len(r.Refusals) != tt.tries {
			t.Errorf("%+v: %d tries, want %d", n, len(r.Refusals), tt.tries)
		}
	}
}

// What the scheduler would refuse for the pods that are there, nobody is placed on: pods that must be apart are on
// nodes of their own or wait with no card held, and go on when one is free.
func TestCompany(t *testing.T) {
	keepApart := func(p *corev1.Pod) {
		p.Labels["app"] = "x"
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, TopologyKey: corev1.LabelHostname},
		}}}
	}
	takePort := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	}
	spread := func(p *corev1.Pod) {
		p.Labels["app"] = "x"
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		}}
	}
	for _, tt := range []struct {
		name   string
		change func(*corev1.Pod)
		most   int // on a node
		why    string
	}{{"apart", keepApart, 1, "2 anti-affinity between pods"}, {"port", takePort, 1, "2 a pod there has its host port"}, {"spread", spread, 2, ""}} {
		t.Run(tt.name, func(t *testing.T) {
			b := open(t, 0, gpuNode("n1", a100, 40960, 4), gpuNode("n2", a100, 40960, 4))
			for i := range 3 {
				p := taskPod(i)
				tt.change(p)
				b.SetPod(p)
			}
			r, said := decide(t, b)
			on := map[string]int{}
			for _, d := range r.Decisions {
				on[d.At.Node]++
			}
			if len(on) != 2 || on["n1"] > tt.most || on["n2"] > tt.most {
				t.Fatalf("%v", said)
			}
			for _, f := range r.Refusals {
				if f.Reason != books.NoNode || !strings.Contains(f.Text, tt.why) {
					t.Errorf("%s waits for %s %q", f.Pod.Name, f.Reason, f.Text)
				}
			}
			write(t, b, r)
			b.DropPod(r.Decisions[0].Pod.UID)
			if again, said := decide(t, b); len(r.Decisions)+len(again.Decisions) != 3 {
				t.Errorf("one is gone, and %v", said)
			}
		})
	}
}

// A pod whose volume is elsewhere goes there, and one whose claim is not there waits until it is.
func TestVolumes(t *testing.T) {
	there := map[string]string{"data": "n2"}
	b := opened(t, books.Config{Volumes: func(_ string, claims []string, n *corev1.Node) string {
		if there[claims[0]] != n.Name {
			return "its volume is elsewhere"
		}
		return ""
	}}, gpuNode("n1", a100, 40960, 4), gpuNode("n2", a100, 40960, 4))
	for i, name := range []string{"data", "late"} {
		p := taskPod(i)
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		b.SetPod(p)
	}
	if _, said := decide(t, b); !strings.HasPrefix(said["task-0"], "n2/") || !strings.Contains(said["task-1"], "2 its volume is elsewhere") {
		t.Fatalf("%v", said)
	}
	there["late"] = "n1"
	b.Reconsider()
	if _, said := decide(t, b); !strings.HasPrefix(said["task-1"], "n1/") {
		t.Errorf("%v", said)
	}
}
