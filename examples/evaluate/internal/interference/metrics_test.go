package interference

import "testing"

// TestNestedThreshold: a fold is judged by the threshold that is best on the others,
// never by its own; with one fold by the plain one.
func TestNestedThreshold(t *testing.T) {
	var all []judged
	for fold := range 3 { // said 0.03 too high, but in the last fold
		off := 0.03
		if fold == 2 {
			off = 0
		}
		for k := range 20 {
			truth := 0.755 + 0.01*float64(k)
			all = append(all, judged{fold, truth + off, truth >= 0.85})
		}
	}
	plain, nested := plainAndNested(all, 0.85)
	// By the plain threshold folds 0 and 1 are wrong on the three from 0.82 on. Fold 2 is judged by
	// 0.88, which is wrong on its three; of fold 0 the others are as well served by either.
	if want := 54.0 / 60; plain != want || nested != 51.0/60 {
		t.Errorf("plain %v, nested %v; want %v and %v", plain, nested, want, 51.0/60)
	}
	if plain, nested := plainAndNested(all[:20], 0.85); plain != nested || plain != 17.0/20 {
		t.Errorf("one fold: plain %v, nested %v, want 0.85 for both", plain, nested)
	}
	always := append(append([]judged(nil), all[:40]...), all[20:40]...)
	for i := range 20 {
		always[40+i].fold = 2
	}
	if plain, nested := plainAndNested(always, 0.85); plain != 51.0/60 || nested != 1 {
		t.Errorf("always too high: plain %v, nested %v, want 0.85 and 1", plain, nested)
	}
}
