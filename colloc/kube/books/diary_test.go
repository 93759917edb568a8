package books_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// diary plays one cluster and writes what Books of it did and said.
type diary struct {
	t      *testing.T
	rng    *rand.Rand
	b      *books.Books
	out    *strings.Builder
	config books.Config
	now    time.Time
	twice  bool // all is told twice, which changes nothing
	n      int  // pods that came
	stamps int
	nodes  []*corev1.Node
	pods   map[types.UID]*corev1.Pod
	writes []books.Decision
	groups map[string]int
	volume map[string]string
	known  map[string]pods.Known
	said   map[string][]string
	mends  []func() // what went wrong ends after a while
}

// pick is one of some words.
func (d *diary) pick(words ...string) string { return words[d.rng.IntN(len(words))] }

// chance is true once in n times.
func (d *diary) chance(n int) bool { return d.rng.IntN(n) == 0 }

func (d *diary) note(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// any is one of the pods that a condition holds for, or nil.
func (d *diary) any(holds func(*corev1.Pod) bool) *corev1.Pod {
	var list []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(d.pods)) {
		if holds(d.pods[uid]) {
			list = append(list, d.pods[uid])
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[d.rng.IntN(len(list))]
}

// set is a pod as it is now.
func (d *diary) set(pod *corev1.Pod, change func(*corev1.Pod)) {
	pod = pod.DeepCopy()
	change(pod)
	d.stamps++
	pod.ResourceVersion = strconv.Itoa(10_000_000_000 + d.stamps)
	d.pods[pod.UID] = pod
	d.b.SetPod(pod)
	if d.twice {
		d.b.SetPod(pod.DeepCopy())
	}
}

func (d *diary) drop(pod *corev1.Pod) {
	delete(d.pods, pod.UID)
	d.b.DropPod(pod.UID)
	if d.twice {
		d.b.DropPod(pod.UID)
	}
}

func (d *diary) setNode(n *corev1.Node) {
	d.b.SetNode(n)
	if d.twice {
		d.b.SetNode(n.DeepCopy())
	}
}

// pod draws one that comes.
func (d *diary) pod() *corev1.Pod {
	set := []string{}
	if p := d.pick("light", "light", "light", "heavy", "both", "late", "late", "nobody", ""); p != "" {
		set = append(set, api.AnnotationProfile, p)
	}
	for _, a := range [][]string{
		{api.AnnotationAlone, "true"},
		{api.AnnotationMemory, d.pick("9Gi", "9Gi", "20Gi", "20Gi", "90Gi", "much")},
		{api.AnnotationMaxSlowdown, d.pick("inf", "1.2")},
		{api.AnnotationLength, d.pick("10m", "1h", "20h")},
	} {
		if d.chance(6) {
			set = append(set, a...)
		}
	}
	if d.chance(2) {
		set = append(set, api.AnnotationRestart, "1m")
	}
	pod := taskPod(d.n, set...)
	d.n++
	pod.CreationTimestamp = metav1.NewTime(d.now.Add(-time.Duration(d.rng.IntN(90)) * time.Second))
	pod.Namespace = d.pick("red", "red", "blue")
	priority := int32(d.rng.IntN(3))
	pod.Spec.Priority = &priority
	if d.config.Claims && !d.chance(8) {
		template := claims.Template
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	}
	if d.chance(3) {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "job", UID: types.UID(d.pick("job-1", "job-2")), Controller: &yes}}
	}
	if d.chance(8) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.pick("data", "late")}}}}
	}
	if d.chance(5) {
		pod.Labels["app"] = "x"
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, TopologyKey: corev1.LabelHostname},
		}}}
	}
	if d.chance(10) {
		never := corev1.PreemptNever
		pod.Spec.PreemptionPolicy = &never
	}
	if d.chance(12) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue"})
	}
	return pod
}

