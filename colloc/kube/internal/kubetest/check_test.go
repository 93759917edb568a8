//go:build kube

package kubetest_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// placed returns a pod that collocd has put on the first card of n with 10 GiB.
func placed(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{api.LabelTask: api.True}, Annotations: map[string]string{
			api.AnnotationGPU: "n/gpu-0", api.AnnotationReserved: strconv.Itoa(10 << 30), api.AnnotationUUID: "0", api.AnnotationProfile: "p",
		}},
		Spec:   corev1.PodSpec{NodeName: "n", Containers: follows()},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: api.ConditionPlaced, Status: corev1.ConditionTrue}}},
	}
}

// follows is a container that has the GPU of its pod's decision.
func follows() []corev1.Container {
	return []corev1.Container{{Name: "c", Image: "train", Env: []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + api.AnnotationUUID + "']"},
	}}}}}
}

// Each promise that can be broken is found broken, and nothing else is.
func TestCheck(t *testing.T) {
	gate := []corev1.PodSchedulingGate{{Name: api.Gate}}
	for _, tt := range []struct {
		name  string
		spoil func(p *corev1.Pod) // the second of two pods that share a card
		want  string
	}{
		{"sound", func(*corev1.Pod) {}, ""},
		{"another card", func(p *corev1.Pod) { p.Annotations[api.AnnotationGPU] = "n/gpu-1" }, ""},
		{"waits", func(p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.SchedulingGates, p.Annotations = "", gate, nil
		}, ""},
		{"ended", func(p *corev1.Pod) { p.Status.Phase, p.Namespace = corev1.PodSucceeded, "b" }, ""},
		{"too much", func(p *corev1.Pod) { p.Annotations[api.AnnotationReserved] = strconv.Itoa(15 << 30) }, "set aside"},
		{"another namespace", func(p *corev1.Pod) { p.Namespace = "b" }, "shares with namespace"},
		{"alone", func(p *corev1.Pod) { p.Annotations[api.AnnotationAlone] = api.True }, "alone"},
		{"unknown", func(p *corev1.Pod) { delete(p.Annotations, api.AnnotationProfile) }, "alone"},
		{"another node", func(p *corev1.Pod) { p.Spec.NodeName = "m" }, "bound to m"},
		{"no card", func(p *corev1.Pod) { delete(p.Annotations, api.AnnotationGPU) }, "on no GPU"},
		{"no such card", func(p *corev1.Pod) { p.Annotations[api.AnnotationGPU] = "n/gpu-2" }, "does not exist"},
		{"half written", func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.SchedulingGates = "", gate }, "still gated"},
		{"nothing reserved", func(p *corev1.Pod) { p.Annotations[api.AnnotationReserved] = "0" }, "reserves"},
		{"no label", func(p *corev1.Pod) { p.Labels, p.Annotations[api.AnnotationReserved] = nil, strconv.Itoa(15<<30) }, "set aside"},
		{"names its GPU", func(p *corev1.Pod) {
			p.Annotations, p.Spec.Containers[0].Env[0] = nil, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}
		}, "may use it too"},
		{"no device", func(p *corev1.Pod) { p.Annotations[api.AnnotationUUID] = "" }, "NVIDIA_VISIBLE_DEVICES"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := placed("q")
			tt.spoil(p)
			report := check(t, placed("p"), p)
			if tt.want == "" && len(report.Faults) != 0 || tt.want != "" && (len(report.Faults) != 1 || !strings.Contains(report.Faults[0], tt.want)) {
				t.Errorf("got %q, want %q", report.Faults, tt.want)
			}
		})
	}
	silent := placed("p")
	silent.Status.Conditions = nil
	if report := check(t, silent); len(report.Faults) != 0 || !slices.Equal(report.Untold, []string{"a/p"}) {
		t.Errorf("a pod without a condition: %+v", report)
	}
	three := check(t, placed("p"), placed("q"), placed("r"))
	if !slices.ContainsFunc(three.Faults, func(s string) bool { return strings.Contains(s, "3 tasks, 2 are allowed") }) {
		t.Errorf("three on a card: %q", three.Faults)
	}
	if three.Bound != 3 || three.Tasks()[3] != 1 || three.Cards["n/gpu-0"].Reserved != 30<<30 {
		t.Errorf("the books are wrong: %+v", three)
	}
}

// check judges pods on a node n with two cards of 24 GiB, and a node m with none.
func check(t *testing.T, pods ...*corev1.Pod) *kubetest.Report {
	t.Helper()
	labels := map[string]string{"nvidia.com/gpu.product": "X", "nvidia.com/gpu.count": "2", "nvidia.com/gpu.memory": "24576"}
	objects := []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}},
	}
	for _, p := range pods {
		objects = append(objects, p)
	}
	report, err := kubetest.Check(t.Context(), fake.NewClientset(objects...), kubetest.Rules{MaxSet: 2})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
