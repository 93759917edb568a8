package pods_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

func gated(gates ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "u", ResourceVersion: "7"}}
	for _, g := range gates {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: g})
	}
	return pod
}

func TestPhase(t *testing.T) {
	at := api.Placement{Node: "n1", Device: "gpu-0", Address: "0", Reserved: 5}
	now := metav1.NewTime(time.Unix(1, 0))
	for _, tt := range []struct {
		name  string
		gates []string
		spoil func(*corev1.Pod)
		want  pods.Phase
	}{
		{"ours alone", []string{api.Gate}, nil, pods.Waiting},
		{"ours and another", []string{api.Gate, "kueue.x-k8s.io/admission"}, nil, pods.Held},
		{"another alone", []string{"kueue.x-k8s.io/admission"}, nil, pods.Loose},
		{"none", nil, nil, pods.Loose},
		{"decided", nil, func(p *corev1.Pod) { p.Annotations = at.Annotations() }, pods.Placed},
		{"decided and gated", []string{api.Gate}, func(p *corev1.Pod) { p.Annotations = at.Annotations() }, pods.Waiting},
		{"decided, unreadable", nil, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationGPU: "x"} }, pods.Loose},
		{"succeeded", nil, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, pods.Ended},
		{"failed", []string{api.Gate}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, pods.Ended},
		{"deleted before it ran", []string{api.Gate}, func(p *corev1.Pod) { p.DeletionTimestamp = &now }, pods.Ended},
		{"terminating on a node", nil, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Spec.NodeName, p.Annotations = &now, "n1", at.Annotations()
		}, pods.Placed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := gated(tt.gates...)
			if tt.spoil != nil {
				tt.spoil(pod)
			}
			got, carried := pods.PhaseOf(pod)
			if got != tt.want || (carried == at) != (tt.want == pods.Placed) {
				t.Errorf("got %v with %+v, want %v", got, carried, tt.want)
			}
		})
	}
}

func TestTask(t *testing.T) {
	known := pods.Known{Profile: &profile.Profile{}, Version: "3"}
	pod := gated(api.Gate)
	pod.Annotations = map[string]string{api.AnnotationProfile: "bert", api.AnnotationMemory: "2Gi", api.AnnotationMaxSlowdown: "inf"}
	d, err := api.ReadDemand(pod.Annotations)
	got, note := pods.Task(pod, &d, known, pods.Tenancy{Groups: [][]string{{"team", "lab"}, {"a", "b"}}})
	if err != nil || note != "" || got.ID != "u" || got.Alone || got.Reserved != 2*profile.GiB || !math.IsInf(got.MaxSlowdown, 1) || got.Width() != 1 {
		t.Errorf("got %+v, %q, %v", got, note, err)
	}
	if !slices.Equal(got.Labels, []string{"namespace:team"}) || !slices.Equal(got.Only, []string{"namespace:team", "namespace:lab"}) {
		t.Errorf("labels %v, only %v", got.Labels, got.Only)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	bare, note := pods.Task(gated(api.Gate), &api.Demand{}, pods.Known{}, pods.Tenancy{All: true})
	if note == "" || !bare.Alone || bare.Reserved != memory.Whole || bare.Only != nil {
		t.Errorf("a task of which nothing is known is %+v, %q", bare, note)
	}
	if bare.Kind == got.Kind || got.Kind == pods.Booked(got, 5).Kind {
		t.Error("tasks that differ are of one Kind")
	}
}

// TestPatch applies the patch as the API server does and looks at what matters: which
// node the pod may go to.
func TestPatch(t *testing.T) {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	for _, tt := range []struct {
		name  string
		terms []corev1.NodeSelectorTerm
		want  []corev1.NodeSelectorTerm
	}{
		{"none", nil, []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}}}},
		{
			"alternatives",
			[]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in("zone", "a")}}, {MatchExpressions: []corev1.NodeSelectorRequirement{in("zone", "b")}}},
			[]corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{in("zone", "a")}, MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}},
				{MatchExpressions: []corev1.NodeSelectorRequirement{in("zone", "b")}, MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}},
			},
		},
		{
			"pinned already",
			[]corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}}},
			[]corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}}},
		},
		{"a term that matches nothing", []corev1.NodeSelectorTerm{{}}, []corev1.NodeSelectorTerm{{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := gated("other", api.Gate)
			if tt.terms != nil {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: tt.terms}}}
			}
			body, err := pods.Patch(pod, api.Placement{Node: "n1", Device: "gpu-0", Address: "GPU-1", Reserved: 9}, true)
			if err != nil {
				t.Fatal(err)
			}
			var got corev1.Pod // the lists of a merge patch are those of the object afterwards
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms); diff != "" {
				t.Error(diff)
			}
			if got.UID != "u" || got.ResourceVersion != "7" || len(got.Spec.SchedulingGates) != 1 || got.Spec.SchedulingGates[0].Name != "other" || got.Annotations[api.AnnotationUUID] != "GPU-1" {
				t.Errorf("the patch is %s", body)
			}
		})
	}
}

