package company_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/company"
)

// four are nodes, two in each of two zones.
func four() (func(string) *corev1.Node, func() []string) {
	all := map[string]*corev1.Node{}
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		all[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: []string{"z1", "z1", "z2", "z2"}[i],
		}}}
	}
	return func(name string) *corev1.Node { return all[name] }, func() []string { return names }
}

func pod(app string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": app}}}
	for _, change := range changes {
		change(p)
	}
	return p
}

func selects(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func apart(app, topology string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selects(app), TopologyKey: topology},
		}}}
	}
}

func near(app, topology string, namespaces ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selects(app), TopologyKey: topology, Namespaces: namespaces},
		}}}
	}
}

func spread(topology string, more func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects(p.Labels["app"])}
		if more != nil {
			more(&c)
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c}
	}
}

func port(ip string, number int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: number, HostIP: ip}}}}
	}
}

// first makes the containers of a pod its init containers.
func first(policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil
		p.Spec.InitContainers[0].RestartPolicy = policy
	}
}

func elsewhere(p *corev1.Pod) { p.Namespace = "other" }

func TestRefuses(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	two := func(c *corev1.TopologySpreadConstraint) { x := int32(3); c.MinDomains = &x }
	for _, tt := range []struct {
		name  string
		there map[string]*corev1.Pod // by node
		asks  *corev1.Pod
		want  string // the nodes that take it
	}{
		{"nothing", map[string]*corev1.Pod{"a": pod("x")}, pod("x"), "abcd"},
		{"apart by node", map[string]*corev1.Pod{"a": pod("x")}, pod("y", apart("x", corev1.LabelHostname)), "bcd"},
		{"apart by zone", map[string]*corev1.Pod{"a": pod("x")}, pod("y", apart("x", corev1.LabelTopologyZone)), "cd"},
		{"they keep it off", map[string]*corev1.Pod{"c": pod("x", apart("y", corev1.LabelTopologyZone))}, pod("y"), "ab"},
		{"they keep others off", map[string]*corev1.Pod{"c": pod("x", apart("z", corev1.LabelTopologyZone))}, pod("y"), "abcd"},
		{"of another namespace", map[string]*corev1.Pod{"a": pod("x", elsewhere)}, pod("y", apart("x", corev1.LabelHostname)), "abcd"},
		{"near", map[string]*corev1.Pod{"a": pod("x")}, pod("y", near("x", corev1.LabelTopologyZone)), "ab"},
		{"near nobody", map[string]*corev1.Pod{"a": pod("z")}, pod("y", near("x", corev1.LabelHostname)), ""},
		{"near itself, the first", nil, pod("y", near("y", corev1.LabelHostname)), "abcd"},
		{"near itself, the second", map[string]*corev1.Pod{"d": pod("y")}, pod("y", near("y", corev1.LabelHostname)), "d"},
		{"near, named namespace", map[string]*corev1.Pod{"b": pod("x", elsewhere)}, pod("y", near("x", corev1.LabelHostname, "other")), "b"},
		{"near, no such label", map[string]*corev1.Pod{"a": pod("y")}, pod("y", near("y", "rack")), ""},
		{"spread by node", map[string]*corev1.Pod{"a": pod("y"), "b": pod("y"), "c": pod("y")}, pod("y", spread(corev1.LabelHostname, nil)), "d"},
		{"spread by zone", map[string]*corev1.Pod{"a": pod("y")}, pod("y", spread(corev1.LabelTopologyZone, nil)), "cd"},
		{"spread of others", map[string]*corev1.Pod{"a": pod("x")}, pod("y", spread(corev1.LabelTopologyZone, nil)), "abcd"},
		{"spread over three zones", map[string]*corev1.Pod{"a": pod("y")}, pod("y", spread(corev1.LabelTopologyZone, two)), "cd"},
		{"spread over three zones, both used", map[string]*corev1.Pod{"a": pod("y"), "c": pod("y")}, pod("y", spread(corev1.LabelTopologyZone, two)), ""},
		{"spread among the nodes that it may have", map[string]*corev1.Pod{"a": pod("y")}, pod("y", spread(corev1.LabelHostname, nil), func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"}
		}), "a"}, // the selector itself is no matter of this package; b to d are not counted
		{"spread if possible", map[string]*corev1.Pod{"a": pod("y")}, pod("y", spread(corev1.LabelHostname, func(c *corev1.TopologySpreadConstraint) {
			c.WhenUnsatisfiable = corev1.ScheduleAnyway
		})), "abcd"},
		{"port", map[string]*corev1.Pod{"a": pod("x", port("", 80)), "b": pod("x", port("", 81))}, pod("y", port("", 80)), "bcd"},
		{"port of another address", map[string]*corev1.Pod{"a": pod("x", port("10.0.0.1", 80))}, pod("y", port("10.0.0.2", 80)), "abcd"},
		{"port of all addresses", map[string]*corev1.Pod{"a": pod("x", port("10.0.0.1", 80))}, pod("y", port("0.0.0.0", 80)), "bcd"},
		{"port of what has ended before it runs", map[string]*corev1.Pod{"a": pod("x", port("", 80), first(nil))}, pod("y", port("", 80)), "abcd"},
		{"port of a sidecar", map[string]*corev1.Pod{"a": pod("x", port("", 80), first(&always))}, pod("y", port("", 80)), "bcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node, names := four()
			x := company.New(node, names)
			a := company.Of(tt.asks)
			for _, again := range []bool{false, true} { // and once more after all have come and gone
				for on, p := range tt.there {
					if !x.Set(types.UID("u-"+on), company.Of(p), on) {
						t.Error("it is not new")
					}
					if x.Set(types.UID("u-"+on), company.Of(p), on) {
						t.Error("it is new a second time")
					}
				}
				got := strings.Join(slices.DeleteFunc(slices.Clone(names()), func(name string) bool { return x.Refuses(a, name) != "" }), "")
				if tt.name == "spread among the nodes that it may have" {
					got = fmt.Sprintf("%.1s", got)
				}
				if got != tt.want {
					t.Errorf("%v: %q take it, want %q", again, got, tt.want)
				}
				if (x.Key(a) == "") != (tt.name == "nothing" || tt.name == "they keep others off" || tt.name == "spread if possible") {
					t.Errorf("its key is %q", x.Key(a))
				}
				for on := range tt.there {
					x.Drop(types.UID("u-" + on))
				}
			}
			if wants := len(tt.asks.Spec.TopologySpreadConstraints) == 0 && tt.asks.Spec.Affinity == nil; wants && x.Key(a) == "" && x.Refuses(a, "a") != "" {
				t.Error("all are gone, and it is refused")
			}
		})
	}
}

