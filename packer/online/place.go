package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// spotFor is where a task may go.
type spotFor struct {
	gpu  int32 // none: nowhere
	gain int64
}

// best returns the place where a task adds most.
func (s *Session) best(j *job) (spotFor, error) {
	best, err := s.bestEmpty(j)
	if err != nil || j.task.Alone || s.p.Limits.LargestSet() < 2 {
		return best, err
	}
	row := s.rowOf(j.kind)
	s.stale = s.stale[:0]
	for g, version := range s.open {
		if version == 0 {
			continue
		}
		c := &row[g]
		if c.version != version {
			s.stale = append(s.stale, int32(g))
		} else if c.gain > best.gain {
			best = spotFor{int32(g), c.gain}
		}
	}
	shared := best.gpu != none && s.open[best.gpu] != 0
	if err := s.fill(j, row); err != nil {
		return best, err
	}
	for _, g := range s.stale {
		if gain := row[g].gain; gain > best.gain || shared && gain == best.gain && g < best.gpu {
			best, shared = spotFor{g, gain}, true
		}
	}
	return best, nil
}

// bestEmpty returns the best empty GPU.
func (s *Session) bestEmpty(j *job) (spotFor, error) {
	best := spotFor{gpu: none}
	for k := range s.classes {
		if s.vacant[k] < j.task.Width() {
			continue
		}
		g := s.firstEmpty(k)
		a, err := s.alone(j.kind, k, &j.task)
		if err != nil {
			return best, err
		}
		if a.gain > best.gain || a.gain == best.gain && a.gain > 0 && s.classes[k].usable < s.usable(best.gpu) {
			best = spotFor{g, a.gain}
		}
	}
	return best, nil
}

// usable returns the memory of a GPU after headroom.
func (s *Session) usable(gpu int32) profile.Bytes { return s.classes[s.cards[gpu].class].usable }

// alone returns what a task does on an empty GPU of class k.
func (s *Session) alone(of *kind, k int, t *packer.Task) (solo, error) {
	for len(of.solo) <= k {
		of.solo = append(of.solo, solo{})
	}
	if of.solo[k].known {
		return of.solo[k], nil
	}
	pace, err := s.pace(of, k, t)
	if err != nil {
		return solo{}, err
	}
	a := solo{known: true, pace: pace}
	if t.Memory <= s.classes[k].usable && s.classes[k].gpu.Hosts(t) {
		s.set = append(s.set[:0], t)
		if err := s.ask(k, profile.Exclusive); err != nil {
			return a, err
		}
		if a.speed = s.speeds[0]; a.speed > 0 && a.speed >= t.MinSpeed {
			a.gain = max(1, int64(math.Round(a.speed*(pace/of.scale)*instance.Resolution)))
		}
	}
	of.solo[k] = a
	return a, nil
}

// ask fills in the speeds of s.set on class k.
func (s *Session) ask(k int, mech profile.Mechanism) error {
	for len(s.speeds) < len(s.set) {
		s.speeds, s.allowed = append(s.speeds, 0), append(s.allowed, 0)
	}
	return packer.Ask(s.p.Model, s.set, s.classes[k].gpu, mech, s.speeds[:len(s.set)])
}

// grade returns what a task adds to a set worth value that is worth total with it,
// in steps of its kind; 0 if that is less than least, or no gain.
func (s *Session) grade(value, total float64, k *kind, least int64) int64 {
	if !(total > value && total >= (1+s.p.Limits.MinGain)*value) {
		return 0
	}
	steps := int64(math.Round(min((total-value)/(k.key.weight*k.scale), packer.MaxWeight) * instance.Resolution))
	if steps < least {
		return 0
	}
	return max(1, steps)
}

// fits reports whether t may join a card as far as no model is needed.
func (s *Session) fits(c *card, t *packer.Task) bool {
	k := &s.classes[c.class]
	if t.Memory > s.p.Limits.Offer(k.gpu, len(c.set)+1)-c.used || len(t.On) > 0 && !k.gpu.Hosts(t) {
		return false
	}
	for _, j := range c.set {
		if !t.Accepts(&j.task) {
			return false
		}
	}
	return true
}

