package interference

import (
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// madePairs returns four tasks, all six pairs of which were measured: 0 and 1, 2
// and 3 fit best.
func madePairs() (*speedTable, []pairGuess) {
	tasks := make([]*profile.Profile, 4)
	for i := range tasks {
		tasks[i] = &profile.Profile{}
	}
	t := &speedTable{gpus: []string{"K80"}}
	var pairs []pairGuess
	for i := range tasks {
		for j := range i {
			v := 0.5
			if i/2 == j/2 {
				v = 1
			}
			t.rows = append(t.rows, dataset.SpeedRow{Observation: interference.Observation{
				GPU: "K80", Set: []*profile.Profile{tasks[i], tasks[j]}, Speeds: []profile.Opt[float64]{profile.Some(v), profile.Some(v)},
			}})
			pairs = append(pairs, pairGuess{row: len(pairs), said: [2]predict.Estimate{{Value: 0.7}, {Value: 0.7}}})
		}
	}
	return t, pairs
}

// TestTiesAreDrawn: a constant guess matches as chance does, whatever the order of
// the rows; half of the best for two of three pairings here.
func TestTiesAreDrawn(t *testing.T) {
	table, pairs := madePairs()
	paid := map[float64]int{}
	for _, d := range table.draws(pairs, 1) {
		share, err := d.fraction(d.guesses(table, pairs))
		if err != nil {
			t.Fatal(err)
		}
		paid[share]++
	}
	if paid[1] < drawCount/8 || paid[0.5] < drawCount/4 || paid[1]+paid[0.5] != drawCount {
		t.Errorf("shares %v, want 1 in a third of %d draws and 0.5 in the others", paid, drawCount)
	}
}

// TestMatchingWithinAFold: what the model of one fold said of a pair is not mixed
// with what another's said.
func TestMatchingWithinAFold(t *testing.T) {
	table, pairs := madePairs()
	for i := range pairs { // fold 1 knows the truth, fold 0 the opposite
		wrong := pairs[i]
		v, _ := table.rows[i].Observation.Speeds[0].Get()
		wrong.said = [2]predict.Estimate{{Value: 1 - v/2}, {Value: 1 - v/2}}
		pairs[i].said, pairs[i].fold = [2]predict.Estimate{{Value: v}, {Value: v}}, 1
		pairs = append(pairs, wrong)
	}
	for _, d := range table.draws(pairs, 2) {
		share, err := d.fraction(d.guesses(table, pairs))
		if err != nil {
			t.Fatal(err)
		}
		if want := []float64{0.5, 1}[d.fold]; share != want {
			t.Errorf("fold %d reaches %v, want %v", d.fold, share, want)
		}
	}
}
