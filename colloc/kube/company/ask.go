package company

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Ask is what a pod is and asks for towards others. Make it with [Of].
type Ask struct {
	namespace string
	labels    labels.Set
	near      []term // the node must have such pods in its domain
	apart     []term // it must not
	spread    []spread
	ports     []port
	key       string
	// selector and tolerations say which nodes count for spread.
	selector    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration

	at      uint64 // the version of the Index of which verdict is
	verdict *verdict
}

// term is one of affinity or of anti-affinity.
type term struct {
	selector   labels.Selector
	namespaces map[string]bool // nil is all
	topology   string
	text       string // equal for equal terms
}

func (t *term) matches(a *Ask) bool {
	return (t.namespaces == nil || t.namespaces[a.namespace]) && t.selector.Matches(a.labels)
}

// spread is a constraint that must hold.
type spread struct {
	selector labels.Selector
	topology string
	skew     int
	least    int  // domains
	any      bool // nodes that the pod's own node affinity leaves out count too
	// untainted says that nodes with a taint that keeps the pod off do not count.
	untainted bool
}

// port is one of the node's that a pod takes.
type port struct {
	ip, protocol string
	number       int32
}

func (p port) conflicts(o port) bool {
	const all = "0.0.0.0"
	return p.number == o.number && p.protocol == o.protocol && (p.ip == o.ip || p.ip == all || o.ip == all)
}

// Of reads a pod.
func Of(pod *corev1.Pod) *Ask {
	a := &Ask{namespace: pod.Namespace, labels: pod.Labels}
	var key strings.Builder
	if x := pod.Spec.Affinity; x != nil {
		if x.PodAffinity != nil {
			a.near = terms(pod, x.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if x.PodAntiAffinity != nil {
			a.apart = terms(pod, x.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for _, t := range a.near {
		fmt.Fprintf(&key, "|near %s", t.text)
	}
	for _, t := range a.apart {
		fmt.Fprintf(&key, "|apart %s", t.text)
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		if c := &pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			s := spreadOf(pod, c)
			a.spread = append(a.spread, s)
			fmt.Fprintf(&key, "|spread %s %s %d %d %v %v", s.topology, written(s.selector), s.skew, s.least, s.any, s.untainted)
		}
	}
	if len(a.spread) > 0 {
		a.selector, a.tolerations = nodeaffinity.GetRequiredNodeAffinity(pod), pod.Spec.Tolerations
	}
	if a.ports = portsOf(pod); len(a.ports) > 0 {
		fmt.Fprintf(&key, "|ports %v", a.ports)
	}
	if key.Len() > 0 {
		a.key = key.String() + a.own()
	}
	return a
}

// own is who the pod is towards others, but for its number among those of its owner.
func (a *Ask) own() string {
	out := make(labels.Set, len(a.labels))
	for name, value := range a.labels {
		switch name {
		case "batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name":
		default:
			out[name] = value
		}
	}
	return "|" + a.namespace + "|" + out.String()
}

func spreadOf(pod *corev1.Pod, c *corev1.TopologySpreadConstraint) spread {
	s := spread{selector: selector(c.LabelSelector), topology: c.TopologyKey, skew: int(c.MaxSkew), least: 1}
	for _, name := range c.MatchLabelKeys {
		if value, set := pod.Labels[name]; set {
			if r, err := labels.NewRequirement(name, "=", []string{value}); err == nil {
				s.selector = s.selector.Add(*r)
			}
		}
	}
	if c.MinDomains != nil {
		s.least = int(*c.MinDomains)
	}
	s.any = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	s.untainted = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	return s
}

// portsOf are the ports of the containers that run for as long as the pod: init containers end before, sidecars do not.
func portsOf(pod *corev1.Pod) []port {
	var all []port
	add := func(c *corev1.Container) {
		for i := range c.Ports {
			if c.Ports[i].HostPort > 0 {
				all = append(all, portOf(&c.Ports[i]))
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return all
}

func portOf(p *corev1.ContainerPort) port {
	out := port{p.HostIP, string(p.Protocol), p.HostPort}
	if out.ip == "" {
		out.ip = "0.0.0.0"
	}
	if out.protocol == "" {
		out.protocol = string(corev1.ProtocolTCP)
	}
	return out
}

func selector(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing() // the API server takes no such pod
	}
	return out
}

// written is a selector as text. Selectors of everybody and of nobody have the same String.
func written(s labels.Selector) string { return fmt.Sprint(s.Empty(), " ", s) }

func terms(pod *corev1.Pod, list []corev1.PodAffinityTerm) []term {
	out := make([]term, len(list))
	for i := range list {
		t := &list[i]
		out[i] = term{selector: selector(t.LabelSelector), topology: t.TopologyKey, namespaces: map[string]bool{}}
		for _, ns := range t.Namespaces {
			out[i].namespaces[ns] = true
		}
		switch {
		case t.NamespaceSelector == nil && len(t.Namespaces) == 0:
			out[i].namespaces[pod.Namespace] = true
		case t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) == 0:
			out[i].namespaces = nil
		}
		out[i].text = fmt.Sprint(out[i].topology, " ", written(out[i].selector), " ", out[i].namespaces)
	}
	return out
}

// Single reports whether two pods that ask the same can never be on one node.
func (a *Ask) Single() bool {
	if len(a.ports) > 0 {
		return true
	}
	for i := range a.apart {
		if a.apart[i].topology == corev1.LabelHostname && a.apart[i].matches(a) {
			return true
		}
	}
	return false
}

// Moves reports whether a pod that comes somewhere may let this one be placed.
func (a *Ask) Moves() bool { return len(a.near)+len(a.spread) > 0 }

// domain is one of a topology: its label and what that says.
type domain struct{ key, value string }

// verdict is what the pods that are there mean for one that waits.
type verdict struct {
	barred map[domain]bool
	near   map[domain]bool
	alone  bool    // nobody is there whom it wants to be near, and it would do itself
	spread []level // of each constraint
}

// level is how many pods a spread counts in each domain, and how many there may be where one more comes.
type level struct {
	counts map[string]int
	most   int
}

// refuses says why a node with these labels is none for the pod.
func (v *verdict) refuses(a *Ask, has map[string]string) string {
	for key, value := range has {
		if v.barred[domain{key, value}] {
			return "anti-affinity between pods"
		}
	}
	for i := range a.near {
		value, there := has[a.near[i].topology]
		if !there || !v.alone && !v.near[domain{a.near[i].topology, value}] {
			return "affinity between pods"
		}
	}
	for i := range a.spread {
		value, there := has[a.spread[i].topology]
		if !there || v.spread[i].counts[value] > v.spread[i].most {
			return "topology spread"
		}
	}
	return ""
}
