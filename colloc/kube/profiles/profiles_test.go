package profiles_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"example.com/colloc/colloc/kube/profiles"
	"example.com/colloc/profile"
)

const bert = `
apiVersion: colloc.example.com/v1alpha1
kind: Profile
metadata: {namespace: team, name: bert, uid: u, resourceVersion: "7"}
spec:
  model: {name: bert}
  training: {batch_size: 8, precision: mixed, optimizer: adam}
  measured:
  - {gpu: NVIDIA-A100-SXM4-40GB, sample: {sm_active: 0.6, gpu_busy: 0.9, mem_used: 9GiB, step_time: 120000000}}
status:
  measured:
  - {gpu: Tesla-T4, sample: {gpu_busy: 0.99, mem_used: 8GiB, step_time: 480000000}}
  - {gpu: A100-40GB, sample: {gpu_busy: 0.1}}
`

func read(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		tb.Fatal(err)
	}
	return u
}

func TestDecode(t *testing.T) {
	known := profiles.Decode(read(t, bert))
	if known.Fault != "" || known.Version != "u/7" || len(known.Elsewhere) != 1 {
		t.Fatalf("got %+v", known)
	}
	first, other := known.Profile, known.Elsewhere[0]
	if first.GPU.Name != "A100-40GB" || first.Vector.Or(profile.MeanGPUBusy, 0) != 0.9 || first.Spec.Training.BatchSize != 8 || first.Vector.Or(profile.PeakMemory, 0) != float64(9*profile.GiB) {
		t.Errorf("on the A100 it is %+v, want what the spec says before the status", first)
	}
	if other.GPU.Name != "T4" || other.Vector.Or(profile.MedianStepTime, 0) != 0.48 {
		t.Errorf("elsewhere it is %+v", other)
	}
	t4, _ := profile.LookupGPU("T4")
	h100, _ := profile.LookupGPU("H100-PCIe-80GB")
	if !profiles.Tells(read(t, bert), t4) || profiles.Tells(read(t, bert), h100) {
		t.Error("it does not tell of the T4, or tells of the H100")
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"unknown GPU", "Tesla-T4", "X900", `"X900" is not in the catalogue`},
		{"bad spec", "batch_size: 8", "batch_size: 0", "batch_size"},
		{"wrong type", "batch_size: 8", "batch_size: many", "batch_size"},
		{"bad sample", "gpu_busy: 0.99", "gpu_busy: 99", "measured on Tesla-T4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := profiles.Decode(read(t, strings.Replace(bert, tt.from, tt.to, 1)))
			if known.Profile != nil || !strings.Contains(known.Fault, tt.want) {
				t.Errorf("got %+v, want a fault with %q", known, tt.want)
			}
		})
	}
	if known := profiles.Decode(read(t, "spec: {training: {batch_size: 1}}")); known.Profile != nil || known.Fault == "" {
		t.Errorf("a Profile that tells nothing is taken for one: %+v", known)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{profiles.Resource(): "ProfileList"}, read(t, bert))
		var s profiles.Store
		var told []string
		if err := s.Watch(ctx, client, func(namespace, name string) { told = append(told, namespace+"/"+name) }); err != nil {
			t.Fatal(err)
		}
		if s.Known("team", "bert").Profile == nil || s.Known("other", "bert").Profile != nil {
			t.Error("the Profile is not that of its namespace alone")
		}
		if err := client.Resource(profiles.Resource()).Namespace("team").Delete(ctx, "bert", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.Known("team", "bert").Profile != nil || fmt.Sprint(told) != "[team/bert team/bert]" {
			t.Errorf("after its end it is still known; told %v", told)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{profiles.Resource(): "ProfileList"})
	var s profiles.Store
	if err := s.Watch(ctx, client, func(string, string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(bert))
	f.Add([]byte("spec: {training: {batch_size: -1}, measured: [{gpu: T4, sample: {window: -5}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		u := &unstructured.Unstructured{}
		if yaml.Unmarshal(text, &u.Object) != nil {
			return
		}
		if known := profiles.Decode(u); (known.Profile == nil) == (known.Fault == "") {
			t.Errorf("%q is neither a Profile nor a fault: %+v", text, known)
		}
	})
}
