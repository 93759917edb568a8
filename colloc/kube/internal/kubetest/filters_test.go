//go:build kube

package kubetest_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// Pods with volumes, anti-affinity, affinity, spread and host ports are bound where the scheduler takes them, or
// wait with no card held: none is placed where it cannot start. One more node lets another of each start.
func TestFilters(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"deployment-controller", "replicaset-controller", "persistentvolume-binder-controller"}}, 2, a100)
	kubeconfig := account(t, c, c.Server)
	prepare(t, c, "default")
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	if _, err := c.Client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		volume(t, c, i)
	}
	c.Collocd(program, kubeconfig)
	var anti, near, spread, port func(*corev1.PodSpec)
	selects := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	anti = func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selects("anti"), TopologyKey: corev1.LabelHostname},
		}}}
	}
	near = func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selects("vol-0"), TopologyKey: corev1.LabelHostname},
		}}}
	}
	spread = func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects("spread")}}
	}
	port = func(s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
	}
	deployment(t, c, "anti", 3, anti)
	deployment(t, c, "near", 1, near) // it waits until vol-0 is there
	deployment(t, c, "spread", 4, spread)
	deployment(t, c, "port", 3, port)
	for i := range 2 {
		deployment(t, c, fmt.Sprintf("vol-%d", i), 1, func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("data-%d", i)}}}}
		})
	}
	bound := func(app string) map[string]int {
		on := map[string]int{}
		for _, p := range of(t, c, app) {
			if p.Spec.NodeName != "" {
				on[p.Spec.NodeName]++
			} else if p.Annotations[api.AnnotationGPU] != "" {
				on["placed only"]++
			}
		}
		return on
	}
	want := func(app, nodes string) {
		t.Helper()
		if !c.Try(func() bool { return fmt.Sprint(bound(app)) == nodes }) {
			t.Errorf("%s is on %v, want %s: %s", app, bound(app), nodes, why(t, c))
		}
	}
	all := func(anti, port string) {
		t.Helper()
		want("anti", anti)
		want("port", port)
		want("vol-0", "map[gpu-0:1]")
		want("vol-1", "map[gpu-1:1]")
		want("near", "map[gpu-0:1]")
	}
	all("map[gpu-0:1 gpu-1:1]", "map[gpu-0:1 gpu-1:1]")
	want("spread", "map[gpu-0:2 gpu-1:2]")
	third := a100
	third.Name = "gpu-2"
	c.AddNodes(third)
	all("map[gpu-0:1 gpu-1:1 gpu-2:1]", "map[gpu-0:1 gpu-1:1 gpu-2:1]")
	settle(t, c, kubetest.Rules{}, 13)
	rights(t, c)
}

// volume makes a local volume on node gpu-I, and a claim data-I that takes it.
func volume(t *testing.T, c *kubetest.Cluster, i int) {
	t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes, class := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, "local"
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("disk-%d", i)}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, StorageClassName: class,
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprintf("data-%d", i)},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("gpu-%d", i)}}},
		}}}},
	}}
	if _, err := c.Client.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("data-%d", i)}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	if _, err := c.Client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
