//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// claiming makes a pod one that is bound by a claim.
func claiming(p *corev1.PodSpec) {
	template := claims.Template
	p.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	p.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

// claimants creates tasks p-from to p-(to-1) that are bound by claims.
func claimants(c *kubetest.Cluster, namespace string, from, to int) {
	c.Many(to-from, func(ctx context.Context, i int) error {
		p := task(namespace, fmt.Sprintf("p-%d", from+i), []string{"light", "heavy"}[i%2])
		claiming(&p.Spec)
		_, err := c.Client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}

// withDevices starts a cluster whose GPUs a DRA driver offers.
func withDevices(t *testing.T, o kubetest.Options, nodes int, like kubetest.Node) (*kubetest.Cluster, *kubetest.Kubelet) {
	t.Helper()
	c := kubetest.Start(t, o)
	list := kubetest.Nodes(nodes, "gpu", like)
	c.AddNodes(list...)
	c.AddDevices(list...)
	return c, c.RunKubelet(nil)
}

// All pods of a burst come to run, each on the device that its claim holds, and what they
// cost is printed.
func TestClaimBurst(t *testing.T) {
	program := collocd(t)
	nodes, pods := 10, 100
	if large {
		nodes, pods = 100, 1000
	}
	c, k := withDevices(t, kubetest.Options{}, nodes, a100)
	prepare(t, c, "tasks")
	d := c.Collocd(program, c.Kubeconfig(), "--binding=claim")
	c.Await("collocd answers", func() bool { _, ok := d.Metrics(); return ok })
	before, start := c.CPU(), time.Now()
	claimants(c, "tasks", 0, pods)
	if !c.Try(func() bool { return k.Running("tasks") == pods }) {
		t.Fatalf("%d of %d tasks run; the others: %s", k.Running("tasks"), pods, why(t, c))
	}
	tell(t, c, fmt.Sprintf("%d tasks, each with a claim", pods), pods, before, start)
	report := settle(t, c, kubetest.Rules{}, pods)
	if len(report.Leftover) > 0 {
		t.Errorf("claims to which no pod points: %q", report.Leftover)
	}
	t.Logf("cards by number of tasks: %v; faults: %d", report.Tasks(), len(report.Faults))
	sameBooks(t, c, d, report)
}

// collocd is killed three times while pods come. None is lost, and once the pods are gone
// no claim is left.
func TestClaimKilled(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	nodes, batch := 8, 25
	if large {
		nodes, batch = 80, 250
	}
	c, k := withDevices(t, kubetest.Options{Controllers: []string{"resourceclaim-controller", "garbage-collector-controller"}}, nodes, a100)
	prepare(t, c, "default")
	d := c.Collocd(program, c.Kubeconfig(), "--binding=claim", "--window=20ms")
	for round := range 4 {
		claimants(c, "default", round*batch, (round+1)*batch)
		if round < 3 {
			c.Await("tasks are bound", func() bool { return k.Running("default") >= round*batch+batch/3 })
			d.Kill()
			d = c.Collocd(program, c.Kubeconfig(), "--binding=claim", "--window=20ms")
		}
	}
	report := settle(t, c, kubetest.Rules{}, 4*batch)
	sameBooks(t, c, d, report)
	if err := c.Client.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	noClaims(t, c)
}

// noClaims waits until there are none.
func noClaims(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	left := 0
	if !c.Try(func() bool {
		list, err := c.Client.ResourceV1().ResourceClaims("").List(t.Context(), metav1.ListOptions{})
		if err == nil {
			left = len(list.Items)
		}
		return err == nil && left == 0
	}) {
		t.Errorf("%d claims are left over", left)
	}
}

// The pods of a Job, which the real controllers make, run with claims that collocd makes
// with the rights of its manifests and that the real controllers take away.
func TestClaimJob(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, k := withDevices(t, kubetest.Options{RBAC: true, Controllers: []string{"job-controller", "resourceclaim-controller", "garbage-collector-controller"}}, 1, a100)
	kubeconfig := account(t, c, c.Server, "claims")
	prepare(t, c, "default")
	c.Collocd(program, kubeconfig, "--binding=claim")
	p := task("default", "", "light")
	claiming(&p.Spec)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	six := int32(6)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train"}, Spec: batchv1.JobSpec{
		Parallelism: &six, Completions: &six, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec},
	}}
	if _, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, kubetest.Rules{}, 6)
	c.Await("all six run", func() bool { return k.Running("default") == 6 })
	pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Many(len(pods.Items), func(ctx context.Context, i int) error { return k.End(ctx, &pods.Items[i]) })
	noClaims(t, c)
	rights(t, c)
}

