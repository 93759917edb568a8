package claims_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/profile"
)

func Example() {
	template := claims.Template
	pod := &corev1.Pod{}
	pod.UID = "2f1e"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}

	claim, err := claims.For(pod, api.Placement{Node: "n1", Device: "gpu-3", Address: "GPU-9a", Reserved: 12 * profile.GiB})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := claim.Spec.Devices.Requests[0].Exactly
	memory := r.Capacity.Requests["memory"]
	fmt.Println(r.DeviceClassName, memory.String())
	fmt.Println(r.Selectors[0].CEL.Expression)
	// Output:
	// gpu.nvidia.com 12Gi
	// device.attributes["gpu.nvidia.com"].uuid == "GPU-9a"
}
