package packer_test

import (
	"cmp"
	"math"
	rand "math/rand/v2"
	"reflect"
	list "slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// slow is a problem with its unit.
type slow struct {
	*packer.Problem
	unit float64
}

// slowUnits is what a task at a speed is worth on a GPU, in units.
func slowUnits(p slow, t *packer.Task, gpu *packer.GPU, speed float64) int64 {
	if speed <= 0 {
		return 0
	}
	return max(1, int64(math.Round(min(t.EffectiveWeight()*packtest.PaceOf(p.Problem, t, gpu)/p.unit, 1<<20)*speed)))
}

// refused are the limits on a set, the one that is nearest to being allowed last.
func refused() []packer.ReasonCode {
	return []packer.ReasonCode{
		0, packer.WrongGPU, packer.TooFewGPUs, packer.GangSize, packer.SetFull, packer.MustBeAlone, packer.Incompatible,
		packer.MemoryLimit, packer.SpeedLimit, packer.NoGain,
	}
}

// kind is a kind of empty GPUs, or a GPU with residents.
type kind struct {
	gpu   *packer.GPU
	count int
}

func kindsOf(p *packer.Problem) []kind {
	var order []*packer.GPU
	for g := range p.GPUs {
		order = append(order, &p.GPUs[g])
	}
	list.SortFunc(order, func(a, b *packer.GPU) int { return cmp.Compare(a.ID, b.ID) })
	var free, held []kind
	for _, gpu := range order {
		if len(gpu.Residents) > 0 {
			held = append(held, kind{gpu, 1})
		} else if k := list.IndexFunc(free, func(o kind) bool { return o.gpu.Alike(gpu) }); k >= 0 {
			free[k].count++
		} else {
			free = append(free, kind{gpu, 1})
		}
	}
	return append(free, held...)
}

// room is what tasks may still reserve there, one beside another alone.
func (k kind) room(p slow) profile.Bytes {
	room := p.Limits.Usable(k.gpu.Total())
	for i := range k.gpu.Residents {
		room -= k.gpu.Residents[i].Memory
	}
	return room
}

// ruling is what a model and the limits say of a set.
type ruling struct {
	code         packer.ReasonCode
	short        profile.Bytes
	slow         *packer.Task
	speed, limit float64
	total, ref   int64
	partner      *packer.Task
	apart        int64
}

// rule judges residents with tasks on a kind of GPU, alone or by its best mechanism.
func rule(t *testing.T, p slow, k kind, tasks []*packer.Task, ref int64) ruling {
	t.Helper()
	var set []*packer.Task
	for i := range k.gpu.Residents {
		set = append(set, &k.gpu.Residents[i])
	}
	residents := len(set)
	set = append(set, tasks...)
	mechs := k.gpu.Sharing()
	if len(set) == 1 {
		mechs = []profile.Mechanism{profile.Exclusive}
	}
	if len(set) > 1 && (len(set) > p.Limits.LargestSet() || len(mechs) == 0) {
		return ruling{code: packer.SetFull}
	}
	used := profile.Bytes(0)
	for n, task := range set {
		used += task.Memory
		if task.Alone && len(set) > 1 {
			return ruling{code: packer.MustBeAlone}
		}
		if n < residents {
			continue
		}
		switch {
		case !k.gpu.Hosts(task):
			return ruling{code: packer.WrongGPU}
		case residents == 0 && task.Width() > k.count:
			return ruling{code: packer.TooFewGPUs}
		case task.Width() != set[0].Width():
			return ruling{code: packer.GangSize}
		case list.ContainsFunc(set[:n], func(o *packer.Task) bool { return !task.Accepts(o) }):
			return ruling{code: packer.Incompatible}
		}
	}
	if offer := p.Limits.Offer(k.gpu, len(set)); used > offer {
		return ruling{code: packer.MemoryLimit, short: used - offer}
	}
	best, speeds := ruling{code: -1}, make([]float64, len(set))
	for _, mech := range mechs {
		if err := p.Model.Speeds(set, k.gpu, mech, speeds); err != nil {
			t.Fatal(err)
		}
		r := ruling{ref: ref}
		for i, task := range set {
			s := speeds[i]
			r.total += slowUnits(p, task, k.gpu, s)
			if (s < task.MinSpeed || s == 0) && (r.code == 0 || s-task.MinSpeed < r.speed-r.limit) {
				r.code, r.slow, r.speed, r.limit = packer.SpeedLimit, task, s, task.MinSpeed
			}
		}
		if r.code == 0 && len(set) > 1 && (r.total <= ref || float64(r.total) < (1+p.Limits.MinGain)*float64(ref)) {
			r.code = packer.NoGain
		}
		if best.code < 0 || r.nearer(best) {
			best = r
		}
	}
	return best
}

// nearer says that a set is allowed, or nearer to being so, where the other is not.
func (r ruling) nearer(o ruling) bool {
	rank := func(r ruling) int {
		if r.code == 0 {
			return len(refused())
		}
		return list.Index(refused(), r.code)
	}
	switch {
	case rank(r) != rank(o):
		return rank(r) > rank(o)
	case r.code == packer.MemoryLimit:
		return r.short < o.short
	case r.code == packer.SpeedLimit:
		return r.speed-r.limit > o.speed-o.limit
	}
	return r.total-r.ref > o.total-o.ref
}

// slowReason explains a task that has no company by trying all that could be.
func slowReason(t *testing.T, p slow, i int, at *packer.GPU, waiting bool, partners []*packer.Task) packer.Reason {
	t.Helper()
	task := &p.Tasks[i]
	r := packer.Reason{Task: i, ID: task.ID, Memory: task.Memory, Placed: at != nil}
	kinds := kindsOf(p.Problem)
	hosted, fits := false, false
	for _, k := range kinds {
		if k.gpu.Hosts(task) {
			r.Largest, hosted = max(r.Largest, k.room(p)), true
			fits = fits || task.Memory <= k.room(p)
		}
	}
	if at != nil {
		kinds = list.DeleteFunc(kinds, func(k kind) bool { return len(k.gpu.Residents) > 0 || !k.gpu.Alike(at) })
	}
	switch {
	case at != nil:
	case len(kinds) == 0:
		r.Code, r.GPUs = packer.NoGPU, 1
		return r
	case !hosted:
		r.Code = packer.WrongGPU
		return r
	case !fits:
		r.Code, r.Short = packer.TooLarge, task.Memory-r.Largest
		return r
	default:
		runs, few, alike := false, false, 0
		best := ruling{code: -1}
		for _, k := range kinds {
			same := 0
			for g := range p.GPUs {
				if o := &p.GPUs[g]; o.Type == k.gpu.Type && o.Total() == k.gpu.Total() && o.Hosts(task) {
					same++
				}
			}
			alike = max(alike, same)
			if len(k.gpu.Residents) > 0 {
				continue
			}
			alone := rule(t, p, k, []*packer.Task{task}, 0)
			runs, few = runs || alone.code == 0, few || alone.code == packer.TooFewGPUs
			if alone.code == packer.SpeedLimit && (best.code < 0 || alone.speed >= best.speed) {
				best = alone
			}
		}
		if !runs && few && task.Width() > alike {
			r.Code, r.GPUs = packer.TooFewGPUs, task.Width()-alike
			return r
		}
		if !runs && best.code == packer.SpeedLimit {
			r.Code, r.Speed, r.Limit, r.Slow = packer.SpeedLimit, best.speed, task.MinSpeed, task.ID
			return r
		}
		r.Code, r.GPUs = packer.GPUsTaken, task.Width()
	}
	s := ruling{code: packer.NoPartner}
	if task.Alone {
		s.code, kinds = packer.MustBeAlone, nil
	}
	for _, k := range kinds {
		if len(k.gpu.Residents) > 0 {
			base := int64(-1)
			mechs := k.gpu.Sharing()
			if len(k.gpu.Residents) == 1 {
				mechs = []profile.Mechanism{profile.Exclusive}
			}
			var members []*packer.Task
			for n := range k.gpu.Residents {
				members = append(members, &k.gpu.Residents[n])
			}
			speeds := make([]float64, len(members))
			for _, mech := range mechs {
				if err := p.Model.Speeds(members, k.gpu, mech, speeds); err != nil {
					t.Fatal(err)
				}
				total := int64(0)
				for n, m := range members {
					total += slowUnits(p, m, k.gpu, speeds[n])
				}
				base = max(base, total)
			}
			o := rule(t, p, k, []*packer.Task{task}, base)
			if o.partner = members[0]; s.partner == nil || o.nearer(s) {
				s = o
			}
			continue
		}
		alone := func(task *packer.Task) int64 {
			if a := rule(t, p, k, []*packer.Task{task}, 0); a.code == 0 {
				return a.total
			}
			return 0
		}
		one := alone(task)
		for _, o := range partners {
			if o == task {
				continue
			}
			other := alone(o)
			both := rule(t, p, k, []*packer.Task{task, o}, max(one, other))
			if both.partner, both.apart = o, one+other; s.partner == nil || both.nearer(s) {
				s = both
			}
		}
	}
	if s.partner != nil {
		r.Partner, r.Short = s.partner.ID, s.short
	}
	value := func(units int64) float64 { return float64(units) * p.unit }
	code := s.code
	switch {
	case s.code == packer.SpeedLimit:
		r.Slow, r.Speed, r.Limit = s.slow.ID, s.speed, s.limit
	case s.code == packer.NoGain:
		r.Shared, r.Apart = value(s.total), value(s.ref)
	case s.code != 0:
	case at == nil || waiting:
		code = packer.NoPartner
	default:
		code, r.Shared, r.Apart = packer.OwnGPU, value(s.total), value(s.apart)
	}
	if at == nil {
		r.Sharing = code
	} else {
		r.Code = code
	}
	return r
}

// TestReasonsTwin: every task without company, and no other, has the reason that trying all
// kinds of GPUs and all partners gives it, but for tasks of more memory than 64 others.
func TestReasonsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(471, 472))
	codes := map[packer.ReasonCode]int{}
	for n := range race.Fewer(320) {
		o := packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 3, Residents: 2, MaxSet: 1 + n%3, Gangs: n%3 == 1}
		if n%160 == 0 {
			o.Tasks, o.MaxSet = 150, 2
		}
		p := packtest.Draw(rng, o)
		for n%160 == 0 && (len(p.Tasks) < 100 || len(p.GPUs) == 0) {
			p = packtest.Draw(rng, o)
		}
		if n%5 == 0 {
			p = packtest.Paced(rng, p)
		}
		method := packer.Method(solve.Greedy{})
		if n%2 == 0 && n%160 > 0 {
			method = solve.LocalSearch{}
		}
		s, q := packtest.Solve(t, method, p), slow{p, p.Unit()}
		at, company := make([]*packer.GPU, len(p.Tasks)), make([]int, len(p.Tasks))
		for _, set := range s.Sets {
			for _, i := range set.Tasks {
				at[i], company[i] = &p.GPUs[set.GPU], len(set.Tasks)+len(p.GPUs[set.GPU].Residents)
			}
		}
		waiting := false
		var partners []*packer.Task
		for i := range p.Tasks {
			if task := &p.Tasks[i]; !task.Alone {
				partners = append(partners, task)
			}
			waiting = waiting || at[i] == nil && list.ContainsFunc(kindsOf(p), func(k kind) bool { return k.gpu.Hosts(&p.Tasks[i]) && p.Tasks[i].Memory <= k.room(q) })
		}
		list.SortFunc(partners, func(a, b *packer.Task) int { return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.ID, b.ID)) })
		partners = partners[:min(len(partners), 65)] // 64 beside the task itself
		var want []packer.Reason
		for i := range p.Tasks {
			if company[i] < 2 {
				want = append(want, slowReason(t, q, i, at[i], waiting, partners))
			}
		}
		for i, r := range want {
			codes[r.Code]++
			codes[r.Sharing]++
			if i >= len(s.Reasons) || !reflect.DeepEqual(s.Reasons[i], r) {
				t.Fatalf("problem %d: reason %d\n%+v, want\n%+v", n, i, s.Reasons[min(i, len(s.Reasons)-1)], r)
			}
		}
		if len(s.Reasons) != len(want) {
			t.Fatalf("problem %d: %d reasons, want %d", n, len(s.Reasons), len(want))
		}
	}
	if len(codes) < 13 && !race.Enabled {
		t.Errorf("codes %v: too few", codes)
	}
}

