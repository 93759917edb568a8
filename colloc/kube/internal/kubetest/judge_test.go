//go:build kube

package kubetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc/kube/api"
)

// Rules is what a cluster has promised.
type Rules struct {
	// MaxSet is the largest number of tasks on a card; 0 means 4.
	MaxSet int
	// MayShare says whether pods of two different namespaces may share a card; nil
	// means never.
	MayShare func(a, b string) bool
}

// Card is what a card holds.
type Card struct {
	Pods     []string // namespace/name, in order
	Reserved int64    // bytes
}

// Report is what the API says of a cluster.
type Report struct {
	// Faults are broken promises, in order; there should be none.
	Faults []string
	// Untold are pods, as namespace/name, that are placed without a condition that says
	// so. They run all the same.
	Untold []string
	// Leftover are claims of collocd, as namespace/name, to which no pod points.
	Leftover []string
	// Cards are the cards that hold pods, by NODE/DEVICE.
	Cards map[string]*Card
	// Waiting and Bound count the pods of colloc that have not ended: those without and
	// those with a node. Ended counts the others.
	Waiting, Bound, Ended int
}

// Tasks returns how many cards hold one task, two, and so on.
func (r *Report) Tasks() map[int]int {
	n := make(map[int]int)
	for _, c := range r.Cards {
		n[len(c.Pods)]++
	}
	return n
}

// checker is a check under way.
type checker struct {
	rules Rules
	Report
	memory  map[string]int64         // of the cards, bytes
	nodes   map[string]bool          // that exist
	on      map[string][]*corev1.Pod // by card
	foreign map[string]string        // by node: a pod that may have any card of it
}

// Check reads nodes and pods from the API, works out again which pod holds what, and
// tells where that breaks a promise. It knows nothing of how collocd decides, and nothing
// of its label: it goes by who carries a decision, who waits at the gate, and who has its
// GPU from the decision. Call it when nothing is under way: a
// decision that is half written is a fault.
func Check(ctx context.Context, client kubernetes.Interface, rules Rules) (*Report, error) {
	if rules.MaxSet == 0 {
		rules.MaxSet = 4
	}
	ch := &checker{rules: rules, memory: make(map[string]int64), nodes: make(map[string]bool), on: make(map[string][]*corev1.Pod), foreign: make(map[string]string)}
	ch.Cards = make(map[string]*Card)
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if err := ch.slices(ctx, client); err != nil {
		return nil, err
	}
	for i := range nodes.Items {
		ch.node(&nodes.Items[i])
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	ch.others(pods.Items)
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !isTask(&p) })
	for i := range pods.Items {
		ch.pod(&pods.Items[i])
	}
	ch.gangs(pods.Items)
	if err := ch.claims(ctx, client, pods.Items); err != nil {
		return nil, err
	}
	for _, card := range slices.Sorted(maps.Keys(ch.on)) {
		ch.card(card, ch.on[card])
	}
	return &ch.Report, nil
}

func (ch *checker) faultf(format string, args ...any) {
	ch.Faults = append(ch.Faults, fmt.Sprintf(format, args...))
}

// slices notes the cards that ResourceSlices name.
func (ch *checker) slices(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		s := &list.Items[i].Spec
		for _, d := range s.Devices {
			if m, ok := d.Capacity["memory"]; ok && s.NodeName != nil {
				ch.memory[*s.NodeName+"/"+d.Name] = m.Value.Value()
			}
		}
	}
	return nil
}

// node notes the cards that a node's labels name, if no slice does.
func (ch *checker) node(n *corev1.Node) {
	ch.nodes[n.Name] = true
	for card := range ch.memory {
		if strings.HasPrefix(card, n.Name+"/") {
			return
		}
	}
	count, err1 := strconv.Atoi(n.Labels["nvidia.com/gpu.count"])
	mib, err2 := strconv.ParseInt(n.Labels["nvidia.com/gpu.memory"], 10, 64)
	if err1 != nil || err2 != nil {
		return
	}
	for i := range count {
		ch.memory[fmt.Sprintf("%s/gpu-%d", n.Name, i)] = mib << 20
	}
}

const visible = "NVIDIA_VISIBLE_DEVICES"

