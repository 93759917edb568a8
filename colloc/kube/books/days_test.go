package books_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// gangDay is a small cluster on which gangs and single pods come, preempt and end.
type gangDay struct {
	t      *testing.T
	rng    *rand.Rand
	b      *books.Books
	now    time.Time
	placed map[string]*corev1.Pod // by name
	model  map[string]string      // product, by node
	asks   map[string]int32       // priority of those that wait, by name
	pods   int
	moved  int // victims
	begun  int // gangs
}

func newGangDay(t *testing.T, seed uint64) *gangDay {
	t.Helper()
	d := &gangDay{
		t: t, rng: rand.New(rand.NewPCG(seed, 43)), now: epoch,
		placed: map[string]*corev1.Pod{}, model: map[string]string{}, asks: map[string]int32{},
	}
	var nodes []*corev1.Node
	for i := range 2 + d.rng.IntN(3) {
		n, product, mib := "n"+strconv.Itoa(i), a100, 40960
		if d.rng.IntN(4) == 0 {
			product, mib = "Tesla-V100-SXM2-32GB", 32768
		}
		d.model[n] = product
		nodes = append(nodes, gpuNode(n, product, mib, 1+d.rng.IntN(6)))
	}
	d.b = preempting(t, &d.now, nodes...)
	return d
}

// come lets a pod or a gang come.
func (d *gangDay) come() {
	size, gpus, priority := 1+d.rng.IntN(3), 1+d.rng.IntN(3), int32(d.rng.IntN(4))
	gang := "g" + strconv.Itoa(d.pods)
	for range size {
		pod := taskPod(d.pods, api.AnnotationProfile, []string{"light", "heavy"}[d.pods%2])
		if size*gpus > 1 {
			pod = member(d.pods, gang, size, gpus, api.AnnotationProfile, "light", api.AnnotationMaxSlowdown, "inf")
		}
		if d.rng.IntN(3) > 0 {
			pod.Annotations[api.AnnotationRestart] = "1m"
		}
		d.pods++
		d.asks[pod.Name] = priority
		d.b.SetPod(ranked(pod, priority))
	}
}

// round decides, and looks at what was decided.
func (d *gangDay) round() {
	r, said := decide(d.t, d.b)
	gangs := map[string]map[string]int{} // pods of each, by product
	for i := range r.Decisions {
		pod, at := r.Decisions[i].Pod, r.Decisions[i].At
		want, _ := strconv.Atoi(pod.Annotations[api.AnnotationGPUs])
		if got := len(at.GPUs()); got != max(1, want) {
			d.t.Fatalf("%s has %d GPUs on %s, want %d", pod.Name, got, at.GPU(), want)
		}
		if gang := pod.Annotations[api.AnnotationGang]; gang != "" {
			if gangs[gang] == nil {
				gangs[gang] = map[string]int{}
			}
			gangs[gang][d.model[at.Node]]++
		}
		delete(d.asks, pod.Name)
	}
	for i := range r.Decisions {
		a := r.Decisions[i].Pod.Annotations
		size, _ := strconv.Atoi(a[api.AnnotationGangSize])
		if of := gangs[a[api.AnnotationGang]]; of != nil && (len(of) != 1 || of[d.model[r.Decisions[i].At.Node]] != size) {
			d.t.Fatalf("of gang %s of %d pods there start %v", a[api.AnnotationGang], size, of)
		}
	}
	d.begun += len(gangs)
	maps.Copy(d.placed, write(d.t, d.b, r))
	for _, p := range r.Preemptions {
		whole := map[string]int{}
		for _, v := range p.Victims {
			if *v.Spec.Priority >= *p.For.Spec.Priority || v.Annotations[api.AnnotationRestart] == "" || d.placed[v.Name] == nil {
				d.t.Fatalf("%s of priority %d goes for %s of priority %d", v.Name, *v.Spec.Priority, p.For.Name, *p.For.Spec.Priority)
			}
			whole[v.Annotations[api.AnnotationGang]]++
		}
		for _, v := range p.Victims {
			there := 0
			for _, o := range d.placed {
				if g := o.Annotations[api.AnnotationGang]; g != "" && g == v.Annotations[api.AnnotationGang] {
					there++
				}
			}
			if there > 0 && whole[v.Annotations[api.AnnotationGang]] != there {
				d.t.Fatalf("of gang %s %d of %d pods go", v.Annotations[api.AnnotationGang], whole[v.Annotations[api.AnnotationGang]], there)
			}
		}
		for _, v := range p.Victims {
			d.end(v.Name)
		}
		d.moved += len(p.Victims)
	}
	if wrong := d.b.Check(); wrong != nil {
		d.t.Fatal(wrong, said)
	}
}

func (d *gangDay) end(name string) {
	if pod := d.placed[name]; pod != nil {
		d.b.DropPod(pod.UID)
		delete(d.placed, name)
	}
}

// TestGangDays: on random days all pods of a gang start at once, each with its GPUs on one node and all on one product; those
// who go are of a lower priority, say what a restart costs, and go with their gang; the books add up; and once all that
// runs has ended, again and again, nobody is left but who could never start.
func TestGangDays(t *testing.T) {
	moved, begun := 0, 0
	for seed := range uint64(60) {
		d := newGangDay(t, seed)
		for range 25 {
			d.come()
			d.round()
			d.now = d.now.Add(20 * time.Second)
			d.b.Reopen()
			for _, name := range slices.Sorted(maps.Keys(d.placed)) {
				if d.rng.IntN(4) == 0 {
					d.end(name)
				}
			}
		}
		idle := 0
		for tries := 0; idle < 2 && tries < 200; tries++ {
			for _, name := range slices.Collect(maps.Keys(d.placed)) {
				d.end(name)
			}
			before := len(d.asks)
			d.now = d.now.Add(2 * time.Minute)
			d.b.Reopen()
			d.round()
			if idle++; len(d.asks) < before {
				idle = 0
			}
		}
		if r, said := decide(t, d.b); len(r.Decisions) > 0 || len(r.Preemptions) > 0 {
			t.Errorf("seed %d: nothing moved twice, and then %v", seed, said)
		}
		moved, begun = moved+d.moved, begun+d.begun
	}
	if moved < 50 || begun < 200 {
		t.Errorf("%d pods went and %d gangs began: this says little", moved, begun)
	}
}