// joined is what a set is worth with one task more.
type joined struct {
	gain  int64 // 0: not allowed
	total float64
	mech  profile.Mechanism
}

// join asks what a job adds to card g. The speeds of an allowed set are left in
// s.allowed, the job's last. A gain below least steps of its kind is none.
func (s *Session) join(g int32, j *job, least int64) (joined, error) {
	c, t := &s.cards[g], &j.task
	var best joined
	if !s.fits(c, t) {
		return best, nil
	}
	s.set = s.set[:0]
	for _, j := range c.set {
		s.set = append(s.set, &j.task)
	}
	s.set = append(s.set, t)
	worth, err := s.worthOn(j, c.class)
	if err != nil {
		return best, err
	}
	for _, mech := range s.mechanisms(c) {
		if err := s.ask(int(c.class), mech); err != nil {
			return best, err
		}
		total, ok := 0.0, true
		for i, m := range s.set {
			speed := s.speeds[i]
			ok = ok && speed > 0 && speed >= m.MinSpeed
			if i < len(c.set) {
				total += float64(c.set[i].worth * speed)
			} else {
				total += float64(worth * speed)
			}
		}
		if !ok || best.gain > 0 && total <= best.total {
			continue
		}
		if gain := s.grade(c.value, total, j.kind, least); gain > 0 {
			best = joined{gain, total, mech}
			copy(s.allowed, s.speeds[:len(s.set)])
		}
	}
	return best, nil
}

// mechanisms returns how the tasks on c and one more may share: processes do not
// change their mechanism on the way.
func (s *Session) mechanisms(c *card) []profile.Mechanism {
	mechs := s.classes[c.class].mechs
	if len(c.set) < 2 {
		return mechs
	}
	if at := slices.Index(mechs, c.mech); at >= 0 {
		return mechs[at : at+1]
	}
	return nil
}

// least returns what a task must add at least to a GPU of class k that runs
// others, in steps of its kind.
func (s *Session) least(j *job, k int32) (int64, error) {
	a, err := s.alone(j.kind, int(k), &j.task)
	if err != nil {
		return 0, err
	}
	return int64(math.Round(s.threshold * (a.speed * (a.pace / j.kind.scale)) * instance.Resolution)), nil
}

// gain returns what a job adds to card g, which runs others, in steps of its
// kind; 0 if it must not go there.
func (s *Session) gain(g int32, j *job) (int64, error) {
	least, err := s.least(j, s.cards[g].class)
	if err != nil {
		return 0, err
	}
	v, err := s.join(g, j, least)
	return v.gain, err
}

// fill brings the cells of the stale cards up to date.
func (s *Session) fill(j *job, row []cell) error {
	if s.batch {
		for k := range s.classes {
			if err := s.fillPairs(int32(k), j, row); err != nil {
				return err
			}
		}
	}
	for _, g := range s.stale {
		if row[g].version == s.open[g] {
			continue
		}
		gain, err := s.gain(g, j)
		if err != nil {
			return err
		}
		row[g] = cell{s.open[g], gain}
	}
	return nil
}

// fillPairs does so for the cards of class k that run one task.
func (s *Session) fillPairs(k int32, j *job, row []cell) error {
	t := &j.task
	s.at, s.partners = s.at[:0], s.partners[:0]
	for _, g := range s.stale {
		if c := &s.cards[g]; c.class == k && len(c.set) == 1 {
			if !s.fits(c, t) {
				row[g] = cell{version: s.open[g]}
				continue
			}
			s.at, s.partners = append(s.at, g), append(s.partners, &c.set[0].task)
		}
	}
	n := len(s.at)
	if n == 0 {
		return nil
	}
	for len(s.own) < n {
		s.own, s.other, s.totals = append(s.own, 0), append(s.other, 0), append(s.totals, 0)
	}
	least, err := s.least(j, k)
	if err != nil {
		return err
	}
	own, other, totals := s.own[:n], s.other[:n], s.totals[:n]
	clear(totals)
	worth, err := s.worthOn(j, k)
	if err != nil {
		return err
	}
	for _, mech := range s.classes[k].mechs {
		if err := packer.AskPairs(s.p.Model, t, s.partners, s.classes[k].gpu, mech, own, other); err != nil {
			return err
		}
		for i, p := range s.partners {
			a, b := own[i], other[i]
			if a > 0 && b > 0 && a >= t.MinSpeed && b >= p.MinSpeed {
				totals[i] = max(totals[i], float64(s.cards[s.at[i]].set[0].worth*b)+float64(worth*a))
			}
		}
	}
	for i, g := range s.at {
		row[g] = cell{s.open[g], s.grade(s.cards[g].value, totals[i], j.kind, least)}
	}
	return nil
}

