package books_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// world plays the API server and what happens to the cluster: objects with versions,
// events that come late and twice, writes that are refused or whose answer is lost.
type world struct {
	planner *books.Books
	make    func() *books.Books
	version int
	nodes   map[string]*corev1.Node
	pods    map[types.UID]*corev1.Pod
	late    []func()         // events that are not delivered yet
	writes  []books.Decision // that are not done yet
	next    int
}

func (w *world) stamp(pod *corev1.Pod) {
	w.version++
	pod.ResourceVersion = strconv.Itoa(1_000_000 + w.version)
}

// tell delivers an event now or later.
func (w *world) tell(t *rapid.T, event func()) {
	if rapid.Bool().Draw(t, "late") {
		w.late = append(w.late, event)
		return
	}
	w.catchUp()
	event()
}

func (w *world) catchUp() {
	for _, event := range w.late {
		event()
	}
	w.late = nil
}

func (w *world) create(t *rapid.T) {
	w.next++
	var set []string
	if name := rapid.SampledFrom([]string{"", "light", "heavy", "nobody"}).Draw(t, "profile"); name != "" {
		set = append(set, api.AnnotationProfile, name)
	}
	if rapid.IntRange(0, 4).Draw(t, "alone") == 0 {
		set = append(set, api.AnnotationAlone, "true")
	}
	pod := taskPod(w.next, set...)
	pod.Namespace = rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "namespace")
	if rapid.IntRange(0, 2).Draw(t, "gang") == 0 {
		pod.Annotations[api.AnnotationGang], pod.Annotations[api.AnnotationGangSize] = "g", "2"
	}
	if rapid.IntRange(0, 5).Draw(t, "wide") == 0 {
		pod.Annotations[api.AnnotationGPUs] = "2"
	}
	w.stamp(pod)
	w.pods[pod.UID] = pod
	w.tell(t, func() { w.planner.SetPod(pod) })
}

// anyPod is nil where there is none.
func (w *world) anyPod(t *rapid.T) *corev1.Pod {
	if len(w.pods) == 0 {
		return nil
	}
	return w.pods[rapid.SampledFrom(slices.Sorted(maps.Keys(w.pods))).Draw(t, "pod")]
}

func (w *world) remove(t *rapid.T) {
	pod := w.anyPod(t)
	if pod == nil {
		return
	}
	delete(w.pods, pod.UID)
	w.tell(t, func() { w.planner.DropPod(pod.UID) })
}

func (w *world) repeat(t *rapid.T) {
	if pod := w.anyPod(t); pod != nil {
		w.tell(t, func() { w.planner.SetPod(pod) })
	}
}

// loosen takes the gate away from a pod that was not placed, as anybody may: the scheduler puts it somewhere.
func (w *world) loosen(t *rapid.T) {
	was := w.anyPod(t)
	if unclear := w.planner.Unclear(); len(unclear) > 0 && rapid.Bool().Draw(t, "unclear") {
		was = w.pods[unclear[0].UID]
	}
	if was == nil || was.Annotations[api.AnnotationGPU] != "" || was.Annotations[api.AnnotationGang] != "" {
		return
	}
	pod := was.DeepCopy()
	pod.Spec.SchedulingGates = nil
	w.stamp(pod)
	w.pods[pod.UID] = pod
	w.tell(t, func() { w.planner.SetPod(pod) })
}

func (w *world) decide(t *rapid.T) {
	r, err := w.planner.Decide(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if twice := saidTwice(r); twice != "" {
		t.Fatalf("%s is decided and waits, or waits for two reasons: %+v", twice, r)
	}
	w.whole(t, r.Decisions)
	w.writes = append(w.writes, r.Decisions...)
}

// whole demands that what is decided of a gang makes it whole, or goes on with one that
// has begun.
func (w *world) whole(t *rapid.T, decisions []books.Decision) {
	n := map[string]int{}
	for i := range decisions {
		if pod := decisions[i].Pod; pod.Annotations[api.AnnotationGang] != "" {
			n[pod.Namespace]++
		}
	}
	for i := range w.writes { // those under way count
		if pod := w.writes[i].Pod; pod.Annotations[api.AnnotationGang] != "" && n[pod.Namespace] > 0 {
			n[pod.Namespace]++
		}
	}
	for ns, k := range n {
		begun := false
		for _, pod := range w.pods {
			begun = begun || pod.Namespace == ns && pod.Annotations[api.AnnotationGang] != "" && pod.Annotations[api.AnnotationGPU] != ""
		}
		for _, pod := range w.planner.Unclear() { // perhaps it was written
			begun = begun || pod.Namespace == ns && pod.Annotations[api.AnnotationGang] != ""
		}
		if k < 2 && !begun && len(w.late) == 0 {
			t.Fatalf("one pod of the gang in %s is placed alone", ns)
		}
	}
}

// write does one of the writes under way, as the API server would.
func (w *world) write(t *rapid.T) {
	if len(w.writes) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.writes)-1).Draw(t, "write")
	d := w.writes[i]
	w.writes = slices.Delete(w.writes, i, i+1)
	w.finish(d, rapid.SampledFrom([]string{"done", "lost answer", "not done", "lost request", "refused"}).Draw(t, "outcome"))
}

