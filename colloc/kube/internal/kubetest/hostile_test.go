//go:build kube

package kubetest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// refused is one who tries something that has to be denied, with the words that say why.
type refused struct {
	name, want string
	try        func() error
}

func refuse(t *testing.T, list []refused) {
	t.Helper()
	for _, tt := range list {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.try(); err == nil || !strings.Contains(err.Error(), tt.want) || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// claimOf looks like collocd's claim of a pod.
func claimOf(pod *corev1.Pod) *resourcev1.ResourceClaim {
	yes := true
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: "colloc-" + string(pod.UID) + "-1", Labels: map[string]string{api.LabelTask: api.True},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com"}}}}},
	}
}

// What a tenant tries beside the doors that TestAttacks knows, what a namespace's admin tries,
// and what somebody tries who has stolen collocd's token: each is denied, and collocd goes on.
func TestHostile(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"clusterrole-aggregation-controller"}}, 1, a100)
	kubeconfig := account(t, c, c.Server, "claims", "evict")
	prepare(t, c, "default")
	user := tenant(t, c)
	pods := user.CoreV1().Pods("default")
	c.Collocd(program, kubeconfig)
	c.Await("the tenant may make pods", func() bool {
		_, err := pods.Create(t.Context(), task("default", "runs", "light"), metav1.CreateOptions{})
		return err == nil
	})
	settle(t, c, kubetest.Rules{}, 1)
	runs, err := pods.Get(t.Context(), "runs", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "admin"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "tenant"}},
	}
	if _, err := c.Client.RbacV1().RoleBindings("default").Create(t.Context(), admin, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("the tenant is admin", func() bool {
		_, err := user.RbacV1().Roles("default").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	created := func(spoil func(*corev1.Pod)) func() error {
		return func() error {
			p := task("default", "forged", "light")
			spoil(p)
			_, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
			return err
		}
	}
	write := []rbacv1.PolicyRule{{APIGroups: []string{api.Domain}, Resources: []string{"placements"}, Verbs: []string{"write"}}}
	refuse(t, []refused{
		{"mounts all devices", "nvidia-container-devices", created(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/var/run/nvidia-container-devices/all"}}
		})},
		{"asks for all devices by an annotation", "cdi.k8s.io", created(func(p *corev1.Pod) { p.Annotations["cdi.k8s.io/all"] = "nvidia.com/gpu=all" })},
		{"asks for all devices by an annotation, later", "cdi.k8s.io", func() error {
			_, err := pods.Patch(t.Context(), "runs", types.MergePatchType, []byte(`{"metadata": {"annotations": {"cdi.k8s.io/all": "nvidia.com/gpu=all"}}}`), metav1.PatchOptions{})
			return err
		}},
		{"asks the device plugin too", "device plugin", created(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
		})},
		{"asks the device plugin for an instance", "device plugin", created(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", Env: p.Spec.Containers[0].Env, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/mig-1g.5gb": resource.MustParse("1")}}}}
		})},
		{"writes a limit of memory", "collocd alone", created(func(p *corev1.Pod) { p.Annotations[api.AnnotationHAMiLimit] = "40g" })},
		{"makes a claim that looks like collocd's", "collocd alone", func() error {
			_, err := user.ResourceV1().ResourceClaims("default").Create(t.Context(), claimOf(runs), metav1.CreateOptions{})
			return err
		}},
		{"makes a claim look like collocd's", "collocd alone", func() error {
			claim := claimOf(runs)
			claim.Name, claim.Labels = "colloc-late", nil
			if _, err := user.ResourceV1().ResourceClaims("default").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := user.ResourceV1().ResourceClaims("default").Patch(t.Context(), claim.Name, types.MergePatchType, []byte(`{"metadata": {"labels": {"colloc.example.com/task": "true"}}}`), metav1.PatchOptions{})
			return err
		}},
		{"gives itself collocd's right", "attempting to grant", func() error {
			_, err := user.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: write}, metav1.CreateOptions{})
			return err
		}},
		{"gives itself collocd's role", "attempting to grant", func() error {
			b := admin.DeepCopy()
			b.Name, b.RoleRef.Name = "collocd", "collocd"
			_, err := user.RbacV1().RoleBindings("default").Create(t.Context(), b, metav1.CreateOptions{})
			return err
		}},
		{"takes a token of collocd's", "forbidden", func() error {
			_, err := user.CoreV1().Secrets("colloc-system").List(t.Context(), metav1.ListOptions{})
			return err
		}},
		{"takes collocd's Lease", "forbidden", func() error {
			return user.CoordinationV1().Leases("colloc-system").Delete(t.Context(), "collocd", metav1.DeleteOptions{})
		}},
		{"adds a container that sees all GPUs", "", func() error {
			p := runs.DeepCopy()
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "i", Env: []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}}}}
			_, err := pods.UpdateEphemeralContainers(t.Context(), "runs", p, metav1.UpdateOptions{})
			return err
		}},
	})
	t.Run("resizes a pod, and its decision with it", func(t *testing.T) {
		_, err := pods.Patch(t.Context(), "runs", types.StrategicMergePatchType, []byte(`{"metadata": {"labels": {"colloc.example.com/task": null}, "annotations": {"colloc.example.com/reserved": "1"}},
			"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]}}`), metav1.PatchOptions{}, "resize")
		now, get := pods.Get(t.Context(), "runs", metav1.GetOptions{})
		if get != nil || now.Annotations[api.AnnotationReserved] != runs.Annotations[api.AnnotationReserved] || now.Labels[api.LabelTask] != api.True {
			t.Errorf("%v; the pod has %v, %v", err, now.Annotations, get)
		}
	})
	// others says whether collocd still places a pod that is beside these.
	others := func(t *testing.T, wrong ...*corev1.Pod) {
		t.Helper()
		for _, p := range append(wrong, task("default", "after", "light")) {
			if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		settle(t, c, kubetest.Rules{}, 2)
		if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=runs"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("memory whose digits take minutes to write out", func(t *testing.T) {
		p := task("default", "huge", "light")
		p.Annotations[api.AnnotationMemory] = "1e7777777999"
		others(t, p)
	})
	t.Run("annotations of a quarter of a MiB", func(t *testing.T) { // the decision does not fit any more
		var stuffed []*corev1.Pod
		for i := range 3 {
			p := task("default", fmt.Sprintf("stuffed-%d", i), "light")
			const key, room = api.Domain + "/stuff", 20 // less than any decision takes
			free := 256<<10 - room - len(key)
			for name, value := range p.Annotations {
				free -= len(name) + len(value)
			}
			p.Annotations[key] = strings.Repeat("x", free)
			stuffed = append(stuffed, p)
		}
		others(t, stuffed...)
	})
	stolen(t, c, runs)
}