func TestSingle(t *testing.T) {
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"plain", pod("x"), false},
		{"port", pod("x", port("", 80)), true},
		{"apart from itself", pod("x", apart("x", corev1.LabelHostname)), true},
		{"apart from others", pod("x", apart("y", corev1.LabelHostname)), false},
		{"by zone", pod("x", apart("x", corev1.LabelTopologyZone)), false},
	} {
		if got := company.Of(tt.pod).Single(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A selector that is missing matches nobody, one that is empty everybody: neither may stand for the other.
func TestNobodyIsNotEverybody(t *testing.T) {
	with := func(s *metav1.LabelSelector) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			apart("", corev1.LabelHostname)(p)
			p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = s
		}
	}
	nobody, everybody := company.Of(pod("x", with(nil))), company.Of(pod("x", with(&metav1.LabelSelector{})))
	x := company.New(four())
	if x.Key(nobody) == x.Key(everybody) {
		t.Error("one key for a pod that is apart from nobody and one that is from everybody")
	}
	x.Set("1", nobody, "a")
	x.Set("2", everybody, "b")
	one := company.Of(pod("y"))
	if x.Refuses(one, "a") != "" || x.Refuses(one, "b") == "" {
		t.Errorf("beside who is apart from nobody: %q, from everybody: %q", x.Refuses(one, "a"), x.Refuses(one, "b"))
	}
}

// A user who says that tainted nodes do not count is not kept waiting for one that nobody may use.
func TestSpreadHonoursTaints(t *testing.T) {
	node, names := four()
	node("d").Spec.Taints = []corev1.Taint{{Key: "control-plane", Effect: corev1.TaintEffectNoSchedule}}
	honour := corev1.NodeInclusionPolicyHonor
	honours := spread(corev1.LabelHostname, func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = &honour })
	tolerant := pod("y", honours, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "control-plane", Operator: corev1.TolerationOpExists}}
	})
	x := company.New(node, names)
	for i, on := range []string{"a", "b", "c"} {
		x.Set(types.UID(strconv.Itoa(i)), company.Of(pod("y")), on)
	}
	for what, tt := range map[string]struct {
		pod   *corev1.Pod
		takes bool
	}{"honours": {pod("y", honours), true}, "tolerates": {tolerant, false}, "ignores": {pod("y", spread(corev1.LabelHostname, nil)), false}} {
		if why := x.Refuses(company.Of(tt.pod), "a"); (why == "") != tt.takes {
			t.Errorf("who %s is told %q", what, why)
		}
	}
}
