package observe_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/observe"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/prom"
	"example.com/colloc/profile"
)

var epoch = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is one card with pods on it and a Prometheus that says what the test wants.
type world struct {
	now      time.Time
	answers  map[string]string // by query: the vector's series, as JSON
	client   *fake.Clientset
	books    *books.Books
	events   *record.FakeRecorder
	observer *observe.Observer
	evicted  []string
	refuse   error // what the Eviction API answers
}

// stalls is a query that is never answered.
const stalls = "stalls"

// running is a pod that runs on the card with 10 GiB.
func running(n int, annotations ...string) *corev1.Pod {
	at := api.Placement{Node: "n1", Device: "gpu-0", Address: "0", Reserved: 10 << 30}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("p-%d", n), UID: types.UID(fmt.Sprintf("u-%d", n)), ResourceVersion: "1",
			Labels: map[string]string{api.LabelTask: api.True}, Annotations: at.Annotations(), CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(n) * time.Second)),
		},
		Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

// known is the Profile of every name: alone on the card a step takes 100 ms.
func known(t *testing.T, name string) pods.Known {
	t.Helper()
	gpu, _ := profile.LookupGPU("A100-40GB")
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 16}}, profile.Trace{Samples: []profile.Sample{{
		At: epoch, Window: time.Minute, GPUBusy: profile.Some(0.5), MemUsed: profile.Some(8 * profile.GiB), StepTime: profile.Some(100 * time.Millisecond),
	}}}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	return pods.Known{Profile: &p, Version: "1"}
}

func newWorld(t *testing.T, policy observe.Policy, pods ...*corev1.Pod) *world {
	t.Helper()
	return newWorldWithin(t, time.Hour, policy, pods...)
}