// TestPatchLimits: a pod that is decided anew elsewhere keeps no limit of where it was.
func TestPatchLimits(t *testing.T) {
	pod := gated()
	pod.Annotations = api.Placement{Node: "n1", Device: "gpu-0", Address: "0", Reserved: 9, Limits: api.Limits{MPS: true, HAMi: true}}.Annotations()
	body, err := pods.Patch(pod, api.Placement{Node: "n2", Device: "gpu-0", Address: "0", Reserved: 9, Limits: api.Limits{HAMi: true}}, false)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Metadata struct{ Annotations map[string]any }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if mps, there := got.Metadata.Annotations[api.AnnotationMPSLimit]; !there || mps != nil || got.Metadata.Annotations[api.AnnotationHAMiLimit] != "1m" {
		t.Errorf("the patch is %s", body)
	}
}

// TestTrim: what is dropped changes nothing that collocd decides.
func TestTrim(t *testing.T) {
	pod := gated(api.Gate)
	pod.Labels = map[string]string{api.LabelTask: api.True, "app": "x"}
	pod.Annotations = map[string]string{api.AnnotationProfile: "bert", "big": string(make([]byte, 1000))}
	pod.Spec.NodeSelector = map[string]string{"a": "b"}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "n"}}}}
	priority := int32(3)
	pod.Spec.Priority = &priority
	trimmed := pods.Trim(pod)
	if got, want := nodes.ShapeOf(trimmed).Key, nodes.ShapeOf(pod).Key; got != want {
		t.Errorf("the trimmed pod asks for %q, want %q", got, want)
	}
	task := func(pod *corev1.Pod) colloc.Task {
		d, err := api.ReadDemand(pod.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		task, _ := pods.Task(pod, &d, pods.Known{}, pods.Tenancy{})
		return task
	}
	if diff := cmp.Diff(task(trimmed), task(pod)); diff != "" {
		t.Error(diff)
	}
	pod.Annotations[api.Domain+"/unknown"], pod.Annotations[api.AnnotationRate] = "x", strings.Repeat("x", 200<<10)
	if t2 := pods.Trim(pod); len(t2.Annotations) != 2 || len(t2.Annotations[api.AnnotationRate]) > 16<<10 {
		t.Errorf("it keeps %d annotations, of a query %d bytes", len(t2.Annotations), len(t2.Annotations[api.AnnotationRate]))
	}
	if trimmed.Annotations["big"] != "" || trimmed.Spec.Containers[0].Image != "" {
		t.Error("the trimmed pod holds what nobody needs")
	}
	if p, _ := pods.PhaseOf(trimmed); p != pods.Waiting {
		t.Errorf("the trimmed pod is %v", p)
	}
}

// TestAlone: a pod with several GPUs that is in no other gang is one by itself, of one pod.
func TestAlone(t *testing.T) {
	pod := gated(api.Gate)
	pod.Annotations = map[string]string{api.AnnotationGPUs: "2"}
	d, err := api.ReadDemand(pod.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	g, err := pods.GangOf(pod, d, nil)
	if want := fmt.Sprintf("gang %q of one pod", pod.Name); err != nil || g.String() != want {
		t.Errorf("it is %v, %v; want %s", g, err, want)
	}
}
