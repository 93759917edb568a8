//go:build kube

package kubetest_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

const deploy = "../../deploy/"

var profiles = schema.GroupVersionResource{Group: api.ProfileGroup, Version: api.ProfileVersion, Resource: api.ProfileResource}

// newProfile returns a Profile whose specification is JSON.
func newProfile(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": api.ProfileGroup + "/" + api.ProfileVersion, "kind": api.ProfileKind}}
	o.SetName(name)
	o.SetNamespace("default")
	var s any
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	o.Object["spec"] = s
	return o
}

// The manifests are what a real API server takes, and do what they say.
func TestDeploy(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	c.Apply(deploy + "observe") // with gate and base
	c.Await("Profiles are served", func() bool {
		_, err := c.Dynamic.Resource(profiles).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	t.Run("profiles", func(t *testing.T) { testProfiles(t, c) })
	t.Run("gate", func(t *testing.T) { testGate(t, c) })
	t.Run("observe", func(t *testing.T) { testDeployment(t, c) })
}

// The deployment of observe is base's with more, and its volume is there.
func testDeployment(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	d, err := c.Client.AppsV1().Deployments("colloc-system").Get(t.Context(), "collocd", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 1 || len(d.Spec.Template.Spec.Containers) != 1 || len(d.Spec.Template.Spec.Volumes) != 1 {
		t.Fatalf("the deployment: %v, %v", d, err)
	}
	base, err := kubetest.Manifests(deploy + "base/collocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	containers, _, err := unstructured.NestedSlice(base[0].Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := containers[0].(map[string]any)
	args, _, err := unstructured.NestedStringSlice(own, "args")
	if err != nil || len(args) == 0 {
		t.Fatalf("base's arguments: %q, %v", args, err)
	}
	for _, a := range args {
		if !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, a) {
			t.Errorf("observe drops base's argument %s", a)
		}
	}
	name := d.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName
	if _, err := c.Client.CoreV1().PersistentVolumeClaims("colloc-system").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A Profile has a schema, a status of its own, columns and an explanation.
func testProfiles(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	ctx, of := t.Context(), c.Dynamic.Resource(profiles).Namespace("default")
	const sound = `{"model": {"name": "ResNet-50", "family": "cnn"}, "training": {"batch_size": 64, "precision": "mixed"},
		"measured": [{"gpu": "RTX 3090", "sample": {"gpu_busy": 0.9, "mem_used": "5GiB", "step_time": 120000000}}]}`
	if _, err := of.Create(ctx, newProfile(t, "resnet", sound), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"no batch", `"batch_size": 64, `, "", "batch_size"},
		{"batch of 0", `64`, "0", "batch_size"},
		{"unknown precision", `"mixed"`, `"fp7"`, "precision"},
		{"more than busy", `0.9`, `9`, "gpu_busy"},
		{"a field that does not exist", `"name"`, `"nome"`, "nome"},
		{"no name of a GPU", `"gpu": "RTX 3090", `, "", "gpu"},
	} {
		_, err := of.Create(ctx, newProfile(t, "broken", strings.Replace(sound, tt.old, tt.new, 1)), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	status := []byte(`{"spec": {"training": {"batch_size": 1}}, "status": {"measured": [{"gpu": "A100", "at": "2026-01-02T03:04:05Z", "sample": {"sm_active": 0.5}}]}}`)
	o, err := of.Patch(ctx, "resnet", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	if batch, _, _ := unstructured.NestedInt64(o.Object, "spec", "training", "batch_size"); batch != 64 {
		t.Errorf("who writes the status changes the batch to %d", batch)
	}
	table, err := c.Client.RESTClient().Get().AbsPath("/apis", api.ProfileGroup, api.ProfileVersion, "namespaces/default", api.ProfileResource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Model"`, `"ResNet-50"`, `"RTX 3090"`, `"A100"`, `"mixed"`} {
		if !strings.Contains(string(table), want) {
			t.Errorf("kubectl get would not show %s: %s", want, table)
		}
	}
	c.Await("kubectl explain knows batch_size", func() bool {
		doc, err := c.Client.RESTClient().Get().AbsPath("/openapi/v3/apis", api.ProfileGroup, api.ProfileVersion).DoRaw(ctx)
		return err == nil && strings.Contains(string(doc), "Samples that one GPU holds at once.")
	})
}

// gates returns the names of a pod's gates.
func gates(p *corev1.Pod) []string {
	var names []string
	for _, g := range p.Spec.SchedulingGates {
		names = append(names, g.Name)
	}
	return names
}

// The policy adds the gate to pods with the label alone, once, and keeps other gates.
func testGate(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	const kueue = "kueue.x-k8s.io/admission"
	for i, tt := range []struct {
		name   string
		label  string
		before []string
		node   string
		want   []string
	}{
		{"ours", api.True, nil, "", []string{api.Gate}},
		{"beside Kueue's", api.True, []string{kueue}, "", []string{kueue, api.Gate}},
		{"there already", api.True, []string{api.Gate}, "", []string{api.Gate}},
		{"not ours", "", nil, "", nil},
		{"said no", "false", nil, "", nil},
		{"bound by its owner", api.True, nil, "somewhere", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plain("gate-" + string(rune('a'+i)))
			if tt.label != "" {
				p.Labels = map[string]string{api.LabelTask: tt.label}
			}
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i"}}
			p.Spec.NodeName = tt.node
			for _, g := range tt.before {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: g})
			}
			var got []string
			create := func() bool {
				q, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err != nil {
					t.Fatal(err)
				}
				got = gates(q)
				slices.Sort(got)
				slices.Sort(tt.want)
				for _, in := range append(q.Spec.InitContainers, q.Spec.Containers...) { // each has the variables, if the pod has the gate
					from := map[string]string{}
					for _, e := range in.Env {
						if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
							from[e.Name] = e.ValueFrom.FieldRef.FieldPath
						}
					}
					has := len(in.Env) == 3 && from["NVIDIA_VISIBLE_DEVICES"] == "metadata.annotations['"+api.AnnotationUUID+"']" &&
						from["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "metadata.annotations['"+api.AnnotationMPSLimit+"']" &&
						from["CUDA_DEVICE_MEMORY_LIMIT"] == "metadata.annotations['"+api.AnnotationHAMiLimit+"']"
					if has != slices.Contains(got, api.Gate) {
						return false
					}
				}
				return slices.Equal(got, tt.want)
			}
			if i == 0 { // it takes a moment until a policy holds
				c.Await("the policy holds", create)
			} else if !create() {
				t.Errorf("gates %q, want %q", got, tt.want)
			}
		})
	}
}

// A task's pod with gates can be bound by a patch; the API server keeps what is decided.
func TestGatedPod(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	c.AddNodes(kubetest.Nodes(2, "gpu", kubetest.Node{})...)
	p := plain("p")
	p.Spec.Containers[0].Resources.Limits = nil
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: api.Gate}}
	pods := c.Client.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"spec": {"schedulingGates": [], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
		{"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}]}}}}}`)
	if _, err := pods.Patch(t.Context(), "p", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("the pod is bound", func() bool {
		q, err := pods.Get(context.Background(), "p", metav1.GetOptions{})
		return err == nil && q.Spec.NodeName == "gpu-1"
	})
	again := []byte(`{"spec": {"schedulingGates": [{"name": "colloc.example.com/place"}]}}`)
	if _, err := pods.Patch(t.Context(), "p", types.MergePatchType, again, metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a gate comes back: %v", err)
	}
}