func (w *world) finish(d books.Decision, how string) {
	now := w.pods[d.Pod.UID]
	possible := now != nil && now.ResourceVersion == d.Pod.ResourceVersion
	if possible && (how == "done" || how == "lost answer") {
		pod := written(d)
		w.stamp(pod)
		w.pods[pod.UID] = pod
		w.late = append(w.late, func() { w.planner.SetPod(pod) })
		now = pod
	}
	outcome, answer := books.Written, now
	switch {
	case how == "lost answer" || how == "lost request":
		outcome, answer = books.Unclear, nil
	case !possible || how != "done":
		outcome = books.Refused
	}
	_ = w.planner.Finish(d.Pod.UID, outcome, answer) // ErrNotWriting where the books were made anew
}

func (w *world) node(t *rapid.T) {
	name := rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node")
	if w.nodes[name] != nil && rapid.Bool().Draw(t, "gone") {
		delete(w.nodes, name)
		w.planner.DropNode(name)
		return
	}
	n := gpuNode(name, a100, 40960, rapid.IntRange(1, 3).Draw(t, "cards"))
	n.Spec.Unschedulable = rapid.IntRange(0, 3).Draw(t, "cordoned") == 0
	w.nodes[name] = n
	w.planner.SetNode(n)
}

func (w *world) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// restart is a new process that reads all objects; what the old one had under way may
// still be written.
func (w *world) restart(t *rapid.T) {
	for _, d := range w.writes {
		w.finish(d, rapid.SampledFrom([]string{"lost answer", "lost request"}).Draw(t, "on its way"))
	}
	w.writes, w.late = nil, nil
	w.planner = w.make()
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		w.planner.SetNode(w.nodes[name])
	}
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		w.planner.SetPod(w.pods[uid])
	}
	w.planner.Open()
}

// settle delivers all events, ends all writes and finds out what became of them.
func (w *world) settle() {
	for _, d := range w.writes {
		w.finish(d, "done")
	}
	w.writes = nil
	w.catchUp()
	for _, pod := range w.planner.Unclear() {
		now := w.pods[pod.UID]
		if now == nil {
			w.planner.DropPod(pod.UID)
			continue
		}
		w.planner.SetPod(now)
		if len(now.Spec.SchedulingGates) > 0 {
			_ = w.planner.Finish(pod.UID, books.Refused, now)
		}
	}
}

// check recounts from the objects alone.
func (w *world) check(t *rapid.T) {
	if wrong := w.planner.Check(); wrong != nil {
		t.Fatal(wrong)
	}
	on := map[string][]*corev1.Pod{}
	for _, pod := range w.pods {
		at, _, err := api.ReadPlacement(pod.Annotations)
		w.must(t, err)
		for _, gpu := range at.GPUs() {
			on[gpu] = append(on[gpu], pod)
		}
		if at.Node != "" && strconv.Itoa(len(at.GPUs())) != cmp.Or(pod.Annotations[api.AnnotationGPUs], "1") {
			t.Fatalf("%s has %s and asks for %s", pod.Name, at.GPU(), pod.Annotations[api.AnnotationGPUs])
		}
	}
	for gpu, list := range on {
		sum := profile.Bytes(0)
		for _, pod := range list {
			p, _, err := api.ReadPlacement(pod.Annotations)
			w.must(t, err)
			sum += p.Reserved
			alone := pod.Annotations[api.AnnotationAlone] != "" || pod.Annotations[api.AnnotationProfile] == "" || pod.Annotations[api.AnnotationProfile] == "nobody"
			gang := pod.Annotations[api.AnnotationGang] != "" || pod.Annotations[api.AnnotationGPUs] != "" // the world has one in each namespace
			alone = alone || gang != (list[0].Annotations[api.AnnotationGang] != "" || list[0].Annotations[api.AnnotationGPUs] != "")
			if len(list) > 1 && alone || pod.Namespace != list[0].Namespace {
				t.Fatalf("%s holds %d tasks, of which %s must not share: %v", gpu, len(list), pod.Name, pod.Annotations)
			}
		}
		if len(list) > colloc.DefaultMaxSet || sum > 36*profile.GiB {
			t.Fatalf("%s holds %d tasks with %v", gpu, len(list), sum)
		}
	}
	for _, c := range w.planner.Cards() {
		if len(c.Tasks) != len(on[c.ID]) {
			t.Fatalf("the books have %d tasks on %s, the objects %d", len(c.Tasks), c.ID, len(on[c.ID]))
		}
	}
}

// TestAnyOrder: whatever happens in whatever order, once all events are delivered the
// books say what the objects say, and no card is promised to more than it bears.
func TestAnyOrder(t *testing.T) {
	most := 120
	if race.Enabled {
		most = 20
	}
	p, known := planner(t), profiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{}}
		w.make = func() *books.Books {
			b, err := books.New(books.Config{Planner: p, Profile: known, Now: clock, Batch: 3})
			if err != nil {
				rt.Fatal(err)
			}
			return b
		}
		w.planner = w.make()
		w.planner.Open()
		act := []func(*rapid.T){
			w.create, w.create, w.decide, w.decide, w.write, w.write, w.write, w.remove, w.repeat, w.loosen, w.node, w.restart,
			func(*rapid.T) { w.catchUp() },
			func(rt *rapid.T) { w.settle(); w.check(rt) },
		}
		for range rapid.IntRange(5, most).Draw(rt, "steps") {
			act[rapid.IntRange(0, len(act)-1).Draw(rt, "act")](rt)
		}
		w.settle()
		w.check(rt)
		want := fmt.Sprint(w.planner.Cards())
		w.restart(rt)
		if got := fmt.Sprint(w.planner.Cards()); got != want {
			rt.Fatalf("made anew the books say\n%s\nwant\n%s", got, want)
		}
	})
}
