package interference

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict/internal/memo"
	"example.com/colloc/predict/internal/trees"
)

// TestTreeMemoAgrees asks the memo and the trees the same, from several
// goroutines, with more pairs than there are places and with missing values.
func TestTreeMemoAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][treeColumns]float64, 3*memo.Slots)
	x, y := make([][]float64, 300), make([]float64, 300)
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = rng.Float64()
			if rng.IntN(10) == 0 {
				rows[i][j] = math.NaN()
			}
		}
		if i < len(x) {
			x[i], y[i] = rows[i][:], rng.Float64()
		}
	}
	ensemble := trees.Fit(x, y, nil, trees.Options{Rounds: 20})
	memo := &treeMemo{}
	members := func(row *[treeColumns]float64) (own, other member) {
		for i, m := range [2]*member{&own, &other} {
			half := row[i*treeColumns/2:]
			m.sm, m.dram, m.memory, m.step, m.batch, m.traits = half[0], half[1], half[2], half[3], half[4], [2]float64(half[5:])
			m.remember()
		}
		return own, other
	}
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range race.Fewer(2 * len(rows)) {
				row := &rows[(i*(g+1))%len(rows)]
				own, other := members(row)
				if got, want := memo.predict(ensemble, &own, &other), ensemble.Predict(row[:]); got != want {
					t.Errorf("row %d: the memo says %v, the trees %v", i, got, want)
					return
				}
			}
		})
	}
	wait.Wait()
	own, other := members(&rows[0])
	if n := testing.AllocsPerRun(100, func() { memo.predict(ensemble, &own, &other) }); n != 0 {
		t.Errorf("a remembered pair costs %v allocations, want none", n)
	}
}
