//go:build kube

package kubetest_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/controller"
	"example.com/colloc/colloc/kube/internal/kubetest"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// truth is how fast tasks are beside each other: kinds of which every pair was measured.
type truth struct {
	kinds []*profile.Profile
	speed map[[2]*profile.Profile]float64 // of the first beside the second
}

// job is one task of the day that all ways to schedule are given.
type job struct {
	kind *profile.Profile
	work float64 // minutes alone on a GPU
}

// readSpeeds reads the measured pairs of a file of COLLOC_DATA.
func readSpeeds(t *testing.T, name string) []interference.Observation {
	t.Helper()
	f, err := os.Open(filepath.Join(os.Getenv("COLLOC_DATA"), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	rows, err := dataset.ReadSpeed(name, f)
	if err != nil {
		t.Fatal(err)
	}
	var obs []interference.Observation
	for _, r := range rows {
		if r.Excluded == "" && !r.Suspect {
			obs = append(obs, r.Observation)
		}
	}
	return obs
}

// lucid makes a truth of Lucid's pairs. Kinds that lack most partners are left out, one
// after the other, until no pair is missing.
func lucid(t *testing.T) truth {
	t.Helper()
	tr := truth{speed: make(map[[2]*profile.Profile]float64)}
	for _, o := range readSpeeds(t, "interference_lucid.csv") {
		for i := range 2 {
			if s, ok := o.Speeds[i].Get(); ok && len(o.Set) == 2 {
				tr.speed[[2]*profile.Profile{o.Set[i], o.Set[1-i]}] = s
				if !slices.Contains(tr.kinds, o.Set[i]) {
					tr.kinds = append(tr.kinds, o.Set[i])
				}
			}
		}
	}
	for {
		worst, most := -1, 0
		for i, a := range tr.kinds {
			missing := 0
			for _, b := range tr.kinds {
				_, ok := tr.speed[[2]*profile.Profile{a, b}]
				_, ko := tr.speed[[2]*profile.Profile{b, a}]
				if !ok || !ko {
					missing++
				}
			}
			if missing > most {
				worst, most = i, missing
			}
		}
		if worst < 0 {
			return tr
		}
		tr.kinds = slices.Delete(tr.kinds, worst, worst+1)
	}
}

// way is a way to schedule.
type way struct {
	name     string
	replicas int
	planner  *colloc.Planner // nil: the stock scheduler alone
}

// What a cluster gains: the same tasks, whose speeds side by side were measured, through
// the stock scheduler with a GPU each, with time-slicing replicas, whose partners are
// random, and through colloc, with and without these measurements in its model. The
// kubelet plays the minutes; only the scheduling is real.
func TestGain(t *testing.T) {
	if os.Getenv("COLLOC_DATA") == "" {
		t.Skip("COLLOC_DATA is not set: no measured pairs")
	}
	nodes, n := 1, 40
	if large {
		nodes, n = 4, 300
	}
	tr := lucid(t)
	rng := rand.New(rand.NewPCG(1, 0))
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i] = job{tr.kinds[rng.IntN(len(tr.kinds))], 60 * math.Exp(0.8*rng.NormFloat64())}
	}
	fitted, err := colloc.New(colloc.Config{MaxSet: 2}) // pairs were measured
	if err != nil {
		t.Fatal(err)
	}
	without, err := interference.Fit(readSpeeds(t, "interference_gavel.csv"), nil)
	if err != nil {
		t.Fatal(err)
	}
	unseen, err := colloc.New(colloc.Config{Interference: without, MaxSet: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := kubetest.Start(t, kubetest.Options{})
	kubelet := c.RunKubelet(nil)
	var report strings.Builder
	fmt.Fprintf(&report, "%d tasks of %d kinds on %d GPUs, minutes\n%-42s %9s %9s\n", n, len(tr.kinds), 8*nodes, "", "makespan", "mean JCT")
	makespan := make(map[string]float64)
	for _, w := range []way{
		{"one task a GPU, stock scheduler", 0, nil},
		{"2 replicas a GPU, stock scheduler", 2, nil},
		{"colloc, pretrained", 0, fitted},
		{"colloc, Lucid left out of the fit", 0, unseen},
	} {
		d := &day{t: t, c: c, kubelet: kubelet, way: w, truth: tr, jobs: jobs, rng: rand.New(rand.NewPCG(2, 0))}
		length, jct := d.play(nodes)
		makespan[w.name] = length
		fmt.Fprintf(&report, "%-42s %9.0f %9.0f\n", w.name, length, jct)
	}
	t.Log("\n" + report.String())
	for _, name := range []string{"colloc, pretrained", "colloc, Lucid left out of the fit"} {
		if makespan[name] >= makespan["one task a GPU, stock scheduler"] {
			t.Errorf("%s: sharing gains nothing", name)
		}
	}
}

// day is one way's day under way.
type day struct {
	t     *testing.T
	c     *kubetest.Cluster
	way   way
	truth truth
	jobs  []job
	rng   *rand.Rand

	namespace string
	left      []float64 // minutes of work, 0 or less for what has ended
	on        []string  // card, empty for what does not run
	books     *books.Books
	control   *controller.Controller
	kubelet   *kubetest.Kubelet
}

// play runs the day and returns its length and the mean time from start to end of a task.
func (d *day) play(nodes int) (makespan, jct float64) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	d.namespace = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, d.way.name)
	d.c.AddNodes(kubetest.Nodes(nodes, d.namespace, kubetest.Node{Product: "NVIDIA-GeForce-RTX-3090", MiB: 24576, GPUs: 8, Replicas: d.way.replicas})...)
	if _, err := d.c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.namespace}}, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
	d.submit(ctx)
	now := 0.0
	for alive := len(d.jobs); alive > 0; {
		d.settle(ctx, 8*nodes*max(1, d.way.replicas), alive)
		speeds := d.speeds()
		step := math.Inf(1)
		for i, s := range speeds {
			if s > 0 {
				step = min(step, d.left[i]/s)
			}
		}
		if math.IsInf(step, 1) {
			d.t.Fatalf("%s: %d tasks are left and none runs", d.way.name, alive)
		}
		now += step
		for i, s := range speeds {
			const done = 1e-9
			if d.left[i] -= step * s; s > 0 && d.left[i] < done {
				d.left[i], d.on[i] = 0, ""
				jct += now / float64(len(d.jobs))
				alive--
				d.end(ctx, i)
			}
		}
	}
	none := int64(0)
	if err := d.c.Client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{}); err != nil {
		d.t.Fatal(err)
	}
	return now, jct
}

