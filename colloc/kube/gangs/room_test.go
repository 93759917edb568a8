package gangs_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/kube/gangs"
)

// without is a cluster once some holders are gone.
func without(nodes []gangs.Node, gone []int) []gangs.Node {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Cards = slices.Clone(out[i].Cards)
		for k := range out[i].Cards {
			c := &out[i].Cards[k]
			c.Holds = slices.DeleteFunc(slices.Clone(c.Holds), func(h int) bool { return slices.Contains(gone, h) })
		}
	}
	return out
}

// fits reports whether a gang has a site, by trying every choice of nodes.
func fits(nodes []gangs.Node, ask gangs.Ask) bool {
	return fewest(nodes, "x", ask) > 0 || fewest(nodes, "y", ask) > 0
}

// price is what a choice of holders costs: its highest priority, then its pods.
func price(holders []gangs.Holder, gone []int) (class, pods int) {
	for _, h := range gone {
		class, pods = max(class, holders[h].Priority), pods+holders[h].Pods
	}
	return class, pods
}

// slowRoom tries every choice of holders.
func slowRoom(nodes []gangs.Node, ask gangs.Ask, holders []gangs.Holder) (class, pods int, ok bool) {
	for set := range 1 << len(holders) {
		var gone []int
		for h := range holders {
			if set>>h&1 == 1 {
				gone = append(gone, h)
			}
		}
		if c, n := price(holders, gone); (!ok || c < class || c == class && n < pods) && fits(without(nodes, gone), ask) {
			class, pods, ok = c, n, true
		}
	}
	return class, pods, ok
}

// TestRoom: wherever there is room once some are gone it is found, nobody of a higher
// priority goes than has to, none of those who go could stay, and where each has one card
// no choice has fewer pods.
func TestRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holders := make([]gangs.Holder, rapid.IntRange(1, 6).Draw(t, "holders"))
		for i := range holders {
			holders[i] = gangs.Holder{Priority: rapid.IntRange(1, 3).Draw(t, "priority"), Pods: rapid.IntRange(1, 2).Draw(t, "pods")}
		}
		nodes := cluster(t, len(holders))
		once := rapid.Bool().Draw(t, "one card each")
		seen := map[int]bool{}
		for i := range nodes {
			for k := range nodes[i].Cards {
				c := &nodes[i].Cards[k]
				c.Holds = slices.DeleteFunc(c.Holds, func(h int) bool { return once && seen[h] })
				for _, h := range c.Holds {
					seen[h] = true
				}
			}
		}
		ask := gangs.Ask{Pods: rapid.IntRange(1, 3).Draw(t, "ask pods"), GPUs: rapid.IntRange(1, 3).Draw(t, "ask GPUs")}
		if fits(nodes, ask) {
			return // nobody has to go, and nobody is asked
		}
		wantClass, wantPods, want := slowRoom(nodes, ask, holders)
		site, gone, ok := gangs.Room(nodes, ask, holders)
		if ok != want {
			t.Fatalf("room: %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		check(t, without(nodes, gone), ask, &site, map[string]bool{})
		class, pods := price(holders, gone)
		if class != wantClass || once && pods != wantPods {
			t.Fatalf("%v go, of priority %d with %d pods; want %d and %d", gone, class, pods, wantClass, wantPods)
		}
		for i := range gone {
			if fewest(without(nodes, slices.Delete(slices.Clone(gone), i, i+1)), site.Kind, ask) > 0 {
				t.Fatalf("of %v holder %d could stay", gone, gone[i])
			}
		}
	})
}
