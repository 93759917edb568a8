package rollout_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer/internal/rollout"
)

// world is a random small day: what Ask says of its sets, its jobs and cards.
type world struct {
	jobs    []rollout.Job
	cards   []rollout.Card
	classes int
	press   []int64 // by kind
}

// rates: kinds press on each other; a kind of pressure 0 shares with nobody.
func (w *world) rates(class int32, _ int, kinds []int32, rates []int64) (int, bool) {
	ok := true
	for i, k := range kinds {
		slow := int64(100)
		for j, o := range kinds {
			if j != i {
				slow += w.press[k] + w.press[o]
				ok = ok && w.press[k] > 0 && w.press[o] > 0
			}
		}
		rates[i] = rollout.One * 100 * int64(1+class) / slow
	}
	return 1, ok
}

func draw(r *rand.Rand) *world {
	w := &world{classes: 1 + r.IntN(2)}
	for range 1 + r.IntN(4) {
		w.press = append(w.press, int64(r.IntN(60)))
	}
	for range 2 + r.IntN(5) {
		w.cards = append(w.cards, rollout.Card{Class: int32(r.IntN(w.classes)), Machine: int32(r.IntN(2)), Room: 20, Down: r.IntN(12) == 0})
	}
	for i := range 1 + r.IntN(14) {
		w.jobs = append(w.jobs, rollout.Job{
			Kind: int32(r.IntN(len(w.press))), Width: int32(1 + r.IntN(6)/5), Memory: int64(r.IntN(16)),
			Left: (1 + r.Int64N(1e6)) * rollout.One, Turn: int64(i),
		})
	}
	return w
}

// slow is the naive twin: no memory of sets, nothing kept from one moment to the next.
type slow struct {
	*world
	rule    *rollout.Rule
	now     int64
	left    []int64
	weight  []float64 // what a millisecond's work of a job counts for
	minGain float64
	end     []int64
	on      [][]int32
	started []rollout.Start
	stopped []int // in their order
	hidden  []int // jobs that gain takes to be gone
	moved   int   // how often a job went on elsewhere
	purses  []rollout.Purse
	barred  bool // somebody waits for a purse
}

// affords reports whether what an owner has beside a job, and did not have at first, leaves room for it.
func (s *slow) affords(i int) bool {
	j := &s.jobs[i]
	if j.Owner == 0 {
		return true
	}
	p := s.purses[j.Owner-1]
	for o := range s.jobs {
		if x := &s.jobs[o]; x.Owner == j.Owner {
			had, has := len(x.On) > 0, s.end[o] < 0
			if has && !had {
				p.Jobs, p.Cards = p.Jobs-1, p.Cards-x.Width
			} else if had && !has {
				p.Jobs, p.Cards = p.Jobs+1, p.Cards+x.Width
			}
		}
	}
	return p.Jobs >= 1 && p.Cards >= j.Width
}

// newSlow is the twin before anything happens.
func newSlow(w *world, rule *rollout.Rule) *slow {
	s := &slow{world: w, rule: rule, left: make([]int64, len(w.jobs)), end: make([]int64, len(w.jobs)), on: make([][]int32, len(w.jobs))}
	for i, j := range w.jobs {
		s.weight = append(s.weight, s.weigh(i)*math.Pow(float64(max(1, j.Left/rollout.One)), -rule.Power))
		if s.left[i], s.on[i] = j.Left, j.On; len(j.On) > 0 {
			s.end[i] = -1
		}
	}
	return s
}

// weigh is what a job counts for.
func (s *slow) weigh(i int) float64 {
	if s.jobs[i].Weight == 0 {
		return 1
	}
	return s.jobs[i].Weight
}

func (s *slow) members(g int32) []int {
	var set []int
	for i := range s.jobs {
		if s.end[i] < 0 && slices.Contains(s.on[i], g) {
			set = append(set, i)
		}
	}
	s.sort(set)
	return set
}

// sort puts jobs into the order of their kinds.
func (s *slow) sort(set []int) {
	slices.SortFunc(set, func(a, b int) int { return cmp.Or(cmp.Compare(s.jobs[a].Kind, s.jobs[b].Kind), cmp.Compare(a, b)) })
}

func (s *slow) ask(g int32, set []int) (rates []int64, sum int64, ok bool) {
	kinds, rates := make([]int32, len(set)), make([]int64, len(set))
	for i, j := range set {
		kinds[i] = s.jobs[j].Kind
	}
	_, ok = s.rates(s.cards[g].Class, 0, kinds, rates)
	for _, x := range rates {
		sum += x
	}
	return rates, sum, ok
}

