package cluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books/internal/cluster"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/profile"
)

// entry is a pod that holds so many GiB of card n1/gpu-0.
func entry(name string, gib int, change ...func(*cluster.Entry)) *cluster.Entry {
	e := &cluster.Entry{
		Pod:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "red", UID: types.UID(name)}},
		State: cluster.Placed, At: api.Placement{Node: "n1", Device: "gpu-0", Reserved: profile.Bytes(gib) * profile.GiB},
		Task: colloc.Task{ID: name, Labels: []string{"red"}, Only: []string{"red"}},
	}
	for _, c := range change {
		c(e)
	}
	return e
}

func TestTakes(t *testing.T) {
	alone := func(e *cluster.Entry) { e.Task.Alone = true }
	avoids := func(e *cluster.Entry) { e.Task.Avoid = []string{"red"} }
	blue := func(e *cluster.Entry) { e.Task.Labels, e.Pod.Namespace = []string{"blue"}, "blue" }
	gang := func(e *cluster.Entry) { e.Gang = pods.Gang{Key: e.Pod.Name, Size: 2} }
	on := func(e *cluster.Entry) { e.Task.On = []string{"nvlink"} }
	bounds := cluster.Bounds{Headroom: .1, Together: profile.GiB, MaxSet: 3}
	for _, c := range []struct {
		what  string
		here  []*cluster.Entry
		comes []*cluster.Entry
		want  bool
	}{
		{"room for both", []*cluster.Entry{entry("a", 18)}, []*cluster.Entry{entry("b", 18)}, true},
		{"more than is usable", []*cluster.Entry{entry("a", 18)}, []*cluster.Entry{entry("b", 19)}, false},
		{"too many", []*cluster.Entry{entry("a", 1), entry("b", 1), entry("c", 1)}, []*cluster.Entry{entry("d", 1)}, false},
		{"one that is alone", []*cluster.Entry{entry("a", 1, alone)}, []*cluster.Entry{entry("b", 1)}, false},
		{"one that would be alone", []*cluster.Entry{entry("a", 1)}, []*cluster.Entry{entry("b", 1, alone)}, false},
		{"one alone on an empty card", nil, []*cluster.Entry{entry("b", 36, alone)}, true},
		{"somebody who is avoided", []*cluster.Entry{entry("a", 1, avoids)}, []*cluster.Entry{entry("b", 1)}, false},
		{"two that avoid each other and run together", []*cluster.Entry{entry("a", 1, avoids), entry("b", 1, blue)}, nil, true},
		{"another namespace", []*cluster.Entry{entry("a", 1)}, []*cluster.Entry{entry("b", 1, blue)}, false},
		{"a gang that runs", []*cluster.Entry{entry("a", 1, gang)}, []*cluster.Entry{entry("b", 1, gang)}, false},
		{"a gang, and a pod comes", []*cluster.Entry{entry("a", 1, gang)}, []*cluster.Entry{entry("b", 1)}, false},
		{"gangs that come together", nil, []*cluster.Entry{entry("a", 1, gang), entry("b", 1, gang)}, true},
		{"gangs of two namespaces", nil, []*cluster.Entry{entry("a", 1, gang), entry("b", 1, gang, blue)}, false},
		{"a label that the card has not", nil, []*cluster.Entry{entry("a", 1, on)}, false},
	} {
		d, comes := &cluster.Card{Card: nodes.Card{GPU: colloc.GPU{Memory: 40 * profile.GiB}}, Here: c.here}, map[*cluster.Entry]bool{}
		for _, e := range c.comes {
			d.Here, comes[e] = append(d.Here, e), true
		}
		if got := bounds.Takes(d, comes); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	bounds.Together = 3 * profile.GiB
	d := &cluster.Card{Card: nodes.Card{GPU: colloc.GPU{Memory: 40 * profile.GiB}}, Here: []*cluster.Entry{entry("a", 18), entry("b", 18)}}
	if !bounds.Takes(d, nil) {
		t.Error("36 GiB and 3 beyond are too much for 40")
	}
	if bounds.Together = 5 * profile.GiB; bounds.Takes(d, nil) {
		t.Error("36 GiB and 5 beyond are not too much for 40")
	}
}

// TestCheck: pods and cards that do not know each other are seen.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(cl *cluster.Cluster, d *cluster.Card, e *cluster.Entry)
	}{
		{"", func(*cluster.Cluster, *cluster.Card, *cluster.Entry) {}},
		{"does not have a", func(_ *cluster.Cluster, d *cluster.Card, _ *cluster.Entry) { d.Here = nil }},
		{"or has it twice", func(_ *cluster.Cluster, d *cluster.Card, e *cluster.Entry) { d.Here = append(d.Here, e) }},
		{"carries no decision for it", func(cl *cluster.Cluster, _ *cluster.Card, _ *cluster.Entry) { delete(cl.Tasks, "a") }},
		{"carries no decision for it", func(_ *cluster.Cluster, _ *cluster.Card, e *cluster.Entry) { e.State = cluster.Idle }},
		{"other cards than it carries", func(_ *cluster.Cluster, _ *cluster.Card, e *cluster.Entry) { e.Cards = nil }},
		{"other cards than it carries", func(_ *cluster.Cluster, d *cluster.Card, e *cluster.Entry) { e.Cards = append(e.Cards, d) }},
	} {
		cl := cluster.New(cluster.Bounds{MaxSet: 4}, false, nil)
		cl.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{
			"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": "1",
		}}})
		e := entry("a", 1)
		e.Shape, e.Asks = nodes.ShapeOf(e.Pod), company.Of(e.Pod)
		cl.Tasks["a"] = e
		cl.List(e, e.At)
		c.spoil(cl, cl.Cards["n1/gpu-0"], e)
		if got := strings.Join(cl.Check(), "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("said is %q, want %q", got, c.want)
		}
	}
}
