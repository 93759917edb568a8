//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// witness notes where pods were put, and who was moved.
type witness struct {
	mu    sync.Mutex
	on    map[types.UID]string
	moved []string
}

func (w *witness) see(p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	card := p.Annotations[api.AnnotationGPU]
	if was, known := w.on[p.UID]; known && was != card {
		w.moved = append(w.moved, fmt.Sprintf("%s: %s, then %s", p.Name, was, card))
	}
	if card != "" {
		w.on[p.UID] = card
	}
}

// chaos is a cluster in which much goes wrong, and what should be in it.
type chaos struct {
	witness
	t       *testing.T
	c       *kubetest.Cluster
	kubelet *kubetest.Kubelet
	rng     *rand.Rand
	made    int // tasks p-0 to p-(made-1) were created
	gone    int // of them ended or were deleted by the test
	replica [2]*kubetest.Collocd
	start   func(i int) *kubetest.Collocd
	lost    map[string]bool // nodes, as "gpu-1/", and cards, as "gpu-2/gpu-7", that are gone
}

// While pods come and go, collocd is killed three times, a replica takes over, a node and
// a card go, and a fifth of its writes fail, some of them after they were done. No pod
// is lost or decided twice, no card holds too much, and the books are right at the end.
func TestChaos(t *testing.T) {
	t.Parallel()
	nodes, batch := 8, 20
	if large {
		nodes, batch = 60, 200
	}
	const seed = 1
	x, faults := disturbed(t, nodes, 0.2, seed)
	for round := range 4 {
		x.create(batch)
		x.await(batch / 2)
		switch round {
		case 0: // back at once: its Lease still holds
			i := x.leader()
			x.replica[i].Kill()
			x.replica[i] = x.start(i)
		case 1:
			x.dropNode("gpu-1")
			i := x.leader()
			x.replica[i].Kill()
			x.replica[i] = x.start(i)
		case 2:
			x.cards("gpu-2", 7)
			x.end(batch / 2)
		case 3: // for good
			x.replica[x.leader()].Kill()
		}
	}
	x.isWhole()
	t.Logf("faults: %v", faults.Counts())
}

// In a burst of 300 pods, of which some end meanwhile, the collocd that decides is killed twenty times.
func TestKills(t *testing.T) {
	t.Parallel()
	x, _ := disturbed(t, 20, 0, 1)
	const pods, kills = 300, 20
	created := make(chan struct{})
	go func() {
		defer close(created)
		x.create(pods)
	}()
	for k := range kills {
		x.c.Await("the burst goes on", func() bool { return x.kubelet.Running("default")+x.gone >= k*(pods-20)/kills })
		i := x.leader()
		x.replica[i].Kill()
		x.replica[i] = x.start(i)
		if k%5 == 4 {
			x.end(5)
		}
	}
	<-created
	x.isWhole()
}

// disturbed starts a cluster of nodes with two replicas of collocd, a share of whose writes fails.
func disturbed(t *testing.T, nodes int, share float64, seed uint64) (*chaos, *kubetest.Faults) {
	t.Helper()
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{RBAC: true})
	c.AddNodes(kubetest.Nodes(nodes, "gpu", a100)...)
	x := &chaos{t: t, c: c, witness: witness{on: make(map[types.UID]string)}, lost: make(map[string]bool), rng: rand.New(rand.NewPCG(seed, 0))}
	x.kubelet = c.RunKubelet(x.see)
	faults := c.Faults(share, seed)
	kubeconfig := account(t, c, faults.URL)
	prepare(t, c, "default")
	x.start = func(i int) *kubetest.Collocd {
		return c.Collocd(program, kubeconfig, "--leader-elect", fmt.Sprintf("--identity=replica-%d", i), "--batch=16", "--window=20ms")
	}
	x.replica = [2]*kubetest.Collocd{x.start(0), x.start(1)}
	return x, faults
}