// rogue is a pod of somebody else with a claim of its own, which has our label: anybody
// can set that.
func rogue(t *testing.T, c *kubetest.Cluster, name, memory string) {
	t.Helper()
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.LabelTask: api.True}}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", Capacity: &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)},
		}}}},
	}}}
	if _, err := c.Client.ResourceV1().ResourceClaims("default").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := plain(name)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "g", ResourceClaimName: &name}}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "g"}}}
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// says waits until a condition of a pod says something.
func says(t *testing.T, c *kubetest.Cluster, pod string, of corev1.PodConditionType, want string) {
	t.Helper()
	got := ""
	if !c.Try(func() bool {
		p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			return false
		}
		i := slices.IndexFunc(p.Status.Conditions, func(x corev1.PodCondition) bool { return x.Type == of })
		if i >= 0 {
			got = p.Status.Conditions[i].Reason + ": " + p.Status.Conditions[i].Message
		}
		return strings.Contains(got, want)
	}) {
		t.Fatalf("%s of %s says %q, want %q", of, pod, got, want)
	}
}

// A second decider cannot have memory that collocd has promised, and collocd leaves a
// card alone that somebody else has a claim on.
func TestClaimRogue(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	node := a100
	node.GPUs = 1
	c, _ := withDevices(t, kubetest.Options{}, 1, node)
	prepare(t, c, "default")
	c.Collocd(program, c.Kubeconfig(), "--binding=claim")
	claimants(c, "default", 0, 1)
	settle(t, c, kubetest.Rules{}, 1)
	rogue(t, c, "greedy", "30Gi") // beside 14 GiB of 40
	says(t, c, "greedy", corev1.PodScheduled, "cannot allocate all claims")
	rogue(t, c, "modest", "4Gi")
	c.Await("what is free is free for others", func() bool {
		p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "modest", metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != ""
	})
	claimants(c, "default", 1, 2)
	says(t, c, "p-1", api.ConditionPlaced, "a ResourceClaim of somebody else holds it")
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), task("default", "bare", "light"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	says(t, c, "bare", api.ConditionPlaced, "BadClaim")
	settle(t, c, kubetest.Rules{}, 1)
}

// What the scheduler refuses for a reason that collocd does not see is decided again,
// where pods are not pinned.
func TestClaimMoved(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, k := withDevices(t, kubetest.Options{RBAC: true}, 2, a100)
	kubeconfig := account(t, c, c.Server, "claims")
	prepare(t, c, "default")
	c.Collocd(program, kubeconfig, "--binding=claim", "--pin=false", "--patience=1s")
	hater := func(name string) *corev1.Pod { // of its like on its node, by a selector of namespaces, which collocd does not know
		p := task("default", name, "light")
		claiming(&p.Spec)
		p.Labels["hates"] = "company"
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"hates": "company"}}, TopologyKey: corev1.LabelHostname,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
		}}}}
		return p
	}
	for i, name := range []string{"first", "second"} {
		if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), hater(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Await(name+" runs", func() bool { return k.Running("default") == i+1 })
	}
	report := settle(t, c, kubetest.Rules{}, 2)
	if len(report.Leftover) > 0 {
		t.Errorf("claims to which no pod points: %q", report.Leftover)
	}
	rights(t, c)
}
