package memory

import (
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
// uncensored observations is left to the prior. Hosts that the observations name
// without a context share one fitted context per family.
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
	for _, name := range slices.Sorted(maps.Keys(sorted.hosts)) {
		m.hosts = append(m.hosts, host{Name: name, Rows: sorted.hosts[name]})
	}
	return m, nil
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
			s.hosts[o.Host.Name]++
		}
		k := int(o.Spec.Model.Guess())
		_, layered := o.Spec.Model.Activations()
		switch {
		case layered:
			r.task.describe(&o.Spec)
		case !o.Spec.Traced.AfterForward.IsZero() || !o.Spec.Traced.AfterBackward.IsZero():
			k = tracedPart
			r.task.describeTraced(&o.Spec)
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
