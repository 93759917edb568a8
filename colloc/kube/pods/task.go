package pods

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// Known is what the Profile resource of a task tells.
type Known struct {
	// Profile and Elsewhere are as in [colloc.Task]; a nil Profile is one that does not
	// exist or cannot be read.
	Profile   *profile.Profile
	Elsewhere []*profile.Profile
	// Version changes whenever what the Profile tells does.
	Version string
	// Fault says what is wrong with a Profile that exists.
	Fault string
}

// Tenancy says which namespaces share GPUs. The zero Tenancy lets each share within
// itself alone.
type Tenancy struct {
	// Groups are namespaces that may share with each other.
	Groups [][]string
	// All lets every namespace share with every other.
	All bool
}

// ParseTenancy reads groups such as "a+b"; "*" is all.
func ParseTenancy(groups []string) (Tenancy, error) {
	var t Tenancy
	for _, g := range groups {
		if g == "*" {
			t.All = true
			continue
		}
		names := strings.Split(g, "+")
		if slices.Contains(names, "") || slices.Contains(names, "*") {
			return Tenancy{}, fmt.Errorf("pods: group of namespaces %q: want names joined by +, or * alone", g)
		}
		t.Groups = append(t.Groups, names)
	}
	return t, nil
}

// labels are those of a namespace's tasks, and those of the company that they accept;
// none is any.
func (t Tenancy) labels(namespace string) (own, only []string) {
	own = []string{"namespace:" + namespace}
	if t.All {
		return own, nil
	}
	only = own
	for _, g := range t.Groups {
		if slices.Contains(g, namespace) {
			for _, n := range g {
				if label := "namespace:" + n; !slices.Contains(only, label) {
					only = append(slices.Clip(only), label)
				}
			}
		}
	}
	return own, only
}

// Task is the task of a pod that asks for d. Its ID is the pod's UID. A task of which neither a Profile
// nor anything else is known is alone and reserves its memory or, where that is not
// told either, a whole GPU. note says why a task is alone though it does not ask for it.
func Task(pod *corev1.Pod, d *api.Demand, known Known, tenancy Tenancy) (t colloc.Task, note string) {
	t = colloc.Task{
		ID: string(pod.UID), Profile: known.Profile, Elsewhere: known.Elsewhere, Reserved: d.Memory,
		MaxSlowdown: d.MaxSlowdown, Alone: d.Alone, GPUs: d.Width(),
	}
	t.Labels, t.Only = tenancy.labels(pod.Namespace)
	if pod.Spec.Priority != nil {
		t.Priority = int(*pod.Spec.Priority)
	}
	if t.Profile == nil {
		t.Alone = true
		if t.Reserved == 0 {
			t.Reserved = memory.Whole
		}
		switch {
		case d.Profile == "":
			note = "it names no Profile, so it runs alone"
		case known.Fault != "":
			note = fmt.Sprintf("Profile %q cannot be used, so it runs alone: %s", d.Profile, known.Fault)
		default:
			note = fmt.Sprintf("there is no Profile %q in namespace %s, so it runs alone", d.Profile, pod.Namespace)
		}
	}
	t.Kind = kind(pod.Namespace, &t, d.Profile, known.Version)
	return t, note
}

// kind is equal for tasks that differ in nothing that colloc.Task.Kind cares about.
func kind(namespace string, t *colloc.Task, named, version string) string {
	if t.Profile == nil {
		named, version = "", ""
	}
	return strings.Join([]string{
		namespace, named, version, strconv.FormatInt(int64(t.Reserved), 36),
		strconv.FormatFloat(t.MaxSlowdown, 'g', -1, 64), strconv.FormatBool(t.Alone), strconv.Itoa(t.GPUs),
	}, "|")
}

// Booked is a task with what was set aside for it, as it stands in the books. Tasks of
// one Kind then have one reservation.
func Booked(t colloc.Task, reserved profile.Bytes) colloc.Task {
	t.Reserved = reserved
	t.Kind += "|" + strconv.FormatInt(int64(reserved), 36)
	t.On = nil
	return t
}