// drawPlan puts tasks at random on GPUs by random mechanisms; it says what the model says.
func drawPlan(rng *rand.Rand, p *packer.Problem) *packer.Solution {
	members, seen := make([][]int, len(p.GPUs)), make([]bool, len(p.Tasks))
	for i := range p.Tasks {
		if g := rng.IntN(2*len(p.GPUs) + 1); g < len(p.GPUs) {
			members[g], seen[i] = append(members[g], i), true
		}
	}
	s, taken := &packer.Solution{}, make([]bool, len(p.GPUs))
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		if taken[g] {
			for _, i := range members[g] {
				seen[i] = false
			}
			continue
		}
		var set []*packer.Task
		for k := range gpu.Residents {
			set = append(set, &gpu.Residents[k])
		}
		for _, i := range members[g] {
			set = append(set, &p.Tasks[i])
		}
		if len(set) == 0 {
			continue
		}
		out := packer.Set{GPU: g, Tasks: members[g], Speeds: make([]float64, len(set)), Mechanism: profile.Exclusive}
		if len(set) > 1 && rng.IntN(9) > 0 {
			out.Mechanism = gpu.Sharing()[rng.IntN(len(gpu.Sharing()))]
		} else if rng.IntN(9) == 0 {
			out.Mechanism = profile.MPS
		}
		for o := g + 1; o < len(p.GPUs) && len(gpu.Residents) == 0 && len(out.Gang)+1 < set[0].Width(); o++ {
			if !taken[o] && len(p.GPUs[o].Residents) == 0 && p.GPUs[o].Alike(gpu) {
				out.Gang, taken[o] = append(out.Gang, o), true
			}
		}
		if err := p.Model.Speeds(set, gpu, out.Mechanism, out.Speeds); err != nil {
			continue
		}
		for k, task := range set {
			worth := task.EffectiveWeight() * packtest.PaceOf(p, task, gpu)
			out.Value += worth * out.Speeds[k]
			if k >= len(gpu.Residents) && task.Home == gpu.ID {
				out.Value += worth * task.MoveCost
			}
		}
		s.Throughput += out.Value
		s.Sets = append(s.Sets, out)
	}
	for i := range p.Tasks {
		if !seen[i] {
			s.Reasons = append(s.Reasons, packer.Reason{Task: i})
		}
	}
	s.Bound = s.Throughput
	return s
}