// rate is that of the slowest of a job's cards.
func (s *slow) rate(i int) int64 {
	slowest := int64(math.MaxInt64)
	for _, g := range s.on[i] {
		set := s.members(g)
		rates, _, _ := s.ask(g, set)
		slowest = min(slowest, rates[slices.Index(set, i)])
	}
	return slowest
}

// gain is what a job adds, counted for one of its cards: what it does, less what others lose
// on all of theirs.
func (s *slow) gain(i int, g int32) (gain, own float64) {
	set := slices.DeleteFunc(s.members(g), func(o int) bool { return slices.Contains(s.hidden, o) })
	room := s.cards[g].Room
	for o := range s.jobs {
		if slices.Contains(s.jobs[o].On, g) { // what ran there at first
			room += s.jobs[o].Memory
		}
	}
	for _, o := range set {
		room -= s.jobs[o].Memory
	}
	if s.cards[g].Down || room < s.jobs[i].Memory || len(set) > 0 && (len(set) >= int(s.rule.Most) || len(set) >= rollout.MaxSet) {
		return 0, 0
	}
	both := append(slices.Clone(set), i)
	s.sort(both)
	rates, _, ok := s.ask(g, both)
	_, solo, _ := s.ask(g, []int{i})
	own = float64(rates[slices.Index(both, i)])
	had, _, _ := s.ask(g, set)
	lost := 0.0
	for k, o := range set {
		now := had[k]
		if s.jobs[o].Width > 1 { // it may be slower than that for the sake of another card
			now = s.rate(o)
		}
		lost += float64(max(0, now-rates[slices.Index(both, o)])*int64(max(s.jobs[i].Width, s.jobs[o].Width))) * s.weight[o]
	}
	gain = own*s.weight[i] - lost/float64(s.jobs[i].Width)
	if !ok || gain <= 0 || len(set) > 0 && (gain < s.rule.Least*(float64(solo)*s.weight[i]) || !s.better(g, both, rates)) {
		return 0, 0
	}
	return gain, own
}

// better reports whether a set is by MinGain better than its best member alone.
func (s *slow) better(g int32, set []int, rates []int64) bool {
	sum, most := 0.0, 0.0
	for k, o := range set {
		_, alone, _ := s.ask(g, []int{o})
		sum, most = sum+float64(rates[k])*s.weigh(o), max(most, float64(alone)*s.weigh(o))
	}
	return s.minGain == 0 || sum >= (1+s.minGain)*most
}

// where a job adds most; of empty and shared cards that tie, the empty one.
func (s *slow) where(i int, of []int32) []int32 {
	var best []int32
	most := 0.0
	if s.jobs[i].Width == 1 {
		for _, g := range of {
			if x, _ := s.gain(i, g); x > most || x > 0 && x == most && len(s.members(best[0])) > 0 && len(s.members(g)) == 0 {
				best, most = []int32{g}, x
			}
		}
		return best
	}
	for _, group := range s.groups(int(s.jobs[i].Width)) {
		if !slices.ContainsFunc(group, func(g int32) bool { return slices.Contains(of, g) }) {
			continue
		}
		gains, rates := map[int32]float64{}, map[int32]float64{}
		var cards []int32
		for _, g := range group {
			if gains[g], rates[g] = s.gain(i, g); gains[g] > 0 {
				cards = append(cards, g)
			}
		}
		if len(cards) < int(s.jobs[i].Width) {
			continue
		}
		slices.SortStableFunc(cards, func(a, b int32) int { return cmp.Compare(gains[b], gains[a]) })
		cards = cards[:s.jobs[i].Width]
		slowest, sum := math.Inf(1), 0.0
		for _, g := range cards {
			slowest = min(slowest, rates[g])
		}
		for _, g := range cards {
			sum += gains[g] - (rates[g]-slowest)*s.weight[i]
		}
		_, solo, _ := s.ask(cards[0], []int{i})
		if sum > most && sum >= s.rule.Least*(float64(solo)*s.weight[i])*float64(len(cards)) {
			best, most = cards, sum
		}
	}
	return best
}

// groups are the cards among which a gang may choose, by class and machine; by class
// alone if it is larger than any machine.
func (s *slow) groups(width int) [][]int32 {
	for _, byMachine := range []bool{true, false} {
		of := map[[2]int32][]int32{}
		for g, c := range s.cards {
			key := [2]int32{c.Class, c.Machine}
			if !byMachine {
				key[1] = 0
			}
			of[key] = append(of[key], int32(g))
		}
		var out [][]int32
		some := false
		for class := range int32(2) {
			for machine := range int32(2) {
				if group := of[[2]int32{class, machine}]; len(group) > 0 {
					slices.SortStableFunc(group, func(a, b int32) int { return cmp.Compare(s.cards[a].Machine, s.cards[b].Machine) })
					out, some = append(out, group), some || len(group) >= width
				}
			}
		}
		if some || !byMachine {
			return out
		}
	}
	return nil
}