// newWorldWithin is newWorld with a QueryTime.
func newWorldWithin(t *testing.T, queryTime time.Duration, policy observe.Policy, list ...*corev1.Pod) *world {
	t.Helper()
	w := &world{now: epoch, answers: map[string]string{}, events: record.NewFakeRecorder(100)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("query") == stalls {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(rw, `{"status":"success","data":{"resultType":"vector","result":[`+w.answers[r.URL.Query().Get("query")]+`]}}`)
	}))
	t.Cleanup(server.Close)
	objects := make([]runtime.Object, len(list))
	for i, p := range list {
		objects[i] = p
	}
	w.client = fake.NewClientset(objects...)
	w.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if create, ok := a.(clienttesting.CreateAction); ok && a.GetSubresource() == "eviction" {
			if e, ok := create.GetObject().(*policyv1.Eviction); ok && w.refuse == nil {
				w.evicted = append(w.evicted, e.Name)
			}
			return true, nil, w.refuse
		}
		return false, nil, nil
	})
	planner, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return w.now }
	if w.books, err = books.New(books.Config{Planner: planner, Now: clock, Profile: func(_, name string) pods.Known { return known(t, name) }}); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.memory": "40960"}}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	w.books.SetNode(node)
	for _, p := range list {
		w.books.SetPod(p)
	}
	w.books.Open()
	w.observer, err = observe.New(observe.Config{
		Client: w.client, Books: w.books, Prometheus: &prom.Server{URL: server.URL, Timeout: time.Hour}, QueryTime: queryTime, Events: w.events, Policy: policy, Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// on moves a pod to another card.
func on(card int, pod *corev1.Pod) *corev1.Pod {
	at := api.Placement{Node: "n1", Device: fmt.Sprintf("gpu-%d", card), Address: strconv.Itoa(card), Reserved: 10 << 30}
	maps.Copy(pod.Annotations, at.Annotations())
	return pod
}

// steps looks n times, a minute apart.
func (w *world) steps(t *testing.T, n int) {
	t.Helper()
	w.every(t, time.Minute, n)
}

// every looks n times.
func (w *world) every(t *testing.T, apart time.Duration, n int) {
	t.Helper()
	for range n {
		if err := w.observer.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(apart)
	}
}

// said drains the Events.
func (w *world) said() string {
	var list []string
	for len(w.events.Events) > 0 {
		list = append(list, <-w.events.Events)
	}
	return strings.Join(list, "\n")
}

func TestSLO(t *testing.T) {
	const late = `{"metric":{},"value":[1,"1"]}`
	for _, tt := range []struct {
		name   string
		policy observe.Policy
		set    map[int][]string // annotations of the second and third pod besides
		want   string           // who is evicted after 8 looks
	}{
		{"report", observe.Report, nil, ""},
		{"evict", observe.Evict, nil, "p-2"},
		{"not evictable", observe.EvictCheckpointed, nil, ""},
		{"evictable", observe.EvictCheckpointed, map[int][]string{2: {api.AnnotationEvictable, api.True}}, "p-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.policy, running(1, api.AnnotationSLO, "late"), running(2, tt.set[2]...))
			w.steps(t, 5)
			if w.said() != "" {
				t.Error("an alarm without a cause")
			}
			w.answers["late"] = late
			w.steps(t, 1)
			if w.said() != "" || len(w.evicted) > 0 {
				t.Error("an alarm after one bad answer")
			}
			w.steps(t, 7)
			if got := strings.Join(w.evicted, " "); got != tt.want {
				t.Errorf("evicted %q, want %q", got, tt.want)
			}
			if n := strings.Count(w.said(), "TooSlow it is too slow on n1/gpu-0"); n != 1 {
				t.Errorf("told %d times, want once", n)
			}
		})
	}
}

// TestFloor: who serves is held to the slowdown that it bears by what is seen of it, and
// goes last; what works to an end is not.
func TestFloor(t *testing.T) {
	serves := []string{api.AnnotationClass, api.ClassInference}
	for _, tt := range []struct {
		name   string
		policy observe.Policy
		first  []string // annotations besides of the older pod, which takes 8 of its 10 steps a second
		second []string // and of the other
		told   int
		want   string // who is evicted
	}{
		{"below its floor", observe.Evict, append(serves, api.AnnotationMaxSlowdown, "1.2"), nil, 1, "p-2"},
		{"above it", observe.Evict, append(serves, api.AnnotationMaxSlowdown, "1.3"), nil, 0, ""},
		{"the default", observe.Evict, serves, nil, 0, ""},
		{"no floor", observe.Evict, append(serves, api.AnnotationMaxSlowdown, "inf"), nil, 0, ""},
		{"it trains", observe.Evict, []string{api.AnnotationMaxSlowdown, "1.2"}, nil, 0, ""},
		{"report", observe.Report, append(serves, api.AnnotationMaxSlowdown, "1.2"), nil, 1, ""},
		{"not evictable", observe.EvictCheckpointed, append(serves, api.AnnotationMaxSlowdown, "1.2"), nil, 1, ""},
		{"evictable", observe.EvictCheckpointed, append(serves, api.AnnotationMaxSlowdown, "1.2"), []string{api.AnnotationEvictable, api.True}, 1, "p-2"},
		{"training complains of it", observe.Evict, []string{api.AnnotationSLO, "late"}, serves, 1, ""},
		{"it complains of another", observe.Evict, append(serves, api.AnnotationMaxSlowdown, "1.2"), serves, 1, "p-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := append([]string{api.AnnotationProfile, "web", api.AnnotationRate, "rate"}, tt.first...)
			w := newWorld(t, tt.policy, running(1, told...), running(2, tt.second...))
			w.answers["rate"] = `{"metric":{},"value":[1,"0"]}` // it has just begun
			w.steps(t, 5)
			w.answers["rate"] = `{"metric":{},"value":[1,"8"]}`
			w.answers["late"] = `{"metric":{},"value":[1,"1"]}`
			w.steps(t, 1)
			if w.said() != "" || len(w.evicted) > 0 {
				t.Error("an alarm at the first look that counts")
			}
			w.steps(t, 4)
			if got, n := strings.Join(w.evicted, " "), strings.Count(w.said(), "TooSlow it is too slow on n1/gpu-0: "); got != tt.want || n != tt.told {
				t.Errorf("evicted %q, told %d times, want %q and %d", got, n, tt.want, tt.told)
			}
		})
	}
}