// come lets a pod come, or the pods of a gang, of which some may be late.
func (d *diary) come() {
	first := d.pod()
	list := []*corev1.Pod{first}
	if d.chance(3) {
		size, gpus, group, name := 1+d.rng.IntN(3), 1+d.rng.IntN(2), d.chance(3), "g"+strconv.Itoa(d.n%7)
		for len(list) < size+d.rng.IntN(2) {
			o := first.DeepCopy()
			o.Name, o.UID, o.CreationTimestamp.Time = fmt.Sprintf("task-%d", d.n), types.UID(fmt.Sprintf("uid-%06d", d.n)), first.CreationTimestamp.Add(time.Second)
			d.n++
			list = append(list, o)
		}
		for _, o := range list {
			o.Annotations[api.AnnotationGPUs] = strconv.Itoa(gpus)
			if group {
				o.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
			} else {
				o.Annotations[api.AnnotationGang], o.Annotations[api.AnnotationGangSize] = name, strconv.Itoa(size)
			}
		}
		if d.chance(6) {
			list[len(list)-1].Annotations[api.AnnotationMemory] = "10Gi" // unlike the others
		}
	}
	for _, pod := range list {
		var words []string
		for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
			words = append(words, strings.TrimPrefix(key, api.Domain+"/")+" "+pod.Annotations[key])
		}
		if g := pod.Spec.SchedulingGroup; g != nil {
			words = append(words, "group "+*g.PodGroupName)
		}
		d.note("%s/%s comes, priority %d: %s", pod.Namespace, pod.Name, *pod.Spec.Priority, strings.Join(words, ", "))
		d.set(pod, func(*corev1.Pod) {})
	}
}

// write ends a write, in one of all ways.
func (d *diary) write(dec *books.Decision) {
	now := d.pods[dec.Pod.UID]
	how, outcome := "", books.Written
	var answer *corev1.Pod
	switch k := d.rng.IntN(12); {
	case now == nil || now.ResourceVersion != dec.Pod.ResourceVersion || k == 0:
		how, outcome, answer = "is refused", books.Refused, now
	case k == 1:
		how, outcome = "is refused unseen", books.Refused
	case k == 2:
		how, outcome = "is unclear", books.Unclear
	default:
		answer = now.DeepCopy()
		d.stamps++
		answer.ResourceVersion = strconv.Itoa(10_000_000_000 + d.stamps)
		if d.config.Shadow {
			answer.Annotations[api.AnnotationShadow] = pods.ShadowValue(dec.At)
		} else {
			answer.Spec.SchedulingGates = nil
			maps.Copy(answer.Annotations, dec.At.Annotations())
			if dec.Left.Node != "" || d.chance(2) {
				answer.Status.ResourceClaimStatuses = claims.Status(answer, dec.At)
			}
			if !d.chance(3) {
				answer.Spec.NodeName, answer.Status.Phase, answer.Status.StartTime = dec.At.Node, corev1.PodRunning, &metav1.Time{Time: d.now}
			}
		}
		d.pods[answer.UID] = answer
	}
	if how != "" {
		d.note("the write of %s %s", dec.Pod.Name, how)
	}
	if err := d.b.Finish(dec.Pod.UID, outcome, answer); err != nil {
		d.note("  %v", err)
	}
}