// could reports whether a job fits on an empty cluster, all of whose cards are alike
// in memory.
func (s *slow) could(i int) bool {
	for _, group := range s.groups(int(s.jobs[i].Width)) {
		up := 0
		for _, g := range group {
			if !s.cards[g].Down {
				up++
			}
		}
		if up >= int(s.jobs[i].Width) {
			return true
		}
	}
	return false
}

// asLarge reports whether a job is of another's kind and needs as much.
func (s *slow) asLarge(i, o int) bool {
	a, b := &s.jobs[i], &s.jobs[o]
	return a.Kind == b.Kind && a.Width == b.Width && a.Memory >= b.Memory
}

// rank is lower for a job that goes first: one that counts more, is shorter for what it
// counts, or longer.
func (s *slow) rank(i int) float64 {
	size := float64(s.jobs[i].Left) * float64(s.jobs[i].Width)
	return []float64{-s.weigh(i), size / s.weigh(i), -size}[s.rule.Order]
}

func (s *slow) fill(of []int32) {
	var queue []int
	for i := range s.jobs {
		if s.end[i] == 0 {
			queue = append(queue, i)
		}
	}
	slices.SortStableFunc(queue, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.jobs[a].Tier, s.jobs[b].Tier), cmp.Compare(s.rank(a), s.rank(b)))
	})
	if s.barred { // what was free may be affordable now
		of = nil
		for g := range s.cards {
			of = append(of, int32(g))
		}
	}
	s.barred = false
	weighs := slices.ContainsFunc(s.weight, func(w float64) bool { return w != 1 })
	var refused []int
	for _, i := range queue {
		if !s.affords(i) {
			s.barred = true
			continue
		}
		if s.now > 0 && !weighs && slices.ContainsFunc(refused, func(o int) bool { return s.asLarge(i, o) }) {
			continue
		}
		on := s.where(i, of)
		if on == nil {
			refused = append(refused, i)
		}
		if on != nil {
			s.on[i], s.end[i] = on, -1
			if s.now == 0 {
				s.started = append(s.started, rollout.Start{Job: int32(i), On: on})
			}
		}
	}
}

func (s *slow) play() (sum, last int64) {
	var all []int32
	for g := range s.cards {
		all = append(all, int32(g))
	}
	if s.rule.Stop {
		s.open(all)
	} else {
		s.fill(all)
	}
	for {
		next, rates := int64(-1), make([]int64, len(s.jobs))
		for i := range s.jobs {
			if s.end[i] >= 0 {
				continue
			}
			for k, g := range s.on[i] {
				set := s.members(g)
				r, _, _ := s.ask(g, set)
				if x := r[slices.Index(set, i)]; k == 0 || x < rates[i] {
					rates[i] = x
				}
			}
			if in := max(0, (s.left[i]+rates[i]-1)/rates[i]); next < 0 || in < next {
				next = in
			}
		}
		if next < 0 {
			return sum, last
		}
		s.now += next
		var freed []int32
		for i := range s.jobs {
			if s.end[i] >= 0 {
				continue
			}
			if s.left[i] -= next * rates[i]; s.left[i] <= 0 {
				s.end[i] = s.now
				sum, last = sum+s.now, s.now
				for _, g := range s.on[i] {
					if !slices.Contains(freed, g) {
						freed = append(freed, g)
					}
				}
			}
		}
		slices.Sort(freed)
		s.fill(freed)
	}
}