func podName(i int) string { return fmt.Sprintf("p-%03d", i) }

// submit creates all pods, in their order.
func (d *day) submit(ctx context.Context) {
	d.t.Helper()
	d.left, d.on = make([]float64, len(d.jobs)), make([]string, len(d.jobs))
	for i, j := range d.jobs {
		p := plain(podName(i))
		if d.way.planner != nil {
			p = task(d.namespace, podName(i), fmt.Sprintf("kind-%d", slices.Index(d.truth.kinds, j.kind)))
			delete(p.Annotations, api.AnnotationMemory)
			delete(p.Annotations, api.AnnotationMaxSlowdown)
		}
		d.left[i] = j.work
		if _, err := d.c.Client.CoreV1().Pods(d.namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			d.t.Fatal(err)
		}
	}
	if d.way.planner == nil {
		return
	}
	known := func(_, name string) pods.Known {
		var i int
		if _, err := fmt.Sscanf(name, "kind-%d", &i); err != nil {
			return pods.Known{Fault: err.Error()}
		}
		return pods.Known{Profile: d.truth.kinds[i], Version: "1"}
	}
	var err error
	if d.books, err = books.New(books.Config{Planner: d.way.planner, Profile: known, Now: time.Now}); err == nil {
		d.control, err = controller.New(controller.Config{Client: d.c.Client, Books: d.books, Now: time.Now})
	}
	if err == nil {
		err = d.control.Watch(ctx)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.books.Open()
}

// settle waits until all runs that can, and notes where.
func (d *day) settle(ctx context.Context, slots, alive int) {
	d.t.Helper()
	want := min(slots, alive)
	if d.control != nil {
		d.c.Await("collocd knows what ended", func() bool {
			n := 0
			for _, card := range d.books.Cards() {
				n += len(card.Tasks)
			}
			return n == d.placed()
		})
		if err := d.control.Step(ctx); err != nil {
			d.t.Fatal(err)
		}
		want = 0
		for _, card := range d.books.Cards() {
			want += len(card.Tasks)
		}
	}
	d.c.Await("all that can run does", func() bool { return d.kubelet.Running(d.namespace) == want })
	list, err := d.c.Client.CoreV1().Pods(d.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		if p := &list.Items[i]; p.Status.Phase == corev1.PodRunning && d.on[i] == "" {
			if d.on[i] = p.Annotations[api.AnnotationGPU]; d.on[i] == "" {
				d.on[i] = d.device(p.Spec.NodeName)
			}
		}
	}
}

func (d *day) placed() int {
	n := 0
	for _, card := range d.on {
		if card != "" {
			n++
		}
	}
	return n
}

// device gives a pod of the stock scheduler a replica as NVIDIA's device plugin does: one
// of those on the cards that are shared least.
func (d *day) device(node string) string {
	count := make([]int, 8)
	for _, card := range d.on {
		var i int
		if rest, ok := strings.CutPrefix(card, node+"/gpu-"); ok {
			if _, err := fmt.Sscan(rest, &i); err == nil {
				count[i]++
			}
		}
	}
	least := slices.Min(count)
	var free []int
	for i, n := range count {
		if n == least {
			free = append(free, i)
		}
	}
	return fmt.Sprintf("%s/gpu-%d", node, free[d.rng.IntN(len(free))])
}

// speeds returns how fast each job runs now: 0 for one that does not.
func (d *day) speeds() []float64 {
	d.t.Helper()
	speeds := make([]float64, len(d.jobs))
	for i, card := range d.on {
		if card == "" {
			continue
		}
		speeds[i] = 1
		company := 0
		for k, other := range d.on {
			if k != i && other == card {
				s, ok := d.truth.speed[[2]*profile.Profile{d.jobs[i].kind, d.jobs[k].kind}]
				if company++; !ok || company > 1 {
					d.t.Fatalf("%s: nobody measured what runs on %s", d.way.name, card)
				}
				speeds[i] = s
			}
		}
	}
	return speeds
}

func (d *day) end(ctx context.Context, i int) {
	d.t.Helper()
	p, err := d.c.Client.CoreV1().Pods(d.namespace).Get(ctx, podName(i), metav1.GetOptions{})
	if err == nil {
		err = d.kubelet.End(ctx, p)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}