// happen lets something happen.
func (d *diary) happen() {
	waits := func(p *corev1.Pod) bool { return !bound(p) }
	runs := func(p *corev1.Pod) bool { return bound(p) && p.Spec.NodeName != "" }
	stands := func(p *corev1.Pod) bool { return bound(p) && p.Spec.NodeName == "" }
	refuse := func(p *corev1.Pod) {
		p.Status = refused(p).Status
		p.Status.Conditions[0].Message = "no room"
	}
	change := func(what string, holds func(*corev1.Pod) bool, change func(*corev1.Pod)) {
		if pod := d.any(holds); pod != nil {
			d.note("%s %s", pod.Name, what)
			d.set(pod, change)
		}
	}
	switch d.rng.IntN(27) {
	default:
		d.come()
	case 8, 9, 10:
		for range 2 {
			change("is done", runs, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodSucceeded
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(d.now)}}}}
			})
		}
	case 11:
		if pod := d.any(func(*corev1.Pod) bool { return true }); pod != nil {
			d.note("%s is gone", pod.Name)
			d.drop(pod)
		}
	case 12:
		change("is deleted", runs, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: d.now} })
	case 13:
		change("runs on its node", stands, func(p *corev1.Pod) {
			at, _, _ := api.ReadPlacement(p.Annotations)
			p.Spec.NodeName, p.Status.Phase, p.Status.StartTime = at.Node, corev1.PodRunning, &metav1.Time{Time: d.now}
		})
	case 14:
		change("loses its other gates", waits, func(p *corev1.Pod) {
			p.Spec.SchedulingGates = p.Spec.SchedulingGates[:min(1, len(p.Spec.SchedulingGates))]
		})
	case 15:
		change("loses its label", waits, func(p *corev1.Pod) { p.Labels = nil })
	case 16:
		change("loses its gate", waits, func(p *corev1.Pod) { p.Spec.SchedulingGates, p.Spec.NodeName = nil, "n1" })
	case 17:
		change("is refused by the scheduler", stands, refuse)
	case 18:
		n := d.nodes[d.rng.IntN(len(d.nodes))]
		changed := n.DeepCopy()
		switch d.rng.IntN(3) {
		case 0:
			d.note("node %s is gone", n.Name)
			d.b.DropNode(n.Name)
		case 1:
			changed.Spec.Unschedulable = true
			d.note("node %s is cordoned", n.Name)
			d.setNode(changed)
		case 2:
			changed.Labels["nvidia.com/gpu.count"] = strconv.Itoa(1 + d.rng.IntN(5))
			d.note("node %s has %s GPUs", n.Name, changed.Labels["nvidia.com/gpu.count"])
			d.setNode(changed)
		}
		d.mends = append(d.mends, func() { d.note("node %s is as it was", n.Name); d.setNode(n) })
	case 19:
		x, y := d.any(bound), d.any(bound)
		if x != nil && x != y {
			d.note("%s and %s are parted", x.Name, y.Name)
			d.b.Part(x.UID, y.UID, d.now.Add(20*time.Minute))
			d.b.Part(x.UID, "nobody", d.now)
		}
	case 20:
		if d.known["late"] = d.known["light"]; d.chance(3) {
			delete(d.known, "late")
		}
		d.note("Profile late is there: %v", d.known["late"].Profile != nil)
		d.b.Refresh("red", "late")
		d.b.Refresh("blue", "late")
	case 21:
		name := "g" + strconv.Itoa(d.rng.IntN(7))
		d.groups[name] = d.rng.IntN(4)
		d.note("PodGroup %s: %d pods", name, d.groups[name])
		d.b.Regroup("red", name)
		d.b.Regroup("blue", name)
	case 22:
		d.volume["late"] = d.pick("n0", "n1")
		d.note("volume late is on %s", d.volume["late"])
		d.b.Reconsider()
	case 23:
		other := taskPod(100000)
		other.Labels, other.Spec.SchedulingGates, other.Spec.NodeName = nil, nil, "n"+strconv.Itoa(d.rng.IntN(2))
		asks := other.Spec.Containers[0].Resources.Requests
		what := "GPUs"
		if asks["nvidia.com/gpu"] = resource.MustParse("1"); d.chance(2) {
			what = "CPUs"
			delete(asks, "nvidia.com/gpu")
			asks[corev1.ResourceCPU] = resource.MustParse("62")
		}
		d.note("a pod of others has %s of %s", what, other.Spec.NodeName)
		d.b.SetPod(other)
		d.mends = append(d.mends, func() { d.note("the pod of others is gone"); d.b.DropPod(other.UID) })
	case 24:
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{UID: "c"}}
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: nodes.Driver, Pool: "pool-n0", Device: "gpu-0"}}}}
		d.note("a claim of others holds gpu-0 of n0")
		d.b.SetClaim(c)
		d.mends = append(d.mends, func() { d.note("the claim of others is gone"); d.b.DropClaim("c") })
	case 25:
		d.note("an hour is over")
		d.now = d.now.Add(time.Hour)
	case 26:
		change("is refused by the scheduler", stands, refuse)
		d.now = d.now.Add(5 * time.Minute)
		for _, pod := range d.b.Unclear() {
			if now := d.pods[pod.UID]; now != nil {
				d.note("%s was not written", now.Name)
				_ = d.b.Finish(now.UID, books.Refused, now)
			}
		}
	}
}