// TestPlayTwin compares the engine with its twin on random small days, every other one of
// jobs that do not count alike: the same jobs start on the same cards, and all of them end
// in the same millisecond. One engine plays all days.
func TestPlayTwin(t *testing.T) {
	played := 0
	var e rollout.Engine
	days := race.Fewer(3000)
	for seed := range uint64(days) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := draw(r)
		var purses []rollout.Purse
		if seed%3 == 0 {
			purses = []rollout.Purse{{Jobs: int32(1 + r.IntN(3)), Cards: 9}, {Jobs: 9, Cards: int32(2 + r.IntN(3))}}
			for i := range w.jobs {
				w.jobs[i].Owner, w.jobs[i].Tier = int32(r.IntN(3)), r.IntN(3)
			}
		}
		rule := rollout.Rule{Order: rollout.Order(r.IntN(3)), Most: int32(1 + r.IntN(4)), Least: []float64{0, 0.2, 0.5}[r.IntN(3)]}
		if seed%2 == 1 {
			for i := range w.jobs {
				w.jobs[i].Weight = []float64{0, 0.3, 1, 2.5}[r.IntN(4)]
			}
			rule.Power = []float64{0, 0, 0.7}[r.IntN(3)]
		}
		e.MinGain = []float64{0, 0, 0.2, 0.6}[seed/2%4]
		e.Sets, e.Jobs, e.Cards = rollout.NewSets(w.classes, w.rates), w.jobs, w.cards
		e.Purses = purses
		e.Begin()
		e.Play(&rollout.Rule{Most: 4}) // what one rule leaves behind must not matter
		got := e.Play(&rule)
		s := newSlow(w, &rule)
		s.minGain, s.purses = e.MinGain, purses
		sum, last := s.play()
		forever := false
		for i, end := range s.end {
			forever = forever || end == 0 && s.could(i)
		}
		if (got.Lost > 0) != forever {
			t.Fatalf("seed %d: %d wait for ever that could run; the twin says %v", seed, got.Lost, forever)
		}
		if forever {
			continue
		}
		played++
		cost := 0.0
		for i, end := range s.end {
			cost += float64(end) * s.weigh(i)
		}
		if got.Sum != sum || got.Last != last || !(math.Abs(got.Cost-cost) <= 1e-9*cost) {
			t.Fatalf("seed %d, %+v: sum %d, last %d, cost %v; the twin says %d, %d, %v", seed, rule, got.Sum, got.Last, got.Cost, sum, last, cost)
		}
		if !slices.EqualFunc(got.Starts, s.started, func(a, b rollout.Start) bool { return a.Job == b.Job && slices.Equal(a.On, b.On) }) {
			t.Fatalf("seed %d: starts %v; the twin says %v", seed, got.Starts, s.started)
		}
	}
	if 3*played < 2*days {
		t.Errorf("only %d days were played", played)
	}
}

// TestEmptyCardFirst: of a card that is shared and one that is empty the empty one is taken
// where the job adds as much to both.
func TestEmptyCardFirst(t *testing.T) {
	ask := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		for i := range kinds {
			rates[i] = rollout.One
		}
		return 1, true
	}
	for busy := range int32(2) {
		e := rollout.Engine{Sets: rollout.NewSets(1, ask), Cards: make([]rollout.Card, 2), Jobs: []rollout.Job{
			{Width: 1, Left: rollout.One, On: []int32{busy}}, {Width: 1, Left: rollout.One},
		}}
		e.Begin()
		if got := e.Play(&rollout.Rule{Most: 4}); len(got.Starts) != 1 || !slices.Equal(got.Starts[0].On, []int32{1 - busy}) {
			t.Errorf("card %d is busy: %+v", busy, got.Starts)
		}
	}
}

// TestSetsAreOne: a set is the same whoever joined first, and asked about once. Two share in
// the best way, and who joins them as they do.
func TestSetsAreOne(t *testing.T) {
	asked := 0
	s := rollout.NewSets(1, func(_ int32, mech int, kinds []int32, rates []int64) (int, bool) {
		asked++
		if want := []int{1: rollout.Any, 2: rollout.Any, 3: 2, 4: 2}[len(kinds)]; mech != want {
			t.Errorf("%v are asked about by %d, want %d", kinds, mech, want)
		}
		for i := range kinds {
			rates[i] = rollout.One / int64(1+kinds[i])
		}
		return 2, true
	})
	ab, ba := s.With(s.With(0, 1), 0), s.With(s.With(0, 0), 1)
	if ab != ba || asked != 3 {
		t.Errorf("sets %d and %d after %d questions, want the same after 3", ab, ba, asked)
	}
	rates, mech := s.Rates(ab)
	if mech != 2 || !slices.Equal(rates, []int64{rollout.One, rollout.One / 2}) {
		t.Errorf("rates %v by %d", rates, mech)
	}
	if got := s.Running(0, 2, []int32{0, 1}); got != ab || asked != 3 {
		t.Errorf("what runs is set %d, want %d", got, ab)
	}
	full := s.With(s.With(s.With(s.With(0, 1), 1), 1), 1)
	if rates, _ := s.Rates(s.With(full, 1)); len(rates) != 0 {
		t.Errorf("a fifth task has rates %v", rates)
	}
}
