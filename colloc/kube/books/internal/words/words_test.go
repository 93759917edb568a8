package words

import "testing"

func TestNodes(t *testing.T) {
	for _, c := range []struct {
		all        int
		why        map[string]int
		text       string
		everywhere bool
	}{
		{0, nil, "no node has a GPU that can be used", true},
		{3, nil, "all 3 nodes with GPUs would take it", false},
		{3, map[string]int{"is gone": 1, "has a taint": 1}, "1 of 3 nodes with GPUs would take it: 1 has a taint, 1 is gone", false},
		{2, map[string]int{"is gone": 2}, "0 of 2 nodes with GPUs would take it: 2 is gone", true},
	} {
		if got := Nodes(c.all, c.why); got != c.text {
			t.Errorf("%d nodes, %v: %q, want %q", c.all, c.why, got, c.text)
		}
		if got := Everywhere(c.all, c.why); got != c.everywhere {
			t.Errorf("%d nodes, %v: everywhere %v", c.all, c.why, got)
		}
	}
}

func TestCards(t *testing.T) {
	if got, want := Cards(map[string]int{"kept": 2, "held": 1}), "; of 1 cards: held; of 2 cards: kept"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Cards(nil); got != "" {
		t.Errorf("no cards: %q", got)
	}
}

func TestReason(t *testing.T) {
	if got := Reason("gpus-taken"); got != "GpusTaken" {
		t.Errorf("got %q", got)
	}
}