// slowCheck says whether a plan that tells the truth about the model keeps all limits. What
// is within rounding of the gain that is asked for counts as unsure.
func slowCheck(t *testing.T, p slow, s *packer.Solution) (fine, unsure bool) {
	t.Helper()
	fine = true
	for i := range s.Sets {
		set := &s.Sets[i]
		gpu := p.GPUs[set.GPU] // a copy that is shared in one way
		var tasks []*packer.Task
		for _, n := range set.Tasks {
			tasks = append(tasks, &p.Tasks[n])
		}
		if len(tasks) == 0 {
			continue
		}
		width := tasks[0].Width()
		if len(gpu.Residents) > 0 {
			width = 1
		}
		all := append(list.Clone(set.Speeds[:0]), set.Speeds...)
		switch {
		case len(set.Gang) != width-1:
			fine = false
		case len(all) == 1 && set.Mechanism != profile.Exclusive:
			fine = false
		case len(all) > 1 && (set.Mechanism == profile.Exclusive || !list.Contains(gpu.Sharing(), set.Mechanism)):
			fine = false
		}
		without := int64(0)
		for k, task := range tasks {
			one := make([]float64, 1)
			if err := p.Model.Speeds(tasks[k:k+1], &gpu, profile.Exclusive, one); err != nil {
				t.Fatal(err)
			}
			if one[0] >= task.MinSpeed && len(gpu.Residents) == 0 {
				without = max(without, slowUnits(p, task, &gpu, one[0]))
			}
		}
		if n := len(gpu.Residents); n > 0 {
			mechs := gpu.Sharing()
			if n == 1 {
				mechs = []profile.Mechanism{profile.Exclusive}
			}
			for _, mech := range mechs {
				var members []*packer.Task
				for k := range gpu.Residents {
					members = append(members, &gpu.Residents[k])
				}
				speeds, total := make([]float64, n), int64(0)
				if err := p.Model.Speeds(members, &gpu, mech, speeds); err != nil {
					t.Fatal(err)
				}
				for k, m := range members {
					total += slowUnits(p, m, &gpu, speeds[k])
				}
				without = max(without, total)
			}
		}
		gpu.Mechanisms = []profile.Mechanism{set.Mechanism}
		r := rule(t, p, kind{&gpu, 1 << 16}, tasks, without)
		if least := (1 + p.Limits.MinGain) * float64(without); len(all) > 1 && math.Abs(float64(r.total)-least) < 64 {
			unsure = true
		}
		fine = fine && r.code == 0
	}
	return fine, unsure
}

