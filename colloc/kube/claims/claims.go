package claims

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/profile"
)

// Template is the name of the ResourceClaimTemplate that a pod names and that must not
// exist.
const Template = "colloc"

const (
	request  = "gpu"    // name of the one request of a claim; of several with a number
	capacity = "memory" // what of the device is counted
)

// Entry returns the pod's own name of the claim that collocd is to make; false is that
// it does not ask for one.
func Entry(pod *corev1.Pod) (string, bool) {
	for i := range pod.Spec.ResourceClaims {
		if c := &pod.Spec.ResourceClaims[i]; c.ResourceClaimTemplateName != nil && *c.ResourceClaimTemplateName == Template {
			return c.Name, true
		}
	}
	return "", false
}

// Name is the name of the claim of a pod that is placed. Another placement of the same
// pod has another name.
func Name(pod *corev1.Pod, at api.Placement) string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s|%s|%d", at.GPU(), at.Address, at.Reserved) // a hash takes all
	return prefix(pod.UID) + strconv.FormatUint(uint64(h.Sum32()), 36)
}

// prefix is how the names of a pod's claims begin.
func prefix(pod types.UID) string { return "colloc-" + string(pod) + "-" }

// ours reports whether collocd made a claim. The label alone, which anybody can set, does
// not say so: it belongs to a pod, and its name is that pod's.
func ours(c *resourcev1.ResourceClaim) bool {
	pod := metav1.GetControllerOf(c)
	return c.Labels[api.LabelTask] == api.True && pod != nil && pod.Kind == "Pod" && strings.HasPrefix(c.Name, prefix(pod.UID))
}

// For returns the claim of a pod that is placed, with a request for each of its devices.
// It belongs to the pod and goes with it.
// The reservation is rounded up to whole MiB, the steps in which drivers count memory.
func For(pod *corev1.Pod, at api.Placement) (*resourcev1.ResourceClaim, error) {
	entry, ok := Entry(pod)
	if !ok {
		return nil, ErrNoEntry
	}
	yes := true
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: Name(pod, at), Labels: map[string]string{api.LabelTask: api.True},
			Annotations:     map[string]string{resourcev1.PodResourceClaimAnnotation: entry, api.AnnotationGPU: at.GPU()},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests(at)}},
	}, nil
}

// requests asks for each device of a placement by an expression that it fulfils and no
// other.
func requests(at api.Placement) []resourcev1.DeviceRequest {
	mib := (at.Reserved + profile.MiB - 1) / profile.MiB * profile.MiB
	uuids := strings.Split(at.Address, ",")
	list := make([]resourcev1.DeviceRequest, len(uuids))
	for i, uuid := range uuids {
		list[i] = resourcev1.DeviceRequest{
			Name: request,
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: nodes.Driver,
				Selectors:       []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.attributes[%q].uuid == %q", nodes.Driver, uuid)}}},
				Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
					capacity: *resource.NewQuantity(int64(mib), resource.BinarySI),
				}},
			},
		}
		if len(uuids) > 1 {
			list[i].Name = fmt.Sprintf("%s-%d", request, i)
		}
	}
	return list
}

// Missing reports whether a pod that is placed does not point to the claim of its
// placement. Without a claim no scheduler looks at it; it may also point to an earlier one.
func Missing(pod *corev1.Pod, at api.Placement) bool {
	entry, ok := Entry(pod)
	return ok && pod.Spec.NodeName == "" && !slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool {
		return s.Name == entry && s.ResourceClaimName != nil && *s.ResourceClaimName == Name(pod, at)
	})
}

// Status points a pod to its claim.
func Status(pod *corev1.Pod, at api.Placement) []corev1.PodResourceClaimStatus {
	entry, ok := Entry(pod)
	if !ok {
		return nil
	}
	name := Name(pod, at)
	return []corev1.PodResourceClaimStatus{{Name: entry, ResourceClaimName: &name}}
}

// Device is a device that a claim holds.
type Device struct{ Pool, Name string }

// Held lists the devices of our driver that a claim of somebody else holds. Claims of
// ours, and those that hold nothing yet, have none.
func Held(c *resourcev1.ResourceClaim) []Device {
	if ours(c) || c.Status.Allocation == nil {
		return nil
	}
	var list []Device
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.Driver == nodes.Driver {
			list = append(list, Device{r.Pool, r.Device})
		}
	}
	return list
}

// Trim returns what [Held] needs of a claim.
func Trim(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, OwnerReferences: c.OwnerReferences}}
	if value, set := c.Labels[api.LabelTask]; set {
		out.Labels = map[string]string{api.LabelTask: value}
	}
	if !ours(c) {
		out.Status.Allocation = c.Status.Allocation
	}
	return out
}

// Error is a reason why a pod or a claim cannot be used.
type Error string

// Error returns the reason.
func (e Error) Error() string { return string(e) }

const (
	// ErrNoEntry means that a pod does not ask for the claim by which it would be bound.
	ErrNoEntry = Error(`it has no resourceClaims entry {name: gpu, resourceClaimTemplateName: ` + Template + `}: -binding claim needs one, and a container that lists it under resources.claims`)
	// ErrEntry means that a pod asks for a claim and nobody makes claims.
	ErrEntry = Error("it asks for a ResourceClaim of the template " + Template + ", and collocd runs with -binding annotate, which makes none")
)
