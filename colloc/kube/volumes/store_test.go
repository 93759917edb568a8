package volumes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc/kube/volumes"
)

func in(zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-" + zone, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// claim is one of the namespace default, bound to a volume or to none.
func claim(class, volume string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	c.Spec.VolumeName, c.Spec.StorageClassName = volume, &class
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	return c
}

func volume(zone, size string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	v.Spec.StorageClassName = "local"
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	return v
}

func class(name, provisioner string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones}}}}
	}
	return c
}

func TestRefuses(t *testing.T) {
	const none = "kubernetes.io/no-provisioner"
	labelled := volume("z1", "10Gi")
	labelled.Spec.NodeAffinity, labelled.Labels = nil, map[string]string{corev1.LabelTopologyZone: "z1__z3"}
	taken := volume("z1", "10Gi")
	taken.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "other"}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	for _, tt := range []struct {
		name    string
		objects []any
		want    [2]string // for a node in z1, and one in z2
	}{
		{"no claim", nil, [2]string{"volume claim data is not there", "volume claim data is not there"}},
		{"bound", []any{claim("", "v"), volume("z1", "10Gi")}, [2]string{"", "its volume is elsewhere"}},
		{"bound, by labels", []any{claim("", "v"), labelled}, [2]string{"", "its volume is elsewhere"}},
		{"bound to what is gone", []any{claim("", "v")}, [2]string{"the volume of claim data is not there", "the volume of claim data is not there"}},
		{"not bound yet", []any{claim("now", ""), class("now", "x", storagev1.VolumeBindingImmediate)}, [2]string{"volume claim data is not bound", "volume claim data is not bound"}},
		{"provided where the pod is", []any{claim("wait", ""), class("wait", "x", wait)}, [2]string{}},
		{"provided in one zone", []any{claim("wait", ""), class("wait", "x", wait, "z2", "z9")}, [2]string{"storage class wait", ""}},
		{"local", []any{claim("local", ""), class("local", none, wait), volume("z2", "20Gi")}, [2]string{"no volume there for claim data", ""}},
		{"local, too small", []any{claim("local", ""), class("local", none, wait), volume("z2", "5Gi")}, [2]string{"no volume there for claim data", "no volume there for claim data"}},
		{"local, taken", []any{claim("local", ""), class("local", none, wait), taken}, [2]string{"no volume there for claim data", "no volume there for claim data"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s volumes.Store
			for _, o := range tt.objects {
				s.Set(o)
			}
			for i, zone := range []string{"z1", "z2"} {
				if got := s.Refuses("default", []string{"data"}, in(zone)); got != tt.want[i] {
					t.Errorf("in %s: %q, want %q", zone, got, tt.want[i])
				}
				if got := s.Refuses("default", nil, in(zone)); got != "" {
					t.Errorf("without claims: %q", got)
				}
			}
		})
	}
}

func TestOf(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "a", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "c", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
	}
	if got := volumes.Of(p); len(got) != 2 || got[0] != "data" || got[1] != "p-c" {
		t.Errorf("got %q", got)
	}
}

// What the API server has is read once, or kept.
func TestReads(t *testing.T) {
	client := fake.NewClientset(claim("", "v"), volume("z1", "10Gi"), class("now", "x", storagev1.VolumeBindingImmediate))
	var once, kept volumes.Store
	if err := once.Load(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	changed := make(chan bool, 8)
	if err := kept.Watch(t.Context(), client, func() { changed <- true }); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*volumes.Store{&once, &kept} {
		if s.Refuses("default", []string{"data"}, in("z1")) != "" || s.Refuses("default", []string{"data"}, in("z2")) == "" {
			t.Error("the volume is not where it is")
		}
	}
	for range 3 {
		<-changed
	}
	if err := client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	<-changed
	if kept.Refuses("default", []string{"data"}, in("z1")) == "" {
		t.Error("a claim that is gone has its volume")
	}
}