// hear decides until nothing moves, and writes what was decided.
func (d *diary) hear() {
	for more := true; more; {
		r, err := d.b.Decide(context.Background())
		if err != nil {
			d.t.Fatal(err)
		}
		for i := range r.Decisions {
			at := &r.Decisions[i]
			left := ""
			if at.Left.Node != "" {
				left = ", left " + at.Left.GPU()
			}
			d.note("  %s: %s (%.2f, %d beside, %s%s)", at.Pod.Name, at.Text, at.Speed, at.Company, at.At.Address, left)
		}
		var again []string
		for _, f := range r.Refusals {
			text := fmt.Sprintf("%s: %s", f.Reason, f.Text)
			if slices.Contains(d.said[f.Pod.Name], text) {
				again = append(again, f.Pod.Name)
				continue
			}
			d.tell(f.Pod.Name, text)
		}
		if len(again) > 0 {
			d.note("  as before: %s", strings.Join(again, ", "))
		}
		for _, p := range r.Preemptions {
			var names []string
			stay := d.chance(3)
			for _, v := range p.Victims {
				names = append(names, v.Name)
			}
			d.note("  for %s go %s, stay %v: %s", p.For.Name, strings.Join(names, ", "), stay, p.Text)
			if stay {
				d.b.Stays(p.Victims)
				continue
			}
			for _, v := range p.Victims {
				if now := d.pods[v.UID]; now != nil && d.chance(2) {
					d.set(now, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: d.now} })
				}
			}
		}
		d.writes = append(d.writes, r.Decisions...)
		for len(d.writes) > 0 && !d.chance(8) {
			d.write(&d.writes[0])
			d.writes = d.writes[1:]
		}
		more = r.More && len(r.Decisions)+len(r.Refusals) > 0
	}
}

// tell notes what is said of something, where it is another thing than before: how much, and what is new.
func (d *diary) tell(what string, list ...string) {
	if was := d.said[what]; !slices.Equal(was, list) {
		fresh := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(was, s) })
		d.note("  %s, %d: %s", what, len(list), strings.Join(fresh, "; "))
	}
	d.said[what] = list
}