// TestSlowAlone: who is too slow alone is told, and nobody is evicted for it.
func TestSlowAlone(t *testing.T) {
	w := newWorld(t, observe.Evict, running(1, api.AnnotationSLO, "late"))
	w.answers["late"] = `{"metric":{},"value":[1,"1"]}`
	w.steps(t, 4)
	if n := strings.Count(w.said(), "TooSlow"); n != 1 || len(w.evicted) > 0 {
		t.Errorf("told %d times, evicted %q, want once and nobody", n, w.evicted)
	}
}

// TestBudget: what a budget forbids is asked again, and a card rests after an eviction.
func TestBudget(t *testing.T) {
	w := newWorld(t, observe.Evict, running(1, api.AnnotationSLO, "late"), running(2))
	w.answers["late"] = `{"metric":{},"value":[1,"1"]}`
	w.refuse = apierrors.NewTooManyRequests("a budget", 0)
	w.steps(t, 4)
	if len(w.evicted) > 0 {
		t.Fatal("evicted against a budget")
	}
	w.refuse = nil
	w.steps(t, 1)
	w.books.DropPod("u-2")
	w.books.SetPod(running(3)) // somebody has put it there
	w.steps(t, 5)
	if got := strings.Join(w.evicted, " "); got != "p-2" {
		t.Errorf("evicted %q, want p-2 alone so soon", got)
	}
	w.steps(t, 10)
	if got := strings.Join(w.evicted, " "); got != "p-2 p-3" {
		t.Errorf("evicted %q, want p-3 after the pause", got)
	}
}

func TestOverrun(t *testing.T) {
	used := func(mib int) string { return takes(1, 99999) + "," + takes(0, mib) }
	w := newWorld(t, observe.Evict, running(1), running(2))
	w.answers["DCGM_FI_DEV_FB_USED"] = used(20 << 10)
	w.steps(t, 3)
	if w.said() != "" {
		t.Error("an alarm though they keep to what was set aside")
	}
	w.answers["DCGM_FI_DEV_FB_USED"] = used(30 << 10)
	w.steps(t, 3)
	if said := w.said(); strings.Count(said, "AboveReservation the tasks on n1/gpu-0 take 30 GiB, and 20 GiB are set aside") != 2 {
		t.Errorf("told %q, want each pod once", said)
	}
	if !slices.Equal(w.evicted, []string{"p-2"}) {
		t.Errorf("evicted %q, want the youngest, once", w.evicted)
	}
	alone := newWorld(t, observe.Evict, running(1))
	maps.Copy(alone.answers, w.answers)
	alone.steps(t, 3)
	if len(alone.evicted) > 0 || !strings.Contains(alone.said(), "AboveReservation") {
		t.Errorf("evicted %q, want that a task alone is told and left", alone.evicted)
	}
}

// TestPriority: the query of a pod evicts none of a higher priority.
func TestPriority(t *testing.T) {
	for _, tt := range []struct {
		mine, other int32
		want        string
	}{{0, 1000000, ""}, {7, 7, "p-2"}, {8, 7, "p-2"}} {
		asks, other := running(1, api.AnnotationSLO, "late"), running(2)
		asks.Spec.Priority, other.Spec.Priority = &tt.mine, &tt.other
		w := newWorld(t, observe.Evict, asks, other)
		w.answers["late"] = `{"metric":{},"value":[1,"1"]}`
		w.steps(t, 4)
		if got := strings.Join(w.evicted, " "); got != tt.want || !strings.Contains(w.said(), "TooSlow") {
			t.Errorf("%d beside %d: evicted %q, want %q and an alarm", tt.mine, tt.other, got, tt.want)
		}
	}
}

// takes is what a card has in use, in MiB.
func takes(card, mib int) string {
	return fmt.Sprintf(`{"metric":{"Hostname":"n1","gpu":"%d"},"value":[1,"%d"]}`, card, mib)
}

