package rollout_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer/internal/rollout"
)

// hurts is a model in which slowdowns add up: hit[o][k] is what kind o does to kind k.
func hurts(hit [5][5]int64) rollout.Ask {
	return func(_ int32, _ int, kinds []int32, out []int64) (int, bool) {
		for i, k := range kinds {
			slow := int64(100)
			for j, o := range kinds {
				if j != i {
					slow += hit[o][k]
				}
			}
			out[i] = rollout.One * 100 / slow
		}
		return 1, true
	}
}

// TestStopTakesGangsAlong: a gang that stops on one card stops on its others, too, and
// what was true of those before need not hold any more.
func TestStopTakesGangsAlong(t *testing.T) {
	const long, short = 1e6 * rollout.One, 1e3 * rollout.One
	var once, twice [5][5]int64
	once[0][2], once[2][4], once[4][2] = 400, 100, 150 // the job gains beside the gang and its victim, not beside the victim alone
	twice[1][2], twice[2][4], twice[4][2] = 400, 100, 150
	for _, tt := range []struct {
		name  string
		hit   [5][5]int64
		least float64
		jobs  []rollout.Job
		cards []rollout.Card
	}{
		{
			"one gang", once, 0.35,
			[]rollout.Job{
				{Kind: 0, Width: 2, Memory: 50, Left: long, On: []int32{0, 1}, Stoppable: true, Restart: 10},
				{Kind: 2, Width: 1, Memory: 10, Left: long, On: []int32{1}, Turn: 1},
				{Kind: 3, Width: 1, Memory: 40, Left: long, On: []int32{0}, Turn: 2},
				{Kind: 4, Width: 2, Memory: 20, Left: short, Turn: 3},
			},
			[]rollout.Card{{Room: 10, Mech: 1}, {Room: 40, Mech: 1}},
		},
		{
			"two gangs", twice, 0.1,
			[]rollout.Job{
				{Kind: 1, Width: 2, Memory: 30, Left: long, On: []int32{0, 1}, Stoppable: true, Restart: 10},
				{Kind: 0, Width: 2, Memory: 50, Left: long, On: []int32{1, 2}, Stoppable: true, Restart: 10, Turn: 1},
				{Kind: 2, Width: 1, Memory: 10, Left: long, On: []int32{1}, Turn: 2},
				{Kind: 3, Width: 1, Memory: 60, Left: long, On: []int32{0}, Turn: 3},
				{Kind: 3, Width: 1, Memory: 45, Left: long, On: []int32{2}, Turn: 3},
				{Kind: 4, Width: 2, Memory: 20, Left: short, Turn: 4},
			},
			[]rollout.Card{{Room: 10, Mech: 1}, {Room: 10, Mech: 1}, {Room: 5, Mech: 1, Down: true}},
		},
	} {
		e := rollout.Engine{Sets: rollout.NewSets(1, hurts(tt.hit)), Jobs: tt.jobs, Cards: tt.cards}
		e.Begin()
		o := e.Open(&rollout.Rule{Most: 4, Order: rollout.Shortest, Stop: true, Least: tt.least})
		for _, s := range o.Starts {
			if int(s.Job) == len(tt.jobs)-1 {
				t.Errorf("%s: the job starts on %v, where it gains nothing", tt.name, s.On)
			}
		}
	}
}

// roomOfDraw is that of each card that draw makes.
const roomOfDraw = 20

// begin has some of the jobs of a world run, and more wait.
func begin(r *rand.Rand, w *world, sets *rollout.Sets) {
	for i := range w.jobs {
		w.jobs[i].Restart, w.jobs[i].Width = r.Int64N(1000), int32(1+r.IntN(3))
	}
	e := rollout.Engine{Sets: sets, Jobs: w.jobs, Cards: w.cards}
	e.Begin()
	for _, s := range e.Play(&rollout.Rule{Most: 4}).Starts {
		if r.IntN(4) > 0 {
			j := &w.jobs[s.Job]
			j.On, j.Stoppable, j.Left = slices.Clone(s.On), r.IntN(3) > 0, 4*j.Left
			for _, g := range s.On {
				w.cards[g].Room -= j.Memory
			}
		}
	}
	for n := range 4 {
		w.jobs = append(w.jobs, rollout.Job{
			Kind: int32(r.IntN(len(w.press))), Width: int32(1 + r.IntN(3)), Memory: int64(r.IntN(16)),
			Left: (1 + r.Int64N(1e5)) * rollout.One, Turn: int64(len(w.jobs) + n),
		})
	}
	for g := range w.cards {
		w.cards[g].Mech = rollout.Any
	}
}