// isTask reports whether collocd has to do with a pod.
func isTask(p *corev1.Pod) bool {
	follows := slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == visible && e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && strings.Contains(e.ValueFrom.FieldRef.FieldPath, api.AnnotationUUID)
		})
	})
	gated := slices.ContainsFunc(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == api.Gate })
	return follows || gated || p.Annotations[api.AnnotationGPU] != ""
}

// others notes the pods that run and may have any GPU of their node: those that the
// device plugin gave one, and those that name GPUs themselves.
func (ch *checker) others(pods []corev1.Pod) {
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, c := range append(slices.Clone(p.Spec.Containers), p.Spec.InitContainers...) {
			_, plugin := c.Resources.Limits["nvidia.com/gpu"]
			named := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == visible && e.Value != "" && e.Value != "void" })
			if plugin || named {
				ch.foreign[p.Spec.NodeName] = p.Namespace + "/" + p.Name
			}
		}
	}
}

// pod sorts a pod and looks at what it says of itself.
func (ch *checker) pod(p *corev1.Pod) {
	name, card := p.Namespace+"/"+p.Name, p.Annotations[api.AnnotationGPU]
	gated := slices.ContainsFunc(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == api.Gate })
	switch {
	case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		ch.Ended++
		return
	case gated && card == "":
		ch.Waiting++
		return
	case gated:
		ch.faultf("%s: still gated and already on %s", name, card)
	case p.Spec.NodeName == "":
		ch.Waiting++ // decided, and the scheduler has not yet bound it
	default:
		ch.Bound++
	}
	if card == "" {
		ch.faultf("%s: not gated and on no GPU", name)
		return
	}
	node, devices, _ := strings.Cut(card, "/")
	if p.Spec.NodeName != "" && p.Spec.NodeName != node {
		ch.faultf("%s: decided for %s and bound to %s", name, card, p.Spec.NodeName)
	}
	cards := strings.Split(devices, ",")
	for i, device := range cards {
		cards[i] = node + "/" + device
		if _, ok := ch.memory[cards[i]]; !ok && (p.Spec.NodeName == "" || ch.nodes[p.Spec.NodeName]) {
			ch.faultf("%s: on %s, which does not exist", name, cards[i])
		}
	}
	if want := width(p); len(cards) != want {
		ch.faultf("%s: asks for %d GPUs and is on %s", name, want, card)
	}
	if n, err := strconv.ParseInt(p.Annotations[api.AnnotationReserved], 10, 64); err != nil || n <= 0 {
		ch.faultf("%s: reserves %q bytes", name, p.Annotations[api.AnnotationReserved])
	}
	if p.Annotations[api.AnnotationUUID] == "" {
		ch.faultf("%s: nothing for NVIDIA_VISIBLE_DEVICES", name)
	}
	placed := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == api.ConditionPlaced && c.Status == corev1.ConditionTrue
	})
	if !placed {
		ch.Untold = append(ch.Untold, name)
	}
	for _, c := range cards {
		ch.on[c] = append(ch.on[c], p)
	}
}

// card looks at all pods of a card together.
func (ch *checker) card(name string, pods []*corev1.Pod) {
	c := &Card{}
	ch.Cards[name] = c
	for i, p := range pods {
		c.Pods = append(c.Pods, p.Namespace+"/"+p.Name)
		n, _ := strconv.ParseInt(p.Annotations[api.AnnotationReserved], 10, 64) // said above
		c.Reserved += n
		if len(pods) > 1 && (p.Annotations[api.AnnotationAlone] == api.True || p.Annotations[api.AnnotationProfile] == "") {
			ch.faultf("%s: %s/%s wants or has to be alone", name, p.Namespace, p.Name)
		}
		for _, q := range pods[:i] {
			if (width(p) > 1 || gangOf(p) != "") != (width(q) > 1 || gangOf(q) != "") {
				ch.faultf("%s: %s/%s shares with a gang", name, p.Namespace, p.Name)
			}
			if p.Namespace != q.Namespace && (ch.rules.MayShare == nil || !ch.rules.MayShare(p.Namespace, q.Namespace)) {
				ch.faultf("%s: %s/%s shares with namespace %s", name, p.Namespace, p.Name, q.Namespace)
			}
		}
	}
	slices.Sort(c.Pods)
	node, _, _ := strings.Cut(name, "/")
	if who := ch.foreign[node]; who != "" {
		ch.faultf("%s: %s may use it too", name, who)
	}
	if len(pods) > ch.rules.MaxSet {
		ch.faultf("%s: %d tasks, %d are allowed: %s", name, len(pods), ch.rules.MaxSet, strings.Join(c.Pods, " "))
	}
	if m, ok := ch.memory[name]; ok && c.Reserved > m {
		ch.faultf("%s: %d bytes set aside of %d: %s", name, c.Reserved, m, strings.Join(c.Pods, " "))
	}
}