// look notes what the Books say.
func (d *diary) look() {
	var list []string
	for _, c := range d.b.Cards() {
		if len(c.Tasks) > 0 || c.Closed != "" {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %v %v %s %s", c.ID, strings.ReplaceAll(fmt.Sprint(c.Tasks), "uid-0000", ""), c.Reserved, c.Closed, c.Over)))
		}
	}
	if d.chance(4) && len(d.nodes) < 9 {
		d.tell("cards", list...)
	}
	list = nil
	for _, s := range d.b.Sets() {
		for _, m := range s.Members {
			if m.Gang || s.Mechanism != 0 {
				list = append(list, fmt.Sprintf("%s on %s by %v, gang %v, Profile %v", m.Pod.Name, s.Model.Name, s.Mechanism, m.Gang, m.Profile != nil))
			}
		}
	}
	if d.chance(8) {
		d.tell("sets", list...)
	}
	refusals := func(all []books.Refusal) (list []string) {
		for _, f := range all {
			if f.Reason != books.Placed || d.chance(16) {
				list = append(list, f.Pod.Name+" "+f.Reason+" "+f.Text)
			}
		}
		return list
	}
	d.tell("unsaid", refusals(d.b.Unsaid())...)
	d.tell("broken", refusals(d.b.Broken())...)
	names := func(all []books.Bound) (list []string) {
		for _, o := range all {
			list = append(list, fmt.Sprintf("%s %s %v", o.Pod.Name, o.At.GPU(), o.At.Reserved))
		}
		return list
	}
	d.tell("unclaimed", names(d.b.Unclaimed())...)
	loosened := d.b.Loosened()
	d.tell("loosened", names(loosened)...)
	for _, o := range loosened {
		d.b.Loosen(o.Pod.UID, o.At.Reserved)
		d.set(d.pods[o.Pod.UID], func(p *corev1.Pod) { maps.Copy(p.Annotations, o.At.Annotations()) })
	}
	stuck := d.b.Stuck()
	list = nil
	for _, s := range stuck {
		list = append(list, s.Pod.Name+" "+s.Reason+" "+s.Text)
	}
	d.tell("stuck", list...)
	for _, s := range stuck {
		if now := d.pods[s.Pod.UID]; !d.config.Unpinned {
			d.b.Shun(now.UID)
			d.drop(now)
		} else if d.b.Leave(now.UID); d.chance(2) {
			d.set(now, func(*corev1.Pod) {}) // an event of before
		}
	}
	list = nil
	for _, p := range d.b.Parted() {
		list = append(list, fmt.Sprintf("%s until %v", p.Owners, p.Until.Sub(epoch)))
	}
	d.tell("parted", list...)
	list = nil
	for _, pod := range d.b.Unclear() {
		list = append(list, pod.Name)
	}
	d.tell("unclear", list...)
	d.tell("counts", fmt.Sprintf("%d pending, %d of %d tasks, drift %d, %d plugins", d.b.Pending(), len(d.b.Tasks()), len(d.pods), d.b.Drift(), d.b.Plugins()))
	if pod := d.any(func(*corev1.Pod) bool { return true }); pod != nil && d.chance(4) {
		var out strings.Builder
		if err := d.b.Explain(&out, pod.UID); err != nil {
			fmt.Fprint(&out, err)
		}
		d.note("  | %s", strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "\n  | "))
	}
	if wrong := d.b.Check(); wrong != nil {
		d.t.Fatal(wrong)
	}
}

