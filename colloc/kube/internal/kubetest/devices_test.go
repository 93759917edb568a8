//go:build kube

package kubetest

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
