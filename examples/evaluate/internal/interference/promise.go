package interference

import (
	"fmt"

	"example.com/colloc/examples/evaluate/internal/protocol"
)

// cautions are how far below the prediction a pair may be valued, in parts of the way to
// the lower end of its interval.
var cautions = [...]float64{0, 0.2, 0.5}

// kept is what came of the pairs that were chosen on one GPU product.
type kept struct{ n, promised, realised, lost, matching, draws float64 }

func (k *kept) add(o *kept) {
	k.n += o.n
	k.promised += o.promised
	k.realised += o.realised
	k.lost += o.lost
	k.matching += o.matching
	k.draws += o.draws
}

// lowered is a guess of which a part of the way to the lower end is taken off.
func (g pairGuess) lowered(caution float64) pairGuess {
	for i := range g.said { // g is a copy
		e := &g.said[i]
		e.Value -= caution * max(0, e.Value-e.Lo)
	}
	return g
}

// promises pairs the tasks of a draw by lowered guesses and notes of the pairs that are
// worth more than one after the other what was promised and what was measured.
func (d *draw) promises(t *speedTable, pairs []pairGuess) (kept, error) {
	guess := d.guesses(t, pairs)
	out := kept{draws: 1}
	var err error
	if out.matching, err = d.fraction(guess); err != nil {
		return out, err
	}
	chosen, err := d.pairs(guess)
	for _, p := range chosen {
		said, seen := guess[p], d.truth[p]
		if said[0]+said[1] <= 1 {
			continue
		}
		out.n++
		out.promised += said[0] + said[1]
		out.realised += seen[0] + seen[1]
		if seen[0]+seen[1] < 1 {
			out.lost++
		}
	}
	return out, err
}

// addPromises tells how well the pairs keep what was promised of them, by caution.
func (t *speedTable) addPromises(out *protocol.Result, g *speedGuesses, draws []draw) error {
	for _, caution := range cautions {
		pairs := make([]pairGuess, len(g.pairs))
		for i := range pairs {
			pairs[i] = g.pairs[i].lowered(caution)
		}
		by := make(map[string]*kept)
		for i := range draws {
			k, err := draws[i].promises(t, pairs)
			if err != nil {
				return err
			}
			if by[draws[i].gpu] == nil {
				by[draws[i].gpu] = &kept{}
			}
			by[draws[i].gpu].add(&k)
		}
		for _, gpu := range t.gpus {
			k, name := by[gpu], fmt.Sprintf("_%s_caution%.0f", gpu, 100*caution)
			if k == nil {
				continue
			}
			n := max(1, k.n)
			out.Add("pairs"+name, k.n)
			out.Add("promised_less_realised"+name, (k.promised-k.realised)/n)
			out.Add("losing"+name, k.lost/n)
			out.Add("matching"+name, k.matching/k.draws)
		}
	}
	return nil
}
