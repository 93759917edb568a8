package pace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"

	"example.com/colloc/predict/internal/conformal"
)

// Options configure [Fit]; nil and the zero value are the defaults.
type Options struct {
	// Confidence is the probability that an interval covers; 0 means 0.9.
	Confidence float64
	// Reference is the card whose pace is 1; the zero value is [DefaultReference].
	Reference profile.GPUModel
	// Provenance says where the observations come from; it is saved.
	Provenance string
}

// Fit fits the weights by ridge regression towards [Predictor]'s prior: lightly
// what all tasks share, heavily what a width or a family adds. Only cards within
// one Task are compared; a Task counts with its cards to the power 3/4, tasks of
// one Group share the weight of their square root. The intervals hold for
// groups left out, each counting the same, with the correction for their number
// that conformal prediction makes. It returns an error that names the index of
// an invalid observation, and one where fewer than two groups compare two cards.
// The same input gives the same model. O(observations + groups).
func Fit(obs []Observation, o *Options) (*Predictor, error) {
	var options Options
	if o != nil {
		options = *o
	}
	s := *priorState()
	s.Confidence, s.Provenance = cmp.Or(options.Confidence, priorConfidence), options.Provenance
	if err := conformal.CheckConfidence(s.Confidence); err != nil {
		return nil, fmt.Errorf("predict/pace: %w", err)
	}
	if options.Reference.Name != "" {
		if s.reference = kindOf(&options.Reference); !s.reference.known {
			return nil, fmt.Errorf("predict/pace: reference %q: no FP32 rate or bandwidth known; set them", options.Reference.Name)
		}
	}
	tasks, err := gatherTasks(obs)
	if err != nil {
		return nil, err
	}
	groups, err := groupsOf(tasks)
	if err != nil {
		return nil, err
	}
	s.span(tasks)
	if s.Factor, err = factorOf(&s, groups); err != nil {
		return nil, err
	}
	if err := s.solve(sumsOf(groups, -1)); err != nil {
		return nil, err
	}
	s.Rows, s.Groups = len(obs), len(groups)
	m := &Predictor{}
	m.state.Store(&s)
	return m, nil
}

// gatherTasks collects observations by task, in order of first appearance.
func gatherTasks(obs []Observation) ([]comparison, error) {
	var tasks []comparison
	var errs []error
	at := make(map[[2]string]int)
	for i := range obs {
		o := &obs[i]
		gpu, t, err := o.throughput()
		if err != nil {
			errs = append(errs, fmt.Errorf("predict/pace: observation %d: %w", i, err))
			continue
		}
		card := kindOf(gpu)
		if !card.known {
			errs = append(errs, fmt.Errorf("predict/pace: observation %d: GPU %q: no FP32 rate or bandwidth known; set them", i, gpu.Name))
			continue
		}
		key := [2]string{o.Group, o.Task}
		j, ok := at[key]
		if !ok {
			j = len(tasks)
			at[key] = j
			tasks = append(tasks, comparison{task: o.Task, group: o.Group, profile: o.Profile})
		}
		tasks[j].add(card, math.Log(t))
	}
	return tasks, errors.Join(errs...)
}

// groupTasks is the tasks of one group, which validation leaves out at once.
type groupTasks struct {
	name  string
	tasks []*comparison
	sums  lsq.Sums
}

// groupsOf collects the tasks that compare at least two cards by group, in order
// of first appearance, with their normal equations.
func groupsOf(tasks []comparison) ([]*groupTasks, error) {
	var groups []*groupTasks
	at := make(map[string]*groupTasks)
	for i := range tasks {
		c := &tasks[i]
		if len(c.trials) < 2 {
			continue
		}
		g := at[c.group]
		if g == nil {
			g = &groupTasks{name: c.group}
			g.sums.Grow(columns)
			at[c.group], groups = g, append(groups, g)
		}
		g.tasks = append(g.tasks, c)
	}
	if len(groups) < 2 {
		return nil, errors.New("predict/pace: fewer than two groups compare two cards: want two to validate on")
	}
	for _, g := range groups {
		for _, c := range g.tasks {
			c.sum(&g.sums, 1/math.Sqrt(math.Sqrt(float64(len(c.trials)))*float64(len(g.tasks))))
		}
	}
	return groups, nil
}

// sumsOf are those of all groups but one.
func sumsOf(groups []*groupTasks, without int) []*lsq.Sums {
	var list []*lsq.Sums
	for i, g := range groups {
		if i != without {
			list = append(list, &g.sums)
		}
	}
	return list
}

// scored is an error of a pair of cards over its spread and what it counts.
type scored struct{ score, weight float64 }

// factorOf predicts each group by a fit on the others and returns the quantile of
// the errors over their spread. Groups, not pairs, are what is exchangeable: each
// weighs the same, and the quantile is the one that a group more would need.
func factorOf(s *state, groups []*groupTasks) (float64, error) {
	var scores []scored
	for i, g := range groups {
		fold := *s
		if err := fold.solve(sumsOf(groups, i)); err != nil {
			return 0, err
		}
		errs := fold.errors(g)
		for _, e := range errs {
			scores = append(scores, scored{e, 1 / float64(len(errs))})
		}
	}
	slices.SortFunc(scores, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.weight, b.weight))
	})
	n := float64(len(groups))
	want, sum := s.Confidence*(n+1), 0.0
	for _, e := range scores {
		if sum += e.weight; sum >= want-1e-9 {
			return num.Round9(e.score), nil
		}
	}
	// Fewer groups than the promise needs: beyond the largest as far again as
	// groups are missing.
	return num.Round9(scores[len(scores)-1].score * want / n), nil
}

// errors are those of a group's pairs of cards, over their spread.
func (s *state) errors(g *groupTasks) []float64 {
	var out []float64
	for _, c := range g.tasks {
		q := s.question(c.profile)
		for i := range c.trials {
			a := &c.trials[i]
			for j := range i {
				b := &c.trials[j]
				v := q.device(&a.rates) - q.device(&b.rates)
				out = append(out, math.Abs(v-(a.log-b.log))/(spreadFloor+apart(&a.rates, &b.rates, q.narrow)))
			}
		}
	}
	return out
}

// span notes the range of the cards' rates.
func (s *state) span(tasks []comparison) {
	first := true
	for i := range tasks {
		for j := range tasks[i].trials {
			r := tasks[i].trials[j].rates
			if first {
				s.Lo, s.Hi, first = r, r, false
			}
			s.Lo = rates{min(s.Lo.Narrow, r.Narrow), min(s.Lo.Wide, r.Wide), min(s.Lo.Bandwidth, r.Bandwidth), min(s.Lo.FP32, r.FP32)}
			s.Hi = rates{max(s.Hi.Narrow, r.Narrow), max(s.Hi.Wide, r.Wide), max(s.Hi.Bandwidth, r.Bandwidth), max(s.Hi.FP32, r.FP32)}
		}
	}
}
