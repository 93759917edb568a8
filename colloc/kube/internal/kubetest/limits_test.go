//go:build kube

package kubetest_test

import (
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// variables are what a kubelet makes of those of a container that come from annotations; one
// that is not there is empty.
func variables(pod *corev1.Pod, in *corev1.Container) map[string]string {
	all := map[string]string{}
	for _, e := range in.Env {
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			name := strings.TrimSuffix(strings.TrimPrefix(e.ValueFrom.FieldRef.FieldPath, "metadata.annotations['"), "']")
			all[e.Name] = pod.Annotations[name]
		}
	}
	return all
}

// Where a node holds tasks to their memory each container is told how much that is, by
// variables that no tenant writes; where none does they are empty, and explain says so.
func TestLimits(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"clusterrole-aggregation-controller"}}, 0, a100)
	for name, labels := range map[string]map[string]string{"none": nil, "mps": {api.LabelMPS: api.True}, "hami": {api.LabelHAMi: api.True}, "said-no": {api.LabelMPS: "false"}} {
		node := a100
		node.Name, node.Labels = name, labels
		c.AddNodes(node)
	}
	kubeconfig := account(t, c, c.Server, "gate/policy.yaml")
	prepare(t, c, "default")
	user := tenant(t, c).CoreV1().Pods("default")
	c.Collocd(program, kubeconfig)
	bare := func(name, node, gpus string) *corev1.Pod {
		p := task("default", name, "light")
		p.Spec.SchedulingGates, p.Spec.Containers[0].Env = nil, nil
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		if gpus != "" {
			p.Annotations[api.AnnotationGPUs] = gpus
		}
		return p
	}
	for i, tt := range []struct{ node, gpus, mps, hami, says string }{
		{"none", "", "", "", "nothing holds it to that"},
		{"said-no", "", "", "", "nothing holds it to that"},
		{"mps", "", "0=14336M", "", "held to that by the driver, under MPS"},
		{"mps", "2", "0=14336M,1=14336M", "", "held to that by the driver, under MPS"},
		{"hami", "", "", "14336m", "held to that by HAMi-core"},
		{"hami", "2", "", "14336m", "held to that by HAMi-core"},
	} {
		name := tt.node + tt.gpus
		c.Await("the tenant may make pods, and the policy adds the gate", func() bool {
			p, err := user.Create(t.Context(), bare(name, tt.node, tt.gpus), metav1.CreateOptions{})
			return err == nil && len(p.Spec.SchedulingGates) == 1
		})
		settle(t, c, kubetest.Rules{}, i+1)
		p, err := user.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range append(p.Spec.InitContainers, p.Spec.Containers...) {
			got := variables(p, &in)
			if got["NVIDIA_VISIBLE_DEVICES"] == "" || got["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] != tt.mps || got["CUDA_DEVICE_MEMORY_LIMIT"] != tt.hami || len(got) != 3 {
				t.Errorf("%s, container %s: %q", name, in.Name, got)
			}
		}
		for who, with := range map[string]string{"an administrator": c.Kubeconfig(), "collocd's account": kubeconfig} {
			text, err := exec.Command(program, "explain", "--kubeconfig="+with, "--namespace=default", name).CombinedOutput()
			if err != nil || !strings.Contains(string(text), tt.says) {
				t.Errorf("%s is told of %s: %s, %v", who, name, text, err)
			}
		}
	}
	for _, own := range []corev1.EnvVar{
		{Name: "CUDA_DEVICE_MEMORY_LIMIT", Value: "40g"},
		{Name: "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"},
		{Name: "CUDA_DEVICE_MEMORY_LIMIT", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['mine']"}}},
	} {
		p := bare("own", "hami", "")
		p.Spec.Containers[0].Env = []corev1.EnvVar{own}
		if _, err := user.Create(t.Context(), p, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), own.Name+" and") && !strings.Contains(err.Error(), "and "+own.Name) {
			t.Errorf("%+v: %v", own, err)
		}
	}
}
