package claims_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
)

// claimant is a pod with entries of some templates.
func claimant(templates ...string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.UID, pod.Name, pod.Namespace = "u-1", "p", "team"
	for i := range templates {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "c-" + templates[i], ResourceClaimTemplateName: &templates[i]})
	}
	return pod
}

func TestFor(t *testing.T) {
	at := api.Placement{Node: "n1", Device: "gpu-0", Address: "GPU-a", Reserved: 1<<30 + 1}
	if _, err := claims.For(claimant("theirs"), at); !errors.Is(err, claims.ErrNoEntry) {
		t.Errorf("got %v, want that the pod asks for none", err)
	}
	pod := claimant("theirs", claims.Template)
	c, err := claims.For(pod, at)
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Spec.Devices.Requests[0].Exactly.Capacity.Requests["memory"]; m.Value() != 1025<<20 {
		t.Errorf("1 GiB and a byte are counted as %s, want whole MiB and no less", m.String())
	}
	if c.Annotations[resourcev1.PodResourceClaimAnnotation] != "c-colloc" || c.OwnerReferences[0].UID != pod.UID || !*c.OwnerReferences[0].Controller || c.Namespace != "team" {
		t.Errorf("the claim is not the pod's: %+v", c.ObjectMeta)
	}
	if again, _ := claims.For(pod, at); again.Name != c.Name {
		t.Errorf("the same placement has claims %q and %q", c.Name, again.Name)
	}
	for _, other := range []api.Placement{{Node: "n2", Device: "gpu-0", Address: "GPU-a", Reserved: at.Reserved}, {Node: "n1", Device: "gpu-0", Address: "GPU-a", Reserved: 7}} {
		if claims.Name(pod, other) == c.Name {
			t.Errorf("placement %+v has the claim of %+v", other, at)
		}
	}
}

func TestMissing(t *testing.T) {
	at := api.Placement{Node: "n1", Device: "gpu-0", Address: "GPU-a", Reserved: 7}
	pod := claimant(claims.Template)
	if !claims.Missing(pod, at) {
		t.Error("a pod that points nowhere misses nothing")
	}
	pod.Status.ResourceClaimStatuses = claims.Status(pod, at)
	if claims.Missing(pod, at) {
		t.Error("a pod that points to its claim misses it")
	}
	if moved := (api.Placement{Node: "n1", Device: "gpu-1", Address: "GPU-b", Reserved: 7}); !claims.Missing(pod, moved) {
		t.Error("a pod that points to the claim of an earlier placement misses nothing")
	}
	pod.Status.ResourceClaimStatuses, pod.Spec.NodeName = nil, "n1"
	if claims.Missing(pod, at) || claims.Missing(claimant("theirs"), at) {
		t.Error("a pod that runs, or asks for no claim of ours, misses one")
	}
}

func TestHeld(t *testing.T) {
	c := &resourcev1.ResourceClaim{}
	if claims.Held(c) != nil {
		t.Error("a claim that holds nothing holds something")
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Driver: "nic.example.com", Pool: "n1", Device: "eth0"}, {Driver: nodes.Driver, Pool: "n1", Device: "gpu-3"},
	}}}
	if got := claims.Held(claims.Trim(c)); len(got) != 1 || got[0] != (claims.Device{Pool: "n1", Name: "gpu-3"}) {
		t.Errorf("got %v, want the GPU", got)
	}
	own, err := claims.For(claimant(claims.Template), api.Placement{Node: "n1", Device: "gpu-3", Address: "GPU-a", Reserved: 7})
	if err != nil {
		t.Fatal(err)
	}
	own.Status = c.Status
	if claims.Held(own) != nil || claims.Held(claims.Trim(own)) != nil {
		t.Error("a claim of ours is taken for one of somebody else")
	}
	for name, forge := range map[string]func(*resourcev1.ResourceClaim){
		"of nobody":         func(c *resourcev1.ResourceClaim) { c.OwnerReferences = nil },
		"of another pod":    func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].UID = "u-2" },
		"of something else": func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Kind = "Job" },
		"of another name":   func(c *resourcev1.ResourceClaim) { c.Name = "mine" },
		"without our label": func(c *resourcev1.ResourceClaim) { c.Labels = nil },
	} {
		forged := own.DeepCopy()
		if forge(forged); len(claims.Held(claims.Trim(forged))) != 1 {
			t.Errorf("a claim %s is taken for one of ours", name)
		}
	}
}