// play plays a cluster for some events and returns what was written.
func play(t *testing.T, config books.Config, count, steps int, seed uint64, twice bool) string {
	t.Helper()
	d := &diary{
		t: t, rng: rand.New(rand.NewPCG(seed, 47)), out: &strings.Builder{}, config: config, now: epoch, twice: twice, pods: map[types.UID]*corev1.Pod{},
		groups: map[string]int{"g0": 2, "g1": 3, "g2": 1}, volume: map[string]string{"data": "n0"}, known: map[string]pods.Known{}, said: map[string][]string{},
	}
	for _, name := range []string{"light", "heavy"} {
		d.known[name] = profiles(t)("", name)
	}
	d.known["both"] = pods.Known{Profile: d.known["heavy"].Profile, Elsewhere: []*profile.Profile{larger(t)}, Version: "1"}
	config.Planner, config.Now = planner(t), func() time.Time { return d.now }
	config.Profile = func(_, name string) pods.Known { return d.known[name] }
	config.Groups = func(_, name string) (int, bool) { n, ok := d.groups[name]; return n, ok }
	config.Volumes = func(_ string, claims []string, n *corev1.Node) string {
		if d.volume[claims[0]] != n.Name {
			return "its volume is elsewhere"
		}
		return ""
	}
	var err error
	if d.b, err = books.New(config); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		n, product, mib := "n"+strconv.Itoa(i), a100, 40960
		if i == 1 {
			product, mib = "Tesla-V100-SXM2-32GB", 32768
		}
		cards := 2 + i%2
		if count > 9 {
			cards = 8
		}
		d.nodes = append(d.nodes, gpuNode(n, product, mib, cards))
		d.nodes[i].Labels[[]string{"other", api.LabelHAMi, api.LabelMPS}[i%3]] = strconv.FormatBool(count < 9)
		d.setNode(d.nodes[i])
		if config.Claims {
			d.b.SetSlice(offered(n, true, "gpu-0", "gpu-1"))
		}
	}
	for i := range min(250, 8*count-24) { // a large cluster is full but for some cards
		pod := taskPod(1000+i, api.AnnotationProfile, "heavy", api.AnnotationAlone, "true")
		at := api.Placement{Node: "n" + strconv.Itoa(i/8), Device: "gpu-" + strconv.Itoa(i%8), Address: strconv.Itoa(i % 8), Reserved: 30 * profile.GiB}
		maps.Copy(pod.Annotations, at.Annotations())
		priority := int32(i % 3)
		pod.Spec.Priority, pod.Spec.NodeName, pod.Spec.SchedulingGates, pod.Status.Phase = &priority, at.Node, nil, corev1.PodRunning
		if pod.Namespace = "blue"; i%5 == 0 {
			pod.Annotations[api.AnnotationRestart], pod.Namespace = "1m", "red"
		}
		d.set(pod, func(*corev1.Pod) {})
	}
	d.b.Open()
	for range steps {
		d.happen()
		if len(d.mends) > 0 && d.chance(3) {
			d.mends[0]()
			d.mends = d.mends[1:]
		}
		if pod := d.any(func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }); pod != nil {
			d.drop(pod)
		}
		if all := slices.Sorted(maps.Keys(d.pods)); d.b.Pending() > 12 {
			d.note("%s is gone", d.pods[all[0]].Name)
			d.drop(d.pods[all[0]])
		}
		d.now = d.now.Add(time.Duration(d.rng.IntN(60)) * time.Second)
		d.b.Reopen()
		d.hear()
		d.look()
	}
	return d.out.String()
}

// TestDiary: told the same, Books decide and say the same as ever, also where they are told twice.
func TestDiary(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine; TestAnyOrder tells as much under -race")
	}
	var out strings.Builder
	share, _ := pods.ParseTenancy([]string{"red+blue"})
	short := strings.NewReplacer( // what the Planner says, which its own tests read
		"it waits: every GPU that would take it is taken by work that is worth more, and it can join none", "all taken",
		"there are too few GPUs of one type on which it may run", "too few GPUs",
		"a decision cannot be changed: delete the pod and make it anew", "delete it",
	)
	for _, c := range []struct {
		name   string
		config books.Config
		nodes  int
		steps  int
		seed   uint64
	}{
		{"annotated", books.Config{Tenancy: share, Batch: 3}, 3, 80, 6},
		{"preempting", books.Config{Preempt: true, Tenancy: share, Limits: map[string]int{"blue": 4}}, 3, 90, 7},
		{"claimed", books.Config{Claims: true, Unpinned: true}, 2, 90, 6},
		{"shadow", books.Config{Shadow: true, Preempt: true}, 2, 30, 6},
		{"large", books.Config{Preempt: true, Limits: map[string]int{"red": 58}}, 33, 60, 7},
	} {
		got := play(t, c.config, c.nodes, c.steps, c.seed, false)
		if again := play(t, c.config, c.nodes, c.steps, c.seed, true); again != got {
			t.Errorf("%s: told twice they say other things:\n%s", c.name, cmp.Diff(strings.Split(got, "\n"), strings.Split(again, "\n")))
		}
		fmt.Fprintf(&out, "%s\n%s", c.name, short.Replace(got))
	}
	golden.Check(t, "diary.txt", out.String())
}
