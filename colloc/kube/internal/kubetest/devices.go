//go:build kube

package kubetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc/kube/api"
)

const driver = "gpu.nvidia.com"

// AddDevices offers the GPUs of nodes as a DRA driver does that lets several claims share
// a GPU and counts their memory.
func (c *Cluster) AddDevices(nodes ...Node) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}}},
	}}
	if _, err := c.Client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		c.tb.Fatal(err)
	}
	c.Many(len(nodes), func(ctx context.Context, i int) error {
		_, err := c.Client.ResourceV1().ResourceSlices().Create(ctx, nodes[i].devices(), metav1.CreateOptions{})
		return err
	})
}

func (n *Node) devices() *resourcev1.ResourceSlice {
	yes := true
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range n.GPUs {
		uuid := fmt.Sprintf("GPU-%s-%d", n.Name, i)
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i), AllowMultipleAllocations: &yes,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuid}, "productName": {StringValue: &n.Product}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: *resource.NewQuantity(int64(n.MiB)<<20, resource.BinarySI)}},
		})
	}
	return s
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
