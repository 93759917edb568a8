package memory

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/folds"
	"example.com/colloc/profile"
)

// Options configure [Fit]; nil and the zero value are the defaults.
type Options struct {
	// Seed chooses folds and the rows that trees see.
	Seed uint64
	// Provenance is stored with the model.
	Provenance predict.Provenance
	// Together is stored with the model; nil is the published summary.
	Together *Together
}

// leastRows is the number of observations of a family below which its part is
// not fitted.
const leastRows = 20

// Fit fits a model to observed tasks. Tasks with layers are fitted by
// family ([profile.Model.Guess]), each on its own; tasks without layers but with
// a shape-only run ([profile.Traced]) together. A family with fewer than 20
// uncensored observations is left to the prior. Of the hosts that the observations
// name without a context the one with most has that which is fitted with each family;
// those of the others are found as [Predictor.Calibrate] does, by a first fit without
// them.
//
// It returns an error that gives the index of an observation with an invalid
// Spec or a peak that is not positive, and one if no family has enough.
// O(observations × trees); the same input gives the same model.
func Fit(obs []Observation, o *Options) (*Predictor, error) {
	if o == nil {
		o = &Options{}
	}
	sorted, err := sortByPart(obs)
	if err != nil {
		return nil, err
	}
	m := &Predictor{from: o.Provenance, together: o.Together}
	if m.hosts, err = sorted.settle(o.Seed); err != nil {
		return nil, err
	}
	fitted := 0
	for k, rows := range sorted.rows {
		if sorted.seen[k] < leastRows {
			continue
		}
		part, err := fitPart(rows, allowedTerms(k), o.Seed)
		if err != nil {
			return nil, fmt.Errorf("predict: fit memory: %s: %w", partName(k), err)
		}
		if k == tracedPart {
			m.traced = part
		} else {
			m.parts[k] = part
		}
		fitted++
	}
	if fitted == 0 {
		return nil, fmt.Errorf("predict: fit memory: %d observations, want at least %d of one family", len(obs), leastRows)
	}
	return m, nil
}

// settle finds the contexts of all hosts but the most common one, whose rows a first
// fit of each part rests on, and notes them in the rows.
func (s *sortedRows) settle(seed uint64) ([]host, error) {
	var hosts []host
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		hosts = append(hosts, host{Name: name, Rows: s.hosts[name]})
	}
	if len(hosts) < 2 {
		return hosts, nil
	}
	most := slices.MaxFunc(hosts, func(a, b host) int { return cmp.Or(cmp.Compare(a.Rows, b.Rows), cmp.Compare(b.Name, a.Name)) })
	more, err := s.beyond(most.Name, seed)
	if err != nil {
		return nil, err
	}
	for i := range hosts {
		if b := more[hosts[i].Name]; b != nil {
			hosts[i].Context = max(1, b.context())
		}
	}
	for _, rows := range s.rows {
		for i := range rows {
			if at := slices.IndexFunc(hosts, func(h host) bool { return h.Name == rows[i].host }); at >= 0 && hosts[at].Context > 0 {
				rows[i].context = hosts[at].Context
			}
		}
	}
	return hosts, nil
}

// beyond collects what tasks used on other hosts than the most common one, beyond what
// fits to the tasks there say.
func (s *sortedRows) beyond(most string, seed uint64) (map[string]*beyond, error) {
	more := make(map[string]*beyond)
	for k, rows := range s.rows {
		var common, others []row
		for i := range rows {
			if r := &rows[i]; r.host == "" || r.host == most {
				common = append(common, *r)
			} else if !r.censored {
				others = append(others, *r)
			}
		}
		if len(common) < leastRows || len(others) == 0 {
			continue
		}
		p, err := fitMean(common, allowedTerms(k), seed)
		if err != nil {
			return nil, err
		}
		for i := range others {
			r := &others[i]
			if more[r.host] == nil {
				more[r.host] = &beyond{}
			}
			more[r.host].add(r.peak, p.at(&r.task, true).rest)
		}
	}
	return more, nil
}