// together reports whether cards are as many as a job takes, each once, of one class, in one
// machine if one has as many.
func together(w *world, j *rollout.Job, on []int32) bool {
	have := map[[2]int32]int{}
	for _, c := range w.cards {
		have[[2]int32{c.Class, c.Machine}]++
	}
	most := 0
	for _, n := range have {
		most = max(most, n)
	}
	first := &w.cards[on[0]]
	return len(on) == int(j.Width) && len(slices.Compact(slices.Sorted(slices.Values(on)))) == len(on) &&
		!slices.ContainsFunc(on, func(g int32) bool {
			c := &w.cards[g]
			return c.Down || c.Class != first.Class || c.Machine != first.Machine && most >= len(on)
		})
}

// TestStops: what stops runs, what starts does not, nothing stops to start where it was,
// and what then runs fits, on the cards and into its owner's purse.
func TestStops(t *testing.T) {
	stopped, emptied := 0, 0
	for seed := range uint64(race.Fewer(3000)) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := draw(r)
		sets := rollout.NewSets(w.classes, w.rates)
		begin(r, w, sets)
		e := rollout.Engine{Sets: sets, Jobs: w.jobs, Cards: w.cards}
		if seed%4 == 0 {
			e.Purses = []rollout.Purse{{Jobs: int32(r.IntN(3)), Cards: 99}, {Jobs: 9, Cards: int32(r.IntN(4))}}
			for i := range w.jobs {
				w.jobs[i].Owner = int32(r.IntN(3))
			}
		}
		left := slices.Clone(e.Purses)
		e.Begin()
		anew := seed%3 == 0
		o := e.Play(&rollout.Rule{Most: 4, Order: rollout.Shortest, Stop: !anew, Anew: anew, Move: seed%2 == 0, Least: []float64{0, 0.1, 0.2, 0.35}[r.IntN(4)]})
		stopped += len(o.Stops)
		on := map[int32][]int32{}
		for i := range w.jobs {
			if len(w.jobs[i].On) > 0 {
				on[int32(i)] = w.jobs[i].On
			}
		}
		pay := func(i, sign int32) {
			if j := &w.jobs[i]; j.Owner > 0 {
				left[j.Owner-1].Jobs += sign
				left[j.Owner-1].Cards += sign * j.Width
			}
		}
		for _, v := range o.Stops {
			pay(v, 1)
		}
		for _, s := range o.Starts {
			pay(s.Job, -1)
		}
		for _, p := range left {
			if p.Jobs < 0 || p.Cards < 0 {
				t.Fatalf("seed %d: of %v there is %v left", seed, e.Purses, left)
			} else if p.Jobs == 0 || p.Cards == 0 {
				emptied++
			}
		}
		for _, v := range o.Stops {
			if on[v] == nil || !w.jobs[v].Stoppable {
				t.Fatalf("seed %d: job %d stops, which does not run or may not", seed, v)
			}
			delete(on, v)
		}
		for _, s := range o.Starts {
			was := slices.Sorted(slices.Values(w.jobs[s.Job].On))
			if on[s.Job] != nil || len(was) > 0 && slices.Equal(was, slices.Sorted(slices.Values(s.On))) {
				t.Fatalf("seed %d: job %d starts on %v, where it runs", seed, s.Job, s.On)
			}
			on[s.Job] = s.On
			if !together(w, &w.jobs[s.Job], s.On) {
				t.Fatalf("seed %d: job %d of width %d starts on %v", seed, s.Job, w.jobs[s.Job].Width, s.On)
			}
		}
		for g := range w.cards {
			room, kinds := int64(roomOfDraw), []int32(nil)
			for i := range w.jobs {
				if slices.Contains(on[int32(i)], int32(g)) {
					room, kinds = room-w.jobs[i].Memory, append(kinds, w.jobs[i].Kind)
				}
			}
			if room < 0 || len(kinds) > 4 {
				t.Fatalf("seed %d: card %d has %d of memory left with %d jobs", seed, g, room, len(kinds))
			}
		}
	}
	if !race.Enabled && (stopped < 100 || emptied < 100) {
		t.Errorf("%d stops in 3,000 days, %d purses empty: this says nothing", stopped, emptied)
	}
}

// size is a job's work on all of its cards.
func (s *slow) size(i int) float64 { return float64(s.jobs[i].Left) * float64(s.jobs[i].Width) }

// victim is the largest job on a card that may stop for another; -1 is none.
func (s *slow) victim(i int, g int32) int {
	best := -1
	for _, v := range s.members(g) {
		o := s.jobs[v]
		if slices.Contains(s.hidden, v) || !o.Stoppable || len(o.On) == 0 || slices.Contains(s.stopped, v) {
			continue
		}
		if s.size(v) > 2*s.size(i)+float64(o.Restart*rollout.One*int64(o.Width)) && (best < 0 || s.size(v) > s.size(best)) {
			best = v
		}
	}
	return best
}

