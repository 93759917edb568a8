package advice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/advice"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/prom"
)

// counter is what the fake Prometheus has of a pod.
type counter struct{ busy, sm, memory float64 }

// prometheus answers the questions of package advice, with series under the names of a server that keeps
// its own labels.
func prometheus(t *testing.T, of map[string]counter, held string) *prom.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query().Get("query")
		result := []any{}
		add := func(labels map[string]string, x string) {
			result = append(result, map[string]any{"metric": labels, "value": []any{1, x}})
		}
		if strings.HasPrefix(query, "(count(") && held != "" {
			add(nil, "500")
		}
		if strings.HasPrefix(query, "avg_over_time((count(") && held != "" {
			add(nil, held)
		}
		for name, c := range of {
			namespace, pod, _ := strings.Cut(name, "/")
			x, known := 0.0, true
			switch {
			case strings.HasPrefix(query, "avg_over_time(DCGM_FI_DEV_GPU_UTIL["):
				x = c.busy
			case strings.HasPrefix(query, "avg_over_time(DCGM_FI_PROF_SM_ACTIVE["):
				x = c.sm
			case strings.HasPrefix(query, "max_over_time(DCGM_FI_DEV_FB_USED["):
				x = c.memory
			default:
				known = false
			}
			if known && x >= 0 {
				add(map[string]string{"pod": "dcgm-exporter-x", "namespace": "gpu-operator", "exported_pod": pod, "exported_namespace": namespace, "UUID": "GPU-" + pod}, strconv.FormatFloat(x, 'g', -1, 64))
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}})
	}))
	t.Cleanup(s.Close)
	return &prom.Server{URL: s.URL}
}

func node(name, product, replicas string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": "40960", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": replicas,
	}}}
}

// pod runs on a node and asks the device plugin for GPUs.
func pod(namespace, name, on, what string, n int64) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.NodeName, p.Status.Phase = on, corev1.PodRunning
	if n > 0 {
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceName("nvidia.com/" + what): *resource.NewQuantity(n, resource.DecimalSI),
		}}}}
	}
	return p
}

// Of 500 pods on a cluster with the device plugin sets are named that fit and that are of one namespace;
// the sums are those of the sets, and nothing is asked of the API server but lists.
func TestAdvice(t *testing.T) {
	const n = 500
	var objects []runtime.Object
	of := map[string]counter{}
	products := []string{"NVIDIA-A100-SXM4-40GB", "Tesla-V100-SXM2-32GB"}
	on := map[string]string{}
	for i := range 64 {
		objects = append(objects, node(fmt.Sprintf("n%d", i), products[i%2], "1"))
	}
	for i := range n {
		p := pod([]string{"red", "blue"}[i%3%2], fmt.Sprintf("p%d", i), fmt.Sprintf("n%d", i/8), "gpu", 1)
		objects = append(objects, p)
		on[p.Namespace+"/"+p.Name] = products[i/8%2]
		of[p.Namespace+"/"+p.Name] = []counter{{25, 0.1, 4000}, {96, 0.9, 12000}, {50, 0.35, 9000}, {90, 0.8, 30000}}[i%4]
	}
	objects = append(objects, node("shared", products[0], "4"), node("mig", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", ""), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cpu"}},
		pod("red", "gang", "n1", "gpu", 4), pod("red", "slice", "n1", "mig-1g.5gb", 1), pod("red", "replica", "shared", "gpu", 1),
		pod("red", "nowhere", "cpu", "gpu", 1), pod("red", "unseen", "n1", "gpu", 1), pod("red", "half", "n1", "gpu", 1), pod("red", "web", "n1", "", 0),
		pod("red", "huge", "n1", "gpu", 1))
	of["red/half"] = counter{-1, -1, 100}
	of["red/huge"] = counter{90, 0.8, 39000}
	client := fake.NewClientset(objects...)
	planner, err := colloc.New(colloc.Config{MaxSet: 2, LeaveOutFaulty: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := advice.New(t.Context(), advice.Config{Client: client, Prometheus: prometheus(t, of, "250"), Planner: planner})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("it asked to %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	if r.Pods != n+7 || r.GPUs != n+9 || r.Judged != n || len(r.Left) != 7 {
		t.Errorf("%d pods with %d GPUs, %d judged, not: %v; want %d, %d, %d and 7 reasons", r.Pods, r.GPUs, r.Judged, r.Left, n+7, n+9, n)
	}
	used, worth, free := map[string]bool{}, 0.0, 0
	for _, s := range r.Sets {
		sum := -1.0
		for _, m := range s.Members {
			if used[m.Pod] || of[m.Pod].memory == 0 || m.Pod[:3] != s.Members[0].Pod[:3] || on[m.Pod] != on[s.Members[0].Pod] || of[m.Pod].memory > float64(s.Memory)/(1<<20) {
				t.Errorf("%s is in %+v", m.Pod, s)
			}
			used[m.Pod] = true
			sum += m.Speed.Value
		}
		if len(s.Members) != 2 || s.Memory > s.Usable || math.Abs(sum-s.Worth) > 1e-9 || sum < 0.1 {
			t.Errorf("no set that pays: %+v", s)
		}
		worth, free = worth+sum, free+1
	}
	if len(r.Sets) < 50 || r.Free != free || math.Abs(r.Hours-worth*168/2) > 1e-6 || r.Lo > r.Hours || r.Hi < r.Hours {
		t.Errorf("%d sets worth %g free %d; the report says %d and %g hours (%g to %g), of half of a week", len(r.Sets), worth, free, r.Free, r.Hours, r.Lo, r.Hi)
	}
	var out, again bytes.Buffer
	if err := r.Write(&out, 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"507 pods hold 509 GPUs", "500 of them", "1 take several GPUs", "GPU hours a week less", "50 % of the GPUs", fmt.Sprintf("and %d sets more", len(r.Sets)-3)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	second, err := advice.New(t.Context(), advice.Config{Client: client, Prometheus: prometheus(t, of, "250"), Planner: planner})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Write(&again, 3); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the second time it says\n%s, %v", again.String(), err)
	}
	t.Logf("\n%s", out.String())
}

// Where nothing was seen it says so, and what to change.
func TestNothingSeen(t *testing.T) {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(node("n1", "Tesla-T4", ""), pod("a", "p", "n1", "gpu", 1))
	r, err := advice.New(t.Context(), advice.Config{Client: client, Prometheus: prometheus(t, nil, ""), Planner: planner, Tenancy: pods.Tenancy{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Write(&out, 3); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "DCGM_EXPORTER_KUBERNETES=true") || !strings.Contains(out.String(), "No two of them") {
		t.Error(out.String())
	}
	if _, err := advice.New(t.Context(), advice.Config{Client: client, Planner: planner}); err == nil {
		t.Error("no error without a Prometheus")
	}
	if _, err := advice.New(t.Context(), advice.Config{Client: client, Planner: planner, Prometheus: &prom.Server{URL: "http://127.0.0.1:1"}}); err == nil {
		t.Error("no error where Prometheus does not answer")
	}
}
