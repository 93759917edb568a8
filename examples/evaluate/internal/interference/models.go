package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// errSet says that rows to fit on and to score are of different sets.
var errSet = errors.New("training rows are of another set")

// speedSet is a set of measured pairs of tasks on one GPU.
type speedSet struct {
	title string
	// probes is how many co-runs of each new task are observed before scoring.
	probes int
	read   func(file string, r io.Reader) ([]dataset.SpeedRow, error)
}

// speedSets are the sets of pairs.
func speedSets(probes int) []set {
	return []set{
		speedSet{"interference_lucid", probes, dataset.ReadSpeed},
		speedSet{"interference_gavel", probes, dataset.ReadSpeed},
		speedSet{"interference_measured", probes, dataset.ReadMeasured}, // a table of examples/measure
	}
}

// onlineSets are the same, to learn from.
func onlineSets() []set {
	var out []set
	for _, title := range []string{"interference_lucid", "interference_gavel"} {
		out = append(out, onlineSet{speedSet{title, 0, dataset.ReadSpeed}})
	}
	return out
}

func (s speedSet) name() string { return s.title }
func (s speedSet) file() string { return s.title }

func (s speedSet) open(folder, base string) (table, error) {
	rows, err := openFile(folder, base, s.read)
	if err != nil {
		return nil, err
	}
	t := &speedTable{set: s}
	for _, r := range rows {
		if r.Excluded == "" {
			t.rows = append(t.rows, r)
			if !slices.Contains(t.gpus, r.Observation.GPU) {
				t.gpus = append(t.gpus, r.Observation.GPU)
			}
		}
	}
	slices.Sort(t.gpus)
	return t, nil
}

// speedTable is one file of pairs.
type speedTable struct {
	set  speedSet
	rows []dataset.SpeedRow
	gpus []string
}

func (t *speedTable) size() int           { return len(t.rows) }
func (t *speedTable) family(i int) string { return t.rows[i].Observation.Groups[0] }

// splits deals pairs at random, leaves out all pairs that touch a family, and,
// for Gavel, keeps only 40 % of the pairs of each GPU for training.
func (t *speedTable) splits() []split {
	out := []split{{"random", randomFolds(t.size())}, {"family", t.touching()}}
	if len(t.gpus) > 1 {
		out = append(out, split{"profiled40", t.profiled(0.4)})
	}
	return out
}

func (t *speedTable) touching() []fold {
	families := make([][]string, t.size())
	for i := range families {
		families[i] = t.rows[i].Observation.Groups
	}
	return predict.GroupFolds(families, 0)
}

// profiled trains on a share of the pairs and scores the rest.
func (t *speedTable) profiled(share float64) []fold {
	order := rand.New(rand.NewPCG(foldSeed, 2)).Perm(t.size())
	k := int(share * float64(len(order)))
	f := fold{Train: slices.Clone(order[:k]), Test: slices.Clone(order[k:])}
	slices.Sort(f.Train)
	slices.Sort(f.Test)
	return []fold{f}
}

// pairGuess is what one model says of one pair of the scored table.
type pairGuess struct {
	row    int
	fold   int
	speed  [2]float64
	lo, hi [2]float64
}

// speedGuesses collects what one model says.
type speedGuesses struct {
	model    string
	interval bool
	pairs    []pairGuess
}