// TestCheckTwin: of plans that say what the model says those are refused that break a limit,
// and no others.
func TestCheckTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(473, 474))
	var count [2]int
	for n := range race.Fewer(4000) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 3, GPUs: 3, Kinds: 2, Residents: n % 3, MaxSet: 1 + n%4, Homes: n%5 == 1, Gangs: n%5 == 2})
		if n%7 == 0 {
			p = packtest.Paced(rng, p)
		}
		s := drawPlan(rng, p)
		fine, unsure := slowCheck(t, slow{p, p.Unit()}, s)
		if err := p.Check(s); (err == nil) != fine && !unsure {
			t.Fatalf("plan %d: %v, fine is %v\n%+v\n%+v", n, err, fine, p, s)
		}
		count[map[bool]int{false: 0, true: 1}[fine]]++
		for i := range s.Sets { // sets are in the order of GPUs, which there are
			for _, g := range []int{-1, len(p.GPUs), s.Sets[0].GPU} {
				if i == 0 && g == s.Sets[0].GPU {
					continue
				}
				other := *s
				other.Sets = list.Clone(s.Sets)
				other.Sets[i].GPU = g
				if err := p.Check(&other); err == nil {
					t.Fatalf("plan %d: set %d may be on GPU %d\n%+v", n, i, g, other)
				}
			}
		}
	}
	if min(count[0], count[1]) < 500 && !race.Enabled {
		t.Errorf("%d plans were refused and %d not", count[0], count[1])
	}
}