// width is how many GPUs a pod asks for.
func width(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Annotations[api.AnnotationGPUs])
	if err != nil {
		return 1
	}
	return n
}

// gangOf names the gang of a pod; empty is none.
func gangOf(p *corev1.Pod) string {
	owner := metav1.GetControllerOf(p)
	switch {
	case p.Annotations[api.AnnotationGangSize] == "":
		return ""
	case p.Annotations[api.AnnotationGang] != "":
		return p.Namespace + "/" + p.Annotations[api.AnnotationGang]
	case owner != nil:
		return string(owner.UID)
	}
	return ""
}

// gangs looks whether each gang has all its pods without a gate, or none.
func (ch *checker) gangs(pods []corev1.Pod) {
	free, size := make(map[string]int), make(map[string]string)
	for i := range pods {
		p := &pods[i]
		if g := gangOf(p); g != "" {
			size[g] = p.Annotations[api.AnnotationGangSize]
			if len(p.Spec.SchedulingGates) == 0 {
				free[g]++
			}
		}
	}
	for _, g := range slices.Sorted(maps.Keys(free)) {
		if strconv.Itoa(free[g]) != size[g] {
			ch.faultf("gang %s: %d of %s pods have no gate", g, free[g], size[g])
		}
	}
}

// claims compares what the claims of pods hold with what the pods say, and counts again
// what the claims of everybody take of each card.
func (ch *checker) claims(ctx context.Context, client kubernetes.Interface, pods []corev1.Pod) error {
	list, err := client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	byName := make(map[string]*resourcev1.ResourceClaim)
	taken := make(map[string]int64)
	for i := range list.Items {
		c := &list.Items[i]
		byName[c.Namespace+"/"+c.Name] = c
		add(taken, c)
	}
	for card, n := range taken {
		if n > ch.memory[card] {
			ch.faultf("%s: claims take %d bytes of %d", card, n, ch.memory[card])
		}
	}
	for i := range pods {
		for _, s := range pods[i].Status.ResourceClaimStatuses {
			if s.ResourceClaimName != nil {
				key := pods[i].Namespace + "/" + *s.ResourceClaimName
				ch.claim(&pods[i], byName[key])
				delete(byName, key)
			}
		}
	}
	for key, c := range byName {
		if c.Labels[api.LabelTask] == api.True {
			ch.Leftover = append(ch.Leftover, key)
		}
	}
	return nil
}

// add counts what a claim takes of the cards that it holds.
func add(taken map[string]int64, c *resourcev1.ResourceClaim) {
	if c.Status.Allocation == nil {
		return
	}
	for _, r := range c.Status.Allocation.Devices.Results {
		n := r.ConsumedCapacity["memory"]
		taken[r.Pool+"/"+r.Device] += n.Value()
	}
}

// claim looks at the claim of a pod that runs.
func (ch *checker) claim(p *corev1.Pod, c *resourcev1.ResourceClaim) {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return
	}
	name := p.Namespace + "/" + p.Name
	if c == nil || c.Status.Allocation == nil || len(c.Status.Allocation.Devices.Results) == 0 {
		ch.faultf("%s: runs without a claim that holds a device", name)
		return
	}
	var devices []string
	reserved := resource.MustParse(p.Annotations[api.AnnotationReserved])
	for _, r := range c.Status.Allocation.Devices.Results {
		devices = append(devices, r.Device)
		if n := r.ConsumedCapacity["memory"]; n.Cmp(reserved) < 0 {
			ch.faultf("%s: reserves %s, and its claim holds %s", name, reserved.String(), n.String())
		}
	}
	slices.Sort(devices)
	if card := c.Status.Allocation.Devices.Results[0].Pool + "/" + strings.Join(devices, ","); card != p.Annotations[api.AnnotationGPU] {
		ch.faultf("%s: decided for %s, and its claim holds %s", name, p.Annotations[api.AnnotationGPU], card)
	}
}