func (t *speedTable) score(from table, folds []fold) ([]result, error) {
	train, ok := from.(*speedTable)
	if !ok {
		return nil, errSet
	}
	names := []string{"colloc", "proportional", "mean", "random", "matrix_completion"}
	if t.labelled() && train.labelled() {
		names = append(names, "lucid_score_table")
	}
	all := make([]speedGuesses, len(names))
	for i, name := range names {
		all[i] = speedGuesses{model: name, interval: name == "colloc"}
	}
	for k, f := range folds {
		models, err := train.fit(f.Train, names)
		if err != nil {
			return nil, err
		}
		test, err := t.probe(train, f, k, models[0])
		if err != nil {
			return nil, err
		}
		for m := range models {
			for _, i := range test {
				g := pairGuess{row: i, fold: k}
				if err := models[m].guess(&t.rows[i], &g); err != nil {
					return nil, fmt.Errorf("line %d: %w", t.rows[i].Line, err)
				}
				all[m].pairs = append(all[m].pairs, g)
			}
		}
	}
	draws := t.draws(all[0].pairs, len(folds))
	var results []result
	for m := range all {
		r, err := t.result(&all[m], draws)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (t *speedTable) labelled() bool {
	for i := range t.rows {
		for _, s := range t.rows[i].ShareScore {
			if _, ok := s.Get(); !ok {
				return false
			}
		}
	}
	return true
}

// probe lets the first model observe co-runs of every task that the training
// rows do not have, drawn from the fold, and returns the rows left to score.
func (t *speedTable) probe(train *speedTable, f fold, k int, model speedModel) ([]int, error) {
	ours, ok := model.(*collocModel)
	if !ok || t.set.probes < 1 {
		return f.Test, nil
	}
	known := make(map[string]int)
	for _, i := range f.Train {
		for _, p := range train.rows[i].Observation.Set {
			known[p.GPU.Name+p.Spec.Type()] = t.set.probes
		}
	}
	used := make(map[int]bool)
	rng := rand.New(rand.NewPCG(foldSeed, 3+uint64(k)))
	for _, at := range rng.Perm(len(f.Test)) {
		o := &t.rows[f.Test[at]].Observation
		wanted := false
		for _, p := range o.Set {
			wanted = wanted || known[p.GPU.Name+p.Spec.Type()] < t.set.probes
		}
		if !wanted {
			continue
		}
		for _, p := range o.Set {
			known[p.GPU.Name+p.Spec.Type()]++
		}
		used[f.Test[at]] = true
		if err := ours.model.Observe(*o); err != nil {
			return nil, err
		}
	}
	var left []int
	for _, i := range f.Test {
		if !used[i] {
			left = append(left, i)
		}
	}
	return left, nil
}

// speedModel guesses both speeds of a pair.
type speedModel interface {
	guess(r *dataset.SpeedRow, g *pairGuess) error
}

// fit fits every model to the given rows.
func (t *speedTable) fit(rows []int, names []string) ([]speedModel, error) {
	var obs []interference.Observation
	for _, i := range rows {
		obs = append(obs, t.rows[i].Observation)
	}
	ours, err := interference.Fit(obs, nil)
	if err != nil {
		return nil, err
	}
	profiled, err := fitCompletion(obs)
	if err != nil {
		return nil, err
	}
	mean := t.means(rows)
	var out []speedModel
	for _, name := range names {
		switch name {
		case "colloc":
			out = append(out, &collocModel{model: ours})
		case "proportional":
			out = append(out, proportional{})
		case "mean":
			out = append(out, mean)
		case "random":
			out = append(out, &randomPairing{mean, rand.New(rand.NewPCG(foldSeed, 4))})
		case "matrix_completion":
			out = append(out, profiled)
		default:
			out = append(out, t.scoreTable(rows))
		}
	}
	return out, nil
}

// collocModel is this library.
type collocModel struct {
	model *interference.Predictor
	buf   []predict.Estimate
}

func (m *collocModel) guess(r *dataset.SpeedRow, g *pairGuess) (err error) {
	o := &r.Observation
	m.buf, err = m.model.Ratios(&o.Set[0].GPU, o.Mechanism, o.Set, m.buf[:0])
	for i, e := range m.buf {
		g.speed[i], g.lo[i], g.hi[i] = e.Value, e.Lo, e.Hi
	}
	return err
}

// proportional shares the SMs in proportion to demand; a task of which no use
// is known counts as using all.
type proportional struct{}

func (proportional) guess(r *dataset.SpeedRow, g *pairGuess) error {
	var use float64
	for _, p := range r.Observation.Set {
		use += p.Vector.Or(profile.MeanGPUBusy, 1)
	}
	g.speed = [2]float64{1 / max(1, use), 1 / max(1, use)}
	return nil
}

// meanSpeed is the mean speed per GPU, and over all for a GPU not seen.
type meanSpeed map[string]float64

func (t *speedTable) means(rows []int) meanSpeed {
	m, n := meanSpeed{}, map[string]float64{}
	for _, i := range rows {
		o := &t.rows[i].Observation
		for _, s := range o.Speeds {
			if v, ok := s.Get(); ok {
				for _, key := range []string{o.GPU, ""} {
					n[key]++
					m[key] += (v - m[key]) / n[key]
				}
			}
		}
	}
	return m
}

func (m meanSpeed) guess(r *dataset.SpeedRow, g *pairGuess) error {
	v, ok := m[r.Observation.GPU]
	if !ok {
		v = m[""]
	}
	g.speed = [2]float64{v, v}
	return nil
}

// randomPairing is the mean with a jitter: its matching is random.
type randomPairing struct {
	meanSpeed
	rng *rand.Rand
}

func (m *randomPairing) guess(r *dataset.SpeedRow, g *pairGuess) error {
	err := m.meanSpeed.guess(r, g)
	g.speed[0] += 0.001 * m.rng.Float64()
	return err
}

// scoreTable is the mean speed by Lucid's labels of the task and its partner.
type scoreTable map[string]float64

func labels(r *dataset.SpeedRow, i int) string {
	return strings.Join([]string{r.ShareScore[i].String(), r.ShareScore[1-i].String()}, "|")
}

func (t *speedTable) scoreTable(rows []int) scoreTable {
	m, n := scoreTable{}, map[string]float64{}
	for _, i := range rows {
		for k, s := range t.rows[i].Observation.Speeds {
			if v, ok := s.Get(); ok {
				for _, key := range []string{labels(&t.rows[i], k), ""} {
					n[key]++
					m[key] += (v - m[key]) / n[key]
				}
			}
		}
	}
	return m
}

func (m scoreTable) guess(r *dataset.SpeedRow, g *pairGuess) error {
	for i := range g.speed {
		v, ok := m[labels(r, i)]
		if !ok {
			v = m[""]
		}
		g.speed[i] = v
	}
	return nil
}
