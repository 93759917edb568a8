package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/profile"
)

func TestDashes(t *testing.T) {
	got := dashes([]string{"-shadow", "--batch=3", "-h", "explain", "-namespace", "a", "-n=b", "--", "-x-y"})
	if want := []string{"--shadow", "--batch=3", "-h", "explain", "--namespace", "a", "-n=b", "--", "-x-y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fakeAPI answers as an API server that has a node and two pods and nothing else. What
// it does not have it does not know, as an old server.
func fakeAPI(t *testing.T) (kubeconfig string) {
	t.Helper()
	waiting := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "train", UID: "u-train", Labels: map[string]string{api.LabelTask: api.True}, Annotations: map[string]string{api.AnnotationProfile: "bert"},
	}, Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: api.Gate}}}}
	waiting.Status.Conditions = []corev1.PodCondition{{Type: api.ConditionPlaced, Status: corev1.ConditionFalse, Reason: "Odd", Message: "\x1b]0;title\atext"}}
	plain := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-web"}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1"}}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	answers := map[string]runtime.Object{
		"/api/v1/namespaces/default/pods/train": &waiting,
		"/api/v1/namespaces/default/pods/web":   &plain,
		"/api/v1/nodes":                         &corev1.NodeList{Items: []corev1.Node{node}},
	}
	codec := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := answers[r.URL.Path]
		if r.URL.Path == "/api/v1/pods" {
			o = &corev1.PodList{Items: []corev1.Pod{waiting, plain}}
		}
		if o == nil {
			http.NotFound(w, r)
			return
		}
		text, err := runtime.Encode(codec, o)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + s.URL + "'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// run is the program with some arguments.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out strings.Builder
	c := command(&out)
	c.SetErr(io.Discard)
	c.SetArgs(dashes(args))
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

func TestExplain(t *testing.T) {
	kubeconfig := fakeAPI(t)
	out, err := run(t, "explain", "-kubeconfig", kubeconfig, "train")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "told: Odd: text") {
		t.Errorf("a terminal would obey %q", out)
	}
	for _, want := range []string{"pod default/train is waiting", `there is no Profile "bert" in namespace default`, "all 1 nodes with GPUs would take it", "it fits now: on n1/gpu-0"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v; %q is missing in\n%s", err, want, out)
		}
	}
	for pod, want := range map[string]string{"web": "has no label", "nobody": "could not find"} {
		if out, err := run(t, "explain", "-kubeconfig", kubeconfig, pod); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want an error with %q", pod, out, err, want)
		}
	}
}

func TestAdvise(t *testing.T) {
	kubeconfig := fakeAPI(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	defer s.Close()
	for _, tt := range []struct{ flag, want string }{{"-most=3", "0 pods hold 0 GPUs"}, {"-json", `"pods":0`}} {
		if out, err := run(t, "advise", "-kubeconfig", kubeconfig, "-prometheus", s.URL, tt.flag); err != nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, %s", tt.flag, err, out)
		}
	}
	for _, args := range [][]string{{"advise", "-kubeconfig", kubeconfig}, {"advise", "-kubeconfig", kubeconfig, "-prometheus", s.URL, "-share", "a++b"}} {
		if out, err := run(t, args...); err == nil {
			t.Errorf("%q: no error, %s", args, out)
		}
	}
}

func TestFlags(t *testing.T) {
	kubeconfig := fakeAPI(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-binding", "magic"}, "want annotate or claim"},
		{[]string{"-kubeconfig", "/nonexistent/config"}, "-kubeconfig"},
		{[]string{"-kubeconfig", kubeconfig, "-share", "a++b"}, "-share"},
		{[]string{"-kubeconfig", kubeconfig, "-metrics-addr", "nowhere:x"}, "-metrics-addr"},
		{[]string{"-kubeconfig", kubeconfig, "-batch", "-1"}, "Batch"},
		{[]string{"-kubeconfig", kubeconfig, "-gpus", "team=-1"}, "namespace \"team\""},
		{[]string{"-kubeconfig", kubeconfig, "-writers", "-1"}, "Writers"},
		{[]string{"-kubeconfig", kubeconfig, "-prometheus", "http://x", "-evict-most", "-1"}, "Most"},
		{[]string{"-kubeconfig", kubeconfig, "-prometheus", "http://x", "-query-time=-1s"}, "want times"},
		{[]string{"more"}, "unknown command"},
	} {
		if _, err := run(t, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error with %q", tt.args, err, tt.want)
		}
	}
	if out, err := run(t, "-h"); err != nil || !strings.Contains(out, "-leader-elect") {
		t.Errorf("-h: %v\n%s", err, out)
	}
}

// TestKeep: what could not be written is written at the next look, and once; a collocd
// that begins to decide knows it, what it taught and who is kept apart.
func TestKeep(t *testing.T) {
	f := &flags{state: filepath.Join(t.TempDir(), "volume", "learned"), binding: "annotate"}
	k := &keeper{flags: f, books: newBooks(t, f)}
	gpu, _ := profile.LookupGPU("T4")
	seen, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 8}}, profile.Trace{}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	co := colloc.Measurement{Profile: &seen, Speed: profile.Some(0.4)}
	if err := k.books.Planner().Observe(colloc.Observation{GPU: gpu, Members: []colloc.Measurement{co, co}}); err != nil {
		t.Fatal(err)
	}
	pairs := []books.Pair{{Owners: [2]books.Owner{"a", "b"}, Until: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}}
	k.books.Restore(pairs)
	if err := k.keep(1); err == nil {
		t.Fatal("written into a folder that is not there")
	}
	if err := os.Mkdir(filepath.Dir(f.state), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := k.keep(1); err != nil {
		t.Fatal(err)
	}
	next := newBooks(t, &flags{binding: "annotate"}) // that began before
	if err := f.recall(next)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := next.Parted(); !slices.Equal(got, pairs) {
		t.Errorf("kept apart are %v, want %v", got, pairs)
	}
	if text := saved(t, next); text != saved(t, k.books) || text == saved(t, newBooks(t, &flags{binding: "annotate"})) {
		t.Error("the next one does not know what was taught")
	}
	if err := errors.Join(os.Remove(f.state), k.keep(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.state); err == nil {
		t.Error("what is kept is written again")
	}
	if err := os.WriteFile(f.pairsFile(), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.recall(next)(t.Context()); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a torn file is taken: %v", err)
	}
}

// newBooks are those that flags ask for.
func newBooks(t *testing.T, f *flags) *books.Books {
	t.Helper()
	b, err := f.books(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// saved is all that the Planner of some books knows.
func saved(t *testing.T, b *books.Books) string {
	t.Helper()
	var text strings.Builder
	if err := b.Planner().Save(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