// tracedPart is the index of the part for shape-only runs after the families.
const tracedPart = profile.Families

// partName names a part in messages and files.
func partName(k int) string {
	if k == tracedPart {
		return "traced"
	}
	return profile.Family(k).String()
}

// allowedTerms marks the terms that a part may use. The one convolution of a
// vision transformer says nothing about workspaces.
func allowedTerms(k int) []bool {
	allowed := slices.Repeat([]bool{true}, termCount)
	if k == int(profile.Transformer) {
		allowed[termTransit], allowed[termBiggest], allowed[termMixed] = false, false, false
	}
	return allowed
}

// sortedRows are observations by part.
type sortedRows struct {
	rows  [tracedPart + 1][]row
	seen  [tracedPart + 1]int // not censored
	hosts map[string]int      // rows of hosts that are named, without a measured context
}

func sortByPart(obs []Observation) (*sortedRows, error) {
	s := sortedRows{hosts: make(map[string]int)}
	groups := make(map[string]int)
	for i := range obs {
		o := &obs[i]
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("predict: fit memory: observation %d: %w", i, err)
		}
		if o.Assumed {
			continue
		}
		id, ok := groups[o.Group]
		if !ok {
			id = len(groups)
			groups[o.Group] = id
		}
		r := row{peak: float64(o.Peak), context: math.NaN(), censored: o.Censored, group: id, architecture: o.Spec.Model.Architecture}
		if c, ok := o.Host.Context.Get(); ok {
			r.context = float64(c)
		} else if o.Host.Name != "" {
			r.host = o.Host.Name
			s.hosts[o.Host.Name]++
		}
		k := int(o.Spec.Model.Guess())
		_, layered := o.Spec.Model.Activations()
		switch {
		case layered:
			r.task.describe(&o.Spec)
		case !o.Spec.Traced.AfterForward.IsZero() || !o.Spec.Traced.AfterBackward.IsZero():
			k = tracedPart
			if r.task.describeTraced(&o.Spec); r.task.halved {
				continue // what the backward pass adds is unknown
			}
		default:
			continue // parameters alone teach nothing
		}
		s.rows[k] = append(s.rows[k], r)
		if !o.Censored {
			s.seen[k]++
		}
	}
	return &s, nil
}

// fitPart fits one kind of task. used marks the terms that may get a
// coefficient. O(rows × trees).
func fitPart(rows []row, allowed []bool, seed uint64) (*part, error) {
	p, err := fitMean(rows, allowed, seed)
	if err != nil {
		return nil, err
	}
	p.Rows = len(rows)
	p.bounds(rows)
	fold, groups := foldsOf(rows, seed)
	p.Groups = groups
	left, err := leftOut(rows, fold, folds.Count, false, allowed, seed)
	if err != nil {
		return nil, err
	}
	p.calibrate(rows, left, fold, seed)
	if groups >= manyGroups {
		return p, nil
	}
	for i := range rows {
		p.Known = append(p.Known, rows[i].architecture)
	}
	slices.Sort(p.Known)
	p.Known = slices.Compact(p.Known)
	if groups < leastGroups {
		return p, nil
	}
	return p, p.allowForStrangers(rows, allowed, seed)
}

// foldsOf deals rows to folds: by row, or by whole groups where there are many.
func foldsOf(rows []row, seed uint64) (fold []int, groups int) {
	names := groupsOf(rows)
	distinct := slices.Clone(names)
	slices.Sort(distinct)
	groups = len(slices.Compact(distinct))
	if groups >= manyGroups {
		return folds.DealGroups(names, folds.Count), groups
	}
	return folds.Deal(len(rows), folds.Count, seed), groups
}

func groupsOf(rows []row) []int {
	names := make([]int, len(rows))
	for i := range rows {
		names[i] = rows[i].group
	}
	return names
}
