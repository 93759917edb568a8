package nodes

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"example.com/colloc/colloc/kube/api"
)

// Amounts are resources by name: cpu in thousandths, the others in their units.
type Amounts map[corev1.ResourceName]int64

// Add adds n times b.
func (a Amounts) Add(b Amounts, n int64) {
	for name, x := range b {
		if a[name] += n * x; a[name] == 0 {
			delete(a, name)
		}
	}
}

func amounts(list corev1.ResourceList) Amounts {
	a := make(Amounts, len(list)+1)
	for name, q := range list {
		if name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		} else {
			a[name] = q.Value()
		}
	}
	return a
}

// Requests are what a pod asks of its node: what the scheduler counts, and one pod.
func Requests(pod *corev1.Pod) Amounts {
	a := amounts(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	a[corev1.ResourcePods] = 1
	return a
}

// GPUs is how many of NVIDIA's devices a pod asks of the device plugin.
func (a Amounts) GPUs() int64 {
	n := int64(0)
	for name, x := range a {
		if strings.HasPrefix(string(name), "nvidia.com/") {
			n += x
		}
	}
	return n
}

// Node is what a node offers to pods, beside its cards.
type Node struct {
	node        *corev1.Node
	allocatable Amounts
	plain       bool // it has no taint that could keep a pod off
}

// New returns what a node offers.
func New(node *corev1.Node) *Node {
	n := &Node{node: node, allocatable: amounts(node.Status.Allocatable), plain: true}
	for i := range node.Spec.Taints {
		n.plain = n.plain && !hard(&node.Spec.Taints[i])
	}
	return n
}

func hard(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// Taint is the key of the first taint of a node that keeps off a pod with these tolerations; empty is that none does.
func Taint(node *corev1.Node, tolerations []corev1.Toleration) string {
	t, _ := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, tolerations, hard, false)
	return t.Key
}

// Name is the node's name.
func (n *Node) Name() string { return n.node.Name }

// Plugin reports whether a device plugin hands out GPUs of the node.
func (n *Node) Plugin() bool { return n.allocatable["nvidia.com/gpu"] > 0 }

// Closed says why nobody is placed there: it is cordoned, not ready or about to go;
// empty is open.
func (n *Node) Closed() string {
	switch {
	case n.node.DeletionTimestamp != nil:
		return "is being deleted"
	case n.node.Spec.Unschedulable:
		return "is cordoned"
	}
	for i := range n.node.Status.Conditions {
		if c := &n.node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "is not ready"
		}
	}
	return ""
}

// Same reports whether two states of a node are one for collocd: a heartbeat changes
// nothing of what it reads.
func Same(a, b *corev1.Node) bool {
	x, y := Trim(a), Trim(b)
	x.ResourceVersion = y.ResourceVersion
	return equality.Semantic.DeepEqual(x, y)
}

// Trim returns what collocd needs of a node.
func Trim(node *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels, DeletionTimestamp: node.DeletionTimestamp,
	}}
	out.Spec.Taints, out.Spec.Unschedulable = node.Spec.Taints, node.Spec.Unschedulable
	out.Status.Allocatable = node.Status.Allocatable
	if uuids, set := node.Annotations[api.AnnotationUUIDs]; set {
		out.Annotations = map[string]string{api.AnnotationUUIDs: uuids}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			out.Status.Conditions = []corev1.NodeCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	return out
}

// Shape is what a pod asks of a node. Pods of one Shape fit on the same nodes.
type Shape struct {
	selector    nodeaffinity.RequiredNodeAffinity
	any         bool // every node matches the selector
	tolerations []corev1.Toleration
	not         map[string]string // nodes that do not take it, and why
	// Requests are what it asks for.
	Requests Amounts
	// Key is equal for equal shapes.
	Key string
}

// ShapeOf returns what a pod asks of a node.
func ShapeOf(pod *corev1.Pod) *Shape {
	s := &Shape{selector: nodeaffinity.GetRequiredNodeAffinity(pod), tolerations: pod.Spec.Tolerations, Requests: Requests(pod)}
	a := pod.Spec.Affinity
	s.any = len(pod.Spec.NodeSelector) == 0 && (a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil)
	var key strings.Builder
	fmt.Fprint(&key, pod.Spec.NodeSelector, s.Requests) // package fmt sorts maps
	if !s.any && a != nil && a.NodeAffinity != nil {
		key.WriteString(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.String())
	}
	for i := range s.tolerations {
		key.WriteString(s.tolerations[i].String())
	}
	s.Key = key.String()
	return s
}

// Without returns the shape of a pod that some nodes do not take. They come with their
// reasons, which are no matter of these nodes alone.
func (s *Shape) Without(nodes map[string]string) *Shape {
	if len(nodes) == 0 {
		return s
	}
	out := *s
	out.not = nodes
	h := fnv.New128a()
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		_, _ = io.WriteString(h, name+"\n") // a hash takes all
	}
	out.Key += fmt.Sprintf(" without %x", h.Sum(nil))
	return &out
}

// Refuses says why a pod of a shape cannot run on a node on which used is asked for
// already; empty is that it can. It says what the stock scheduler's filters for taints,
// node affinity and resources do. Ports, volumes and affinity between pods it leaves to
// others.
func (n *Node) Refuses(s *Shape, used Amounts) string {
	if why := s.not[n.node.Name]; why != "" {
		return why
	}
	if !s.any {
		if ok, err := s.selector.Match(n.node); err != nil || !ok {
			return "node affinity or selector"
		}
	}
	if !n.plain {
		if key := Taint(n.node, s.tolerations); key != "" {
			return "taint " + key
		}
	}
	short := ""
	for name, x := range s.Requests {
		if x > 0 && n.allocatable[name]-used[name] < x && (short == "" || string(name) < short) {
			short = string(name)
		}
	}
	if short != "" {
		return "too little " + short
	}
	return ""
}