const (
	// maxBurst is how many tasks and GPUs a burst is planned for as one problem.
	maxBurst = 4096
	// stepsPerTask is how long a search lasts.
	stepsPerTask = 60
)

// ArriveAll takes in a burst of tasks at once and says, in their order, where
// they run or that they wait: [solve.Matching], or [solve.LocalSearch] where Limits.MaxSet is
// above 2, plans them together around what runs already, so that those that go
// well together meet. What a task adds must
// reach the threshold here too; those that the plan leaves out, and all tasks
// where there are more than 4096 with the GPUs, go one at a time.
//
// An invalid task is an error, and so is a failing Model before the first task
// has started; the session is then as before. A Model that fails later leaves
// the rest waiting. When ctx is cancelled the plan is the best so far, all tasks
// have arrived, and the error is ctx.Err().
func (s *Session) ArriveAll(ctx context.Context, tasks []packer.Task) ([]Decision, error) {
	seen := make(map[string]int, len(tasks))
	for i := range tasks {
		if err := s.admissible(&tasks[i]); err != nil {
			return nil, err
		}
		if first, dup := seen[tasks[i].ID]; dup {
			return nil, fmt.Errorf("packer: session: the burst has task %q twice, at %d and %d", tasks[i].ID, first, i)
		}
		seen[tasks[i].ID] = i
	}
	sets, stop := s.plan(ctx, tasks)
	if stop != nil && (ctx.Err() == nil || !errors.Is(stop, ctx.Err())) {
		return nil, stop
	}
	jobs := make([]*job, len(tasks))
	for i := range tasks {
		jobs[i] = s.newJob(&tasks[i])
		s.enqueue(jobs[i])
	}
	out := make([]Decision, len(tasks))
	errs := s.startSets(sets, jobs, out)
	for i, j := range jobs {
		if j.gpu == none {
			d, err := s.settle(j)
			out[i], errs = d, errors.Join(errs, err)
		}
		out[i].Task = j.task.ID
	}
	for i, j := range jobs { // those that came later have changed the speeds
		out[i].Speed = j.speed
		if j.gpu != none {
			out[i].Mechanism = s.cards[j.gpu].mech
		}
	}
	return out, errors.Join(errs, stop)
}

// plan returns good sets for new tasks, GPUs by the session's indices.
func (s *Session) plan(ctx context.Context, tasks []packer.Task) ([]packer.Set, error) {
	p, at := s.problem(false)
	if len(tasks) < 2 || len(tasks)+len(at) > maxBurst {
		return nil, nil
	}
	p.Tasks = tasks
	var method packer.Method = solve.Matching{}
	if p.Limits.LargestSet() > 2 {
		method = solve.LocalSearch{Steps: stepsPerTask * len(tasks)}
	}
	sol, err := method.Pack(ctx, p)
	if sol == nil {
		return nil, err
	}
	for i := range sol.Sets {
		sol.Sets[i].GPU = at[sol.Sets[i].GPU]
	}
	return sol.Sets, err
}

// startSets starts the waiting jobs of the sets where they reach the threshold.
func (s *Session) startSets(sets []packer.Set, jobs []*job, out []Decision) error {
	var errs error
	for _, set := range sets {
		slices.SortStableFunc(set.Tasks, func(a, b int) int {
			return cmp.Compare(jobs[b].task.EffectiveWeight(), jobs[a].task.EffectiveWeight())
		})
		for _, i := range set.Tasks {
			v, err := s.joinable(int32(set.GPU), jobs[i])
			if err == nil && v > 0 {
				out[i], err = s.start(jobs[i], int32(set.GPU))
			}
			errs = errors.Join(errs, err)
		}
	}
	return errs
}