// isWhole waits until all pods that are there run and were told where, and finds none that was decided twice and the books right.
func (x *chaos) isWhole() {
	x.t.Helper()
	report := x.settle()
	x.c.Await("each task was told where it is", func() bool {
		r, err := kubetest.Check(x.t.Context(), x.c.Client, kubetest.Rules{})
		return err == nil && len(r.Untold) == 0
	})
	if len(x.moved) > 0 {
		x.t.Errorf("decided twice: %q", x.moved)
	}
	x.t.Logf("%d tasks, %d of them gone; cards by number of tasks: %v", x.made, x.gone, report.Tasks())
	sameBooks(x.t, x.c, x.replica[x.leader()], report)
	rights(x.t, x.c)
}

func (x *chaos) create(n int) {
	tasks(x.c, "default", x.made, x.made+n)
	x.made += n
}

// await waits until all tasks but some are bound.
func (x *chaos) await(but int) {
	x.t.Helper()
	x.c.Await("tasks are bound", func() bool { return x.kubelet.Running("default") >= x.made-x.gone-but })
}

// leader returns which replica decides, once one does that lives.
func (x *chaos) leader() int {
	x.t.Helper()
	which := -1
	x.c.Await("one replica decides", func() bool {
		for i, d := range x.replica {
			if m, ok := d.Metrics(); ok && m["colloc_leader"] == 1 {
				which = i
			}
		}
		return which >= 0
	})
	return which
}

// pods returns the pods that have not ended.
func (x *chaos) pods() []corev1.Pod {
	x.t.Helper()
	list, err := x.c.Client.CoreV1().Pods("default").List(x.t.Context(), metav1.ListOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

// dropNode deletes a node with all that it holds, as a cloud does.
func (x *chaos) dropNode(name string) {
	x.t.Helper()
	if err := x.c.Client.CoreV1().Nodes().Delete(x.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		x.t.Fatal(err)
	}
	x.lost[name+"/"] = true
	x.c.Await("nobody is decided for a node that is gone", x.clear)
}

// cards says how many cards a node has; what runs on its last one, if that is gone, ends.
func (x *chaos) cards(node string, n int) {
	x.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {"nvidia.com/gpu.count": "%d"}}}`, n)
	if _, err := x.c.Client.CoreV1().Nodes().Patch(x.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		x.t.Fatal(err)
	}
	last := fmt.Sprintf("%s/gpu-%d", node, a100.GPUs-1)
	if n == a100.GPUs {
		delete(x.lost, last)
		return
	}
	x.lost[last] = true
	x.c.Await("nobody is decided for a card that is gone", x.clear)
}

// clear ends who is decided for what is gone, and reports whether nobody was. A decision may be under way
// when a node or a card goes, so settle asks again.
func (x *chaos) clear() bool {
	x.t.Helper()
	clean := true
	for _, p := range x.pods() {
		card := p.Annotations[api.AnnotationGPU]
		node, _, _ := strings.Cut(card, "/")
		var err error
		switch {
		case x.lost[node+"/"]: // it can never be bound: its owner has to make it anew
			now := int64(0)
			err = x.c.Client.CoreV1().Pods("default").Delete(x.t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		case x.lost[card]:
			err = x.kubelet.End(x.t.Context(), &p)
		default:
			continue
		}
		clean = false
		if err == nil {
			x.gone++
		}
	}
	return clean
}

// settle waits until all pods that are there run, none of them on what is gone.
func (x *chaos) settle() *kubetest.Report {
	x.t.Helper()
	x.c.Await("all pods run, none on what is gone", func() bool {
		run := x.kubelet.Running("default") == x.made-x.gone // before clear: where each of them is, is known
		return x.clear() && run
	})
	return settle(x.t, x.c, kubetest.Rules{}, x.made-x.gone)
}

// end lets some tasks that run come to their end.
func (x *chaos) end(n int) {
	x.t.Helper()
	pods := slices.DeleteFunc(x.pods(), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
	x.rng.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	n = min(n, len(pods))
	x.c.Many(n, func(ctx context.Context, i int) error { return x.kubelet.End(ctx, &pods[i]) })
	x.gone += n
}
