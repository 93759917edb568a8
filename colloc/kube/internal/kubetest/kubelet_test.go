//go:build kube

package kubetest

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Node is a node that does not exist.
type Node struct {
	Name string
	// Product, MiB and GPUs are what NVIDIA's feature discovery writes as labels; a
	// node of no product has no GPUs.
	Product   string
	MiB, GPUs int
	// Replicas is how many time-slicing replicas the device plugin makes of a GPU; 0 is
	// none.
	Replicas int
	// CPU is how many cores it has, 0 means 64.
	CPU int
	// Labels are written besides.
	Labels map[string]string
}

// Nodes returns n nodes prefix-0, prefix-1 and so on.
func Nodes(n int, prefix string, like Node) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = like
		nodes[i].Name = fmt.Sprintf("%s-%d", prefix, i)
	}
	return nodes
}

func (n *Node) object() *corev1.Node {
	labels := map[string]string{corev1.LabelHostname: n.Name}
	slots := n.GPUs
	if n.GPUs > 0 {
		labels["nvidia.com/gpu.product"] = n.Product
		labels["nvidia.com/gpu.memory"] = strconv.Itoa(n.MiB)
		labels["nvidia.com/gpu.count"] = strconv.Itoa(n.GPUs)
		if n.Replicas > 0 {
			labels["nvidia.com/gpu.product"] += "-SHARED"
			labels["nvidia.com/gpu.replicas"] = strconv.Itoa(n.Replicas)
			slots *= n.Replicas
		}
	}
	maps.Copy(labels, n.Labels)
	cores := n.CPU
	if cores == 0 {
		cores = 64
	}
	has := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(cores), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": *resource.NewQuantity(int64(slots), resource.DecimalSI),
	}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels},
		Status:     corev1.NodeStatus{Capacity: has, Allocatable: has, Conditions: []corev1.NodeCondition{ready}},
	}
}

// AddNodes creates nodes that are ready.
func (c *Cluster) AddNodes(nodes ...Node) {
	c.tb.Helper()
	c.Many(len(nodes), func(ctx context.Context, i int) error {
		_, err := c.Client.CoreV1().Nodes().Create(ctx, nodes[i].object(), metav1.CreateOptions{})
		return err
	})
}

// Many calls do for 0 to n-1, sixteen at a time; the first error fails the test.
func (c *Cluster) Many(n int, do func(ctx context.Context, i int) error) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	next, errs := make(chan int), make(chan error, n)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					errs <- fmt.Errorf("%d: %w", i, err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		c.tb.Fatal(err)
	default:
	}
}

// Kubelet plays the kubelets of all nodes: what is bound runs, and what is deleted goes.
type Kubelet struct {
	client kubernetes.Interface
	seen   func(*corev1.Pod)
	told   sync.Map // UID of a pod: true once it was said to run
	failed func(error)

	mu   sync.Mutex
	runs map[types.UID]string // namespaces of the pods that run
}

// RunKubelet starts it. It ends with the test. seen, if there is one, hears of each
// change of a pod, one after the other.
func (c *Cluster) RunKubelet(seen func(*corev1.Pod)) *Kubelet {
	c.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kubelet{client: c.Client, seen: seen, runs: make(map[types.UID]string), failed: func(err error) {
		if ctx.Err() == nil {
			c.tb.Errorf("kubelet: %v", err)
		}
	}}
	work := make(chan *corev1.Pod, 1<<16) // more than any test has changes under way
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case p := <-work:
					k.sync(ctx, p)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	pods := factory.Core().V1().Pods().Informer()
	hear := func(o any) {
		if p, ok := o.(*corev1.Pod); ok {
			k.note(p, p.Status.Phase == corev1.PodRunning)
			if k.seen != nil {
				k.seen(p)
			}
			work <- p
		}
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: hear, UpdateFunc: func(_, o any) { hear(o) }, DeleteFunc: func(o any) {
		if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if p, ok := o.(*corev1.Pod); ok {
			k.note(p, false)
		}
	}}); err != nil {
		c.tb.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	c.tb.Cleanup(func() {
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
	return k
}

// note remembers whether a pod runs.
func (k *Kubelet) note(p *corev1.Pod, runs bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.runs, p.UID)
	if runs {
		k.runs[p.UID] = p.Namespace
	}
}

// Running counts the pods of a namespace that run. It asks nobody.
func (k *Kubelet) Running(namespace string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, ns := range k.runs {
		if ns == namespace {
			n++
		}
	}
	return n
}

// sync does for a pod what its node would.
func (k *Kubelet) sync(ctx context.Context, p *corev1.Pod) {
	if p.Spec.NodeName == "" {
		return
	}
	var err error
	switch _, told := k.told.Load(p.UID); {
	case p.DeletionTimestamp != nil && len(p.Finalizers) > 0 && p.Status.Phase == corev1.PodRunning:
		err = k.phase(ctx, p, corev1.PodFailed) // somebody, such as a Job, waits to see how it ended
	case p.DeletionTimestamp != nil:
		now := int64(0)
		err = k.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	case p.Status.Phase == corev1.PodPending && !told:
		k.told.Store(p.UID, true)
		err = k.phase(ctx, p, corev1.PodRunning)
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // deleted, or made again under its name
		k.failed(err)
	}
}

// End says that a pod has run to its end.
func (k *Kubelet) End(ctx context.Context, p *corev1.Pod) error {
	return k.phase(ctx, p, corev1.PodSucceeded)
}

func (k *Kubelet) phase(ctx context.Context, p *corev1.Pod, phase corev1.PodPhase) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":%q}}`, p.UID, phase)
	_, err := k.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