// cost is the size of the last job that must stop on a card before another may start there;
// a year's work if none must, 0 if that does not help.
func (s *slow) cost(i int, g int32) float64 {
	defer func() { s.hidden = nil }()
	last := float64(rollout.MaxLeft)
	for {
		if x, _ := s.gain(i, g); x > 0 {
			return last
		}
		v := s.victim(i, g)
		if v < 0 {
			return 0
		}
		s.hidden, last = append(s.hidden, v), s.size(v)
	}
}

// stop makes room for a job, and returns where it starts; nil if it cannot.
func (s *slow) stop(i int) []int32 {
	width := int(s.jobs[i].Width)
	var best []int32
	most := 0.0
	for _, group := range s.groups(width) {
		costs := map[int32]float64{}
		cards := slices.Clone(group)
		for _, g := range group {
			costs[g] = s.cost(i, g)
		}
		cards = slices.DeleteFunc(cards, func(g int32) bool { return costs[g] == 0 })
		if len(cards) < width {
			continue
		}
		slices.SortStableFunc(cards, func(a, b int32) int { return cmp.Compare(costs[b], costs[a]) })
		sum := 0.0
		for _, g := range cards[:width] {
			sum += costs[g]
		}
		if sum > most {
			best, most = cards[:width], sum
		}
	}
	for _, g := range best {
		for x, _ := s.gain(i, g); x == 0; x, _ = s.gain(i, g) {
			v := s.victim(i, g)
			if v < 0 {
				return nil
			}
			s.on[v], s.end[v] = nil, 0
			s.left[v] += s.jobs[v].Restart * rollout.One
			s.stopped = append(s.stopped, v)
		}
	}
	for _, g := range best {
		if x, _ := s.gain(i, g); x == 0 {
			return nil
		}
	}
	return best
}

// goFirst sends jobs where the rule says before it decides, and reports whether all can go.
func (s *slow) goFirst() bool {
	rule := *s.rule
	defer func(r *rollout.Rule) { s.rule = r }(s.rule)
	s.rule = &rule
	rule.Least = 0
	for _, f := range rule.First {
		i, j := int(f.Job), &s.jobs[f.Job]
		gain, _ := s.gain(i, f.On[0])
		if slices.Equal(s.on[i], f.On) || gain == 0 || len(j.On) > 0 && (!j.Stoppable || j.Width > 1) {
			return false
		}
		if len(j.On) > 0 {
			s.stopped, s.left[i] = append(s.stopped, i), s.left[i]+j.Restart*rollout.One
		}
		s.on[i], s.end[i] = f.On, -1
		s.started = append(s.started, rollout.Start{Job: f.Job, On: f.On})
	}
	return true
}

