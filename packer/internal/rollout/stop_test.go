package rollout_test

import (
	"math/rand/v2"
	"slices"
	"testing"

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

// TestStops: what stops runs, what starts does not, nothing stops to start where it was,
// and what then runs fits.
func TestStops(t *testing.T) {
	stopped := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := draw(r)
		sets := rollout.NewSets(w.classes, w.rates)
		begin(r, w, sets)
		e := rollout.Engine{Sets: sets, Jobs: w.jobs, Cards: w.cards}
		e.Begin()
		o := e.Play(&rollout.Rule{Most: 4, Order: rollout.Shortest, Stop: true, Least: []float64{0, 0.1, 0.2, 0.35}[r.IntN(4)]})
		stopped += len(o.Stops)
		on := map[int32][]int32{}
		for i := range w.jobs {
			if len(w.jobs[i].On) > 0 {
				on[int32(i)] = w.jobs[i].On
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
	if stopped < 100 {
		t.Errorf("%d stops in 3,000 days: this says nothing", stopped)
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
