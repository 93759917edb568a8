package company

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/nodes"
)

// Index is the pods on all nodes. Make one with [New]. Not safe for concurrent use.
type Index struct {
	node    func(name string) *corev1.Node // nil is that it is not known
	names   func() []string
	members map[types.UID]*member
	on      map[string]map[types.UID]*member
	antis   map[string]*anti // terms of those that are there, by who has them
	version uint64
}

// member is a pod on a node.
type member struct {
	*Ask
	at string
}

// anti is a term of anti-affinity that pods on nodes have.
type anti struct {
	term
	on map[string]int // pods by node
}

// New returns an Index of no pods. node finds a node by its name, names lists all.
func New(node func(name string) *corev1.Node, names func() []string) *Index {
	return &Index{
		node: node, names: names, members: map[types.UID]*member{}, on: map[string]map[types.UID]*member{},
		antis: map[string]*anti{}, version: 1,
	}
}

// Changed takes in that a node came, went, or has other labels.
func (x *Index) Changed() { x.version++ }

// Set takes in that a pod is on a node, or is decided to go there, and reports whether that is new.
func (x *Index) Set(uid types.UID, a *Ask, node string) bool {
	if m := x.members[uid]; m != nil && m.at == node && m.key == a.key && maps.Equal(m.labels, a.labels) {
		return false
	}
	x.Drop(uid)
	m := &member{a, node}
	x.members[uid] = m
	if x.on[node] == nil {
		x.on[node] = map[types.UID]*member{}
	}
	x.on[node][uid] = m
	for i := range a.apart {
		t := &a.apart[i]
		if x.antis[t.text] == nil {
			x.antis[t.text] = &anti{*t, map[string]int{}}
		}
		x.antis[t.text].on[node]++
	}
	x.version++
	return true
}

// Drop takes in that a pod is gone.
func (x *Index) Drop(uid types.UID) {
	m := x.members[uid]
	if m == nil {
		return
	}
	delete(x.members, uid)
	if delete(x.on[m.at], uid); len(x.on[m.at]) == 0 {
		delete(x.on, m.at)
	}
	for i := range m.apart {
		of := x.antis[m.apart[i].text]
		if of.on[m.at]--; of.on[m.at] == 0 {
			delete(of.on, m.at)
		}
		if len(of.on) == 0 {
			delete(x.antis, m.apart[i].text)
		}
	}
	x.version++
}

// Key is equal for pods to which all nodes say the same.
func (x *Index) Key(a *Ask) string {
	if a.key != "" {
		return a.key
	}
	for _, of := range x.antis {
		if of.matches(a) {
			return a.own()
		}
	}
	return ""
}

// Refuses says why a pod must not be on a node; empty is that it may.
func (x *Index) Refuses(a *Ask, node string) string {
	if len(a.ports) > 0 && x.taken(a, node) {
		return "a pod there has its host port"
	}
	if a.key == "" && len(x.antis) == 0 {
		return ""
	}
	if a.at != x.version {
		a.at, a.verdict = x.version, x.judge(a)
	}
	n := x.node(node)
	if n == nil {
		return ""
	}
	return a.verdict.refuses(a, n.Labels)
}

func (x *Index) taken(a *Ask, node string) bool {
	for _, m := range x.on[node] {
		for _, p := range m.ports {
			if slices.ContainsFunc(a.ports, p.conflicts) {
				return true
			}
		}
	}
	return false
}

// of adds the domain of a node to a set.
func (x *Index) of(set map[domain]bool, node, key string) {
	if n := x.node(node); n != nil {
		if value, has := n.Labels[key]; has {
			set[domain{key, value}] = true
		}
	}
}

func (x *Index) judge(a *Ask) *verdict {
	v := &verdict{barred: map[domain]bool{}, near: map[domain]bool{}}
	for _, of := range x.antis {
		if of.matches(a) {
			for node := range of.on {
				x.of(v.barred, node, of.topology)
			}
		}
	}
	if len(a.near)+len(a.apart) > 0 {
		for _, m := range x.members {
			x.meet(a, m, v)
		}
	}
	if len(a.near) > 0 && len(v.near) == 0 {
		v.alone = !slices.ContainsFunc(a.near, func(t term) bool { return !t.matches(a) })
	}
	for i := range a.spread {
		v.spread = append(v.spread, x.count(a, &a.spread[i]))
	}
	return v
}

// meet notes what one pod that is there means.
func (x *Index) meet(a *Ask, m *member, v *verdict) {
	for i := range a.apart {
		if a.apart[i].matches(m.Ask) {
			x.of(v.barred, m.at, a.apart[i].topology)
		}
	}
	if len(a.near) > 0 && !slices.ContainsFunc(a.near, func(t term) bool { return !t.matches(m.Ask) }) {
		for i := range a.near {
			x.of(v.near, m.at, a.near[i].topology)
		}
	}
}

// count counts the pods of each domain that a spread is about.
func (x *Index) count(a *Ask, s *spread) level {
	counts := map[string]int{}
	for _, name := range x.names() {
		n := x.node(name)
		if n == nil || slices.ContainsFunc(a.spread, func(o spread) bool { _, has := n.Labels[o.topology]; return !has }) {
			continue
		}
		if ok, err := a.selector.Match(n); !s.any && (err != nil || !ok) || s.untainted && nodes.Taint(n, a.tolerations) != "" {
			continue
		}
		value := n.Labels[s.topology]
		counts[value] += 0
		for _, m := range x.on[name] {
			if m.namespace == a.namespace && s.selector.Matches(m.labels) {
				counts[value]++
			}
		}
	}
	most := s.skew
	if len(counts) >= s.least && len(counts) > 0 {
		most += slices.Min(slices.Collect(maps.Values(counts)))
	}
	if s.selector.Matches(a.labels) { // it counts itself
		most--
	}
	return level{counts, most}
}