// open decides what starts at first, short jobs before long ones, and who stops for them.
func (s *slow) open(all []int32) {
	for tried := []int(nil); ; {
		next := -1
		for i := range s.jobs {
			if s.end[i] == 0 && !slices.Contains(tried, i) && (next < 0 || s.size(i) < s.size(next)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		tried = append(tried, next)
		on := s.where(next, all)
		if on == nil {
			on = s.stop(next)
		}
		if on != nil {
			s.on[next], s.end[next] = on, -1
			s.started = append(s.started, rollout.Start{Job: int32(next), On: on})
		}
	}
	if s.rule.Move {
		s.moves(all)
	}
	s.started = slices.DeleteFunc(s.started, func(st rollout.Start) bool { // who starts again where it ran goes on
		v := int(st.Job)
		if !slices.Contains(s.stopped, v) || !slices.Equal(slices.Sorted(slices.Values(st.On)), slices.Sorted(slices.Values(s.jobs[v].On))) {
			return false
		}
		s.left[v] -= s.jobs[v].Restart * rollout.One
		s.stopped = slices.DeleteFunc(s.stopped, func(o int) bool { return o == v })
		return true
	})
}

// ends is when a job that runs ends as things are.
func (s *slow) ends(i int) int64 { return s.now + (s.left[i]+s.rate(i)-1)/s.rate(i) }

// moves lets jobs go on elsewhere.
func (s *slow) moves(all []int32) {
	var late []int
	end := map[int]int64{}
	for i, j := range s.jobs {
		if s.end[i] < 0 && j.Stoppable && j.Width == 1 && len(j.On) > 0 && !slices.Contains(s.stopped, i) {
			late, end[i] = append(late, i), s.ends(i)
		}
	}
	slices.SortStableFunc(late, func(a, b int) int { return cmp.Compare(end[b], end[a]) })
	for _, i := range late {
		home, left, first := s.on[i], s.left[i], s.ends(i)
		s.on[i], s.end[i] = nil, 0
		to := s.where(i, all)
		apart := !slices.ContainsFunc(to, func(g int32) bool { return slices.Contains(home, g) })
		s.on[i], s.end[i], s.left[i] = to, -1, left+s.jobs[i].Restart*rollout.One
		if len(to) == 0 || !apart || s.ends(i) >= first {
			s.on[i], s.left[i] = home, left
			continue
		}
		s.moved++
		if s.now == 0 {
			s.stopped = append(s.stopped, i)
			s.started = append(s.started, rollout.Start{Job: int32(i), On: to})
		}
	}
}

// TestStopTwin is TestPlayTwin where jobs run already, and may stop for shorter ones or go on elsewhere.
func TestStopTwin(t *testing.T) {
	stopped, moved, detoured := 0, 0, 0
	for seed := range uint64(race.Fewer(3000)) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := draw(r)
		e := rollout.Engine{Sets: rollout.NewSets(w.classes, w.rates), Jobs: w.jobs[:len(w.jobs)/2], Cards: w.cards}
		e.Begin()
		for _, st := range e.Open(&rollout.Rule{Most: 4}).Starts { // half of them run
			j := &w.jobs[st.Job]
			j.On, j.Stoppable, j.Restart = slices.Clone(st.On), r.IntN(4) > 0, r.Int64N(1e5)
			for _, g := range st.On {
				w.cards[g].Room -= j.Memory
				w.cards[g].Mech = 1
			}
		}
		rule := rollout.Rule{Order: rollout.Shortest, Most: int32(1 + r.IntN(4)), Least: []float64{0, 0.2, 0.5}[r.IntN(3)], Stop: true, Move: r.IntN(2) == 0}
		for _, i := range r.Perm(len(w.jobs))[:r.IntN(3)*min(1, len(w.jobs)-1)] {
			if w.jobs[i].Width == 1 {
				rule.First = append(rule.First, rollout.Start{Job: int32(i), On: []int32{int32(r.IntN(len(w.cards)))}})
			}
		}
		e.Jobs = w.jobs
		e.Begin()
		e.Play(&rollout.Rule{Most: 1}) // after which the same jobs run where they ran
		got := e.Play(&rule)
		s := newSlow(w, &rule)
		if first := s.goFirst(); first == got.Void {
			t.Fatalf("seed %d, %+v: void %t; the twin says %t", seed, rule, got.Void, !first)
		} else if !first {
			continue
		}
		detoured += len(rule.First)
		if sum, last := s.play(); got.Sum != sum || got.Last != last {
			t.Fatalf("seed %d, %+v: sum %d, last %d; the twin says %d, %d", seed, rule, got.Sum, got.Last, sum, last)
		}
		stops := make([]int32, len(s.stopped))
		for k, v := range s.stopped {
			stops[k] = int32(v)
		}
		if !slices.Equal(got.Stops, stops) || !slices.EqualFunc(got.Starts, s.started, func(a, b rollout.Start) bool { return a.Job == b.Job && slices.Equal(a.On, b.On) }) {
			t.Fatalf("seed %d, %+v: stops %v, starts %v; the twin says %v and %v", seed, rule, got.Stops, got.Starts, stops, s.started)
		}
		stopped, moved = stopped+len(stops), moved+s.moved
	}
	if !race.Enabled && (stopped < 300 || moved < 20 || detoured < 300) {
		t.Errorf("only %d jobs stopped, %d moved and %d went first", stopped, moved, detoured)
	}
}

// TestManyThatNeverRun: however many jobs that no card can take stand before one that fits,
// it runs once there is room, which is what a rule that tries only some of them must know.
func TestManyThatNeverRun(t *testing.T) {
	e := rollout.Engine{
		Sets:  rollout.NewSets(1, hurts([5][5]int64{})),
		Cards: []rollout.Card{{Room: 10}},
		Jobs:  []rollout.Job{{Kind: 0, Width: 1, Memory: 90, Left: 1e3 * rollout.One, On: []int32{0}}},
	}
	for k := range int32(200) {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: 1, Width: 1, Memory: 300 - int64(k), Left: 1e3 * rollout.One, Turn: int64(k)})
	}
	e.Jobs = append(e.Jobs, rollout.Job{Kind: 2, Width: 1, Memory: 90, Left: 1e3 * rollout.One, Turn: 200})
	e.Begin()
	if o := e.Play(&rollout.Rule{Most: 4}); o.Ended != 2 || o.Lost != 0 {
		t.Errorf("%d of 2 that fit ended, %d lost", o.Ended, o.Lost)
	}
}