// stolen is what somebody tries who has collocd's token.
func stolen(t *testing.T, c *kubetest.Cluster, runs *corev1.Pod) {
	t.Helper()
	own := as(t, c, "colloc-system", "collocd")
	for _, ns := range []string{"kube-system", "default"} {
		if _, err := c.Client.CoreV1().Pods(ns).Create(t.Context(), plain("theirs"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	theirs := claimOf(runs)
	theirs.Name, theirs.Labels = "theirs", nil
	if _, err := c.Client.ResourceV1().ResourceClaims("default").Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(pod, text string, sub ...string) func() error {
		return func() error {
			_, err := own.CoreV1().Pods("default").Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}, sub...)
			return err
		}
	}
	refuse(t, []refused{
		{"token: evicts a pod of kube-system", "kube-system", func() error {
			return own.PolicyV1().Evictions("kube-system").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "theirs"}})
		}},
		{"token: deletes a tenant's claim", "claims with its label", func() error {
			return own.ResourceV1().ResourceClaims("default").Delete(t.Context(), "theirs", metav1.DeleteOptions{})
		}},
		{"token: makes a claim of its own", "claims with its label", func() error {
			claim := theirs.DeepCopy()
			claim.Name = "more"
			_, err := own.ResourceV1().ResourceClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
			return err
		}},
		{"token: marks another's pod", "only on pods with its label", patch("theirs", `{"metadata": {"annotations": {"colloc.example.com/gpu": "gpu-0/gpu-0"}}}`)},
		{"token: leads a service's calls elsewhere", "status", patch("runs", `{"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}}`, "status")},
		{"token: says that a pod has failed", "status", patch("runs", `{"status": {"phase": "Failed"}}`, "status")},
		{"token: says that a pod is ready", "status", patch("runs", `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, "status")},
		{"token: deletes a pod that runs", "on no node", func() error {
			return own.CoreV1().Pods("default").Delete(t.Context(), "runs", metav1.DeleteOptions{})
		}},
		{"token: adds an owner", "metadata", patch("runs", `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "theirs", "uid": "x"}]}}`)},
		{"token: adds a finalizer", "metadata", patch("runs", `{"metadata": {"finalizers": ["a.b/c"]}}`)},
		{"token: runs a program", "forbidden", func() error {
			_, err := own.CoreV1().Pods("default").Create(t.Context(), plain("mine"), metav1.CreateOptions{})
			return err
		}},
		{"token: binds", "forbidden", func() error {
			return own.CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Target: corev1.ObjectReference{Kind: "Node", Name: "gpu-0"}}, metav1.CreateOptions{})
		}},
		{"token: reads secrets", "forbidden", func() error {
			_, err := own.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
			return err
		}},
		{"token: writes a node", "forbidden", func() error {
			_, err := own.CoreV1().Nodes().Patch(t.Context(), "gpu-0", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
			return err
		}},
		{"token: deletes many pods", "forbidden", func() error {
			return own.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		}},
	})
}