// TestFirstLook: what a card has in use when its pods have just come may be of who was
// there before, and costs nobody his place.
func TestFirstLook(t *testing.T) {
	w := newWorld(t, observe.Evict, running(1), running(2))
	w.answers["DCGM_FI_DEV_FB_USED"] = takes(0, 30<<10)
	w.steps(t, 1)
	w.answers["DCGM_FI_DEV_FB_USED"] = takes(0, 20<<10)
	w.steps(t, 1)
	w.answers["DCGM_FI_DEV_FB_USED"] = takes(0, 30<<10)
	w.steps(t, 1)
	w.books.DropPod("u-2")
	w.books.SetPod(running(3))
	w.steps(t, 1)
	if said := w.said(); said != "" || len(w.evicted) > 0 {
		t.Fatalf("told %q, evicted %q, want nothing after single looks", said, w.evicted)
	}
	w.books.DropPod("u-3")
	w.books.SetPod(running(4))
	w.every(t, 10*time.Second, 6)
	if !strings.Contains(w.said(), "AboveReservation") || len(w.evicted) > 0 {
		t.Errorf("evicted %q, want an alarm alone in the first minute", w.evicted)
	}
	w.steps(t, 1)
	if got := strings.Join(w.evicted, " "); got != "p-4" {
		t.Errorf("evicted %q, want p-4 after a minute", got)
	}
}

// TestMost: a metric that is wrong everywhere costs few cards a pod.
func TestMost(t *testing.T) {
	var all []*corev1.Pod
	var wrong []string
	for card := range 4 {
		all = append(all, on(card, running(2*card)), on(card, running(2*card+1)))
		wrong = append(wrong, takes(card, 30<<10))
	}
	w := newWorld(t, observe.Evict, all...)
	w.answers["DCGM_FI_DEV_FB_USED"] = strings.Join(wrong, ",")
	w.steps(t, 10)
	if n := len(w.evicted); n != observe.DefaultMost {
		t.Errorf("evicted %q, want %d in ten minutes", w.evicted, observe.DefaultMost)
	}
	w.steps(t, 2)
	if n := len(w.evicted); n <= observe.DefaultMost || n > 2*observe.DefaultMost {
		t.Errorf("evicted %q, want more after the pause", w.evicted)
	}
}

// TestStall: queries that are never answered end the Step in time and keep no other from
// being asked, on their card or another.
func TestStall(t *testing.T) {
	w := newWorldWithin(t, 400*time.Millisecond, observe.Evict,
		on(0, running(1, api.AnnotationSLO, stalls)), on(0, running(2, api.AnnotationSLO, stalls)),
		on(1, running(3, api.AnnotationSLO, stalls)), on(1, running(4, api.AnnotationSLO, stalls)),
		on(2, running(5, api.AnnotationSLO, "late")), on(2, running(6)),
		on(3, running(7, api.AnnotationSLO, stalls)), on(3, running(8, api.AnnotationSLO, "late")))
	w.answers["late"] = `{"metric":{},"value":[1,"1"]}`
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !slices.Contains(w.evicted, "p-6") || !slices.Contains(w.evicted, "p-7") {
		if err := w.observer.Step(ctx); err != nil {
			t.Fatalf("evicted %q, want p-6 and p-7 whatever others ask: %v", w.evicted, err)
		}
		w.now = w.now.Add(time.Minute)
	}
}

// TestForget: of pods that are gone nothing is kept.
func TestForget(t *testing.T) {
	w := newWorld(t, observe.Report, running(1))
	w.answers["DCGM_FI_DEV_FB_USED"] = takes(0, 30<<10)
	for range 2 {
		w.steps(t, 3)
		if n := strings.Count(w.said(), "AboveReservation"); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		w.books.DropPod("u-1")
		w.steps(t, 1)
		w.books.SetPod(running(1))
	}
}

func TestNew(t *testing.T) {
	if _, err := observe.New(observe.Config{}); err == nil {
		t.Error("an empty Config is taken")
	}
}
