package books_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/profile"
)

var epoch = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return epoch }

// gpuNode has count cards of a product, 64 CPUs and room for 110 pods.
func gpuNode(name, product string, mib, count int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "nvidia.com/gpu.product": product,
			"nvidia.com/gpu.memory": strconv.Itoa(mib), "nvidia.com/gpu.count": strconv.Itoa(count),
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"), corev1.ResourcePods: resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// taskPod waits, with annotations given as key and value.
func taskPod(n int, annotations ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("task-%d", n), UID: types.UID(fmt.Sprintf("uid-%06d", n)), ResourceVersion: strconv.Itoa(100000 + n),
			Labels: map[string]string{api.LabelTask: api.True}, Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(n)*time.Second - time.Hour)),
		},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: api.Gate}},
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}}}},
		},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

// profiles knows a light and a heavy task, and none else.
func profiles(tb testing.TB) func(namespace, name string) pods.Known {
	tb.Helper()
	known := map[string]pods.Known{}
	for name, busy := range map[string]float64{"light": 0.25, "heavy": 0.95} {
		a100, _ := profile.LookupGPU("A100-40GB")
		p, err := profile.New(profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 16}}, profile.Trace{Samples: []profile.Sample{{
			At: epoch, Window: time.Minute, SMActive: profile.Some(busy), GPUBusy: profile.Some(busy), DRAMActive: profile.Some(busy / 2), MemUsed: profile.Some(8 * profile.GiB),
		}}}, a100)
		if err != nil {
			tb.Fatal(err)
		}
		known[name] = pods.Known{Profile: &p, Version: "1"}
	}
	return func(_, name string) pods.Known { return known[name] }
}

func planner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// open returns open Books of some nodes.
func open(tb testing.TB, batch int, nodes ...*corev1.Node) *books.Books {
	tb.Helper()
	return opened(tb, books.Config{Batch: batch}, nodes...)
}

// openShared is open where namespaces share.
func openShared(tb testing.TB, share []string, nodes ...*corev1.Node) *books.Books {
	tb.Helper()
	tenancy, err := pods.ParseTenancy(share)
	if err != nil {
		tb.Fatal(err)
	}
	return opened(tb, books.Config{Tenancy: tenancy}, nodes...)
}

func opened(tb testing.TB, c books.Config, nodes ...*corev1.Node) *books.Books {
	tb.Helper()
	c.Planner, c.Profile = planner(tb), profiles(tb)
	if c.Now == nil {
		c.Now = clock
	}
	b, err := books.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range nodes {
		b.SetNode(n)
	}
	b.Open()
	return b
}

// larger is a task on a V100, where it takes 20 GiB.
func larger(t *testing.T) *profile.Profile {
	t.Helper()
	v100, _ := profile.LookupGPU("V100-32GB")
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: "both"}, Training: profile.Training{BatchSize: 16}}, profile.Trace{Samples: []profile.Sample{{
		At: epoch, Window: time.Minute, SMActive: profile.Some(.3), GPUBusy: profile.Some(.3), MemUsed: profile.Some(20 * profile.GiB),
	}}}, v100)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// bound reports whether a pod carries a decision.
func bound(pod *corev1.Pod) bool {
	return pod.Annotations[api.AnnotationGPU] != "" || pod.Annotations[api.AnnotationShadow] != ""
}
