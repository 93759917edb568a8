package gangs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/kube/gangs"
)

// cluster draws nodes with cards of two kinds, some of which others hold.
func cluster(t *rapid.T, holders int) []gangs.Node {
	nodes := make([]gangs.Node, rapid.IntRange(1, 4).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = gangs.Node{Name: fmt.Sprintf("n%d", i), Pods: rapid.IntRange(0, 3).Draw(t, "pods")}
		for k := range rapid.IntRange(0, 4).Draw(t, "cards") {
			c := gangs.Card{ID: fmt.Sprintf("n%d/%d", i, k), Kind: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "kind")}
			if holders > 0 {
				for range rapid.IntRange(0, 2).Draw(t, "holders") {
					if h := rapid.IntRange(0, holders-1).Draw(t, "holder"); !slices.Contains(c.Holds, h) {
						c.Holds = append(c.Holds, h)
					}
				}
			}
			nodes[i].Cards = append(nodes[i].Cards, c)
		}
	}
	return nodes
}

// counts is how many empty cards of a kind each node has.
func counts(nodes []gangs.Node, kind string) []int {
	list := make([]int, len(nodes))
	for i := range nodes {
		for _, c := range nodes[i].Cards {
			if c.Kind == kind && len(c.Holds) == 0 {
				list[i]++
			}
		}
	}
	return list
}

// fewest tries every choice of nodes; 0 is that there is no room.
func fewest(nodes []gangs.Node, kind string, ask gangs.Ask) int {
	free := counts(nodes, kind)
	best := 0
	for set := range 1 << len(nodes) {
		room, n := 0, 0
		for i := range nodes {
			if set>>i&1 == 1 {
				room += min(nodes[i].Pods, free[i]/ask.GPUs)
				n++
			}
		}
		if room >= ask.Pods && (best == 0 || n < best) {
			best = n
		}
	}
	return best
}

// check demands that a site keeps all rules.
func check(t *rapid.T, nodes []gangs.Node, ask gangs.Ask, s *gangs.Site, taken map[string]bool) (on int) {
	pods := map[string]int{}
	for _, seat := range s.Seats {
		pods[seat.Node]++
		if len(seat.Cards) != ask.GPUs {
			t.Fatalf("a pod has %q, want %d GPUs", seat.Cards, ask.GPUs)
		}
		for _, id := range seat.Cards {
			i := slices.IndexFunc(nodes, func(n gangs.Node) bool { return n.Name == seat.Node })
			if i < 0 || taken[id] || !slices.ContainsFunc(nodes[i].Cards, func(c gangs.Card) bool { return c.ID == id && c.Kind == s.Kind }) {
				t.Fatalf("card %s on %s is taken, of another kind, or elsewhere: %+v", id, seat.Node, s)
			}
			taken[id] = true
		}
	}
	for i := range nodes {
		if pods[nodes[i].Name] > nodes[i].Pods {
			t.Fatalf("%d pods on %s, which takes %d", pods[nodes[i].Name], nodes[i].Name, nodes[i].Pods)
		}
	}
	if len(s.Seats) != ask.Pods {
		t.Fatalf("%d seats for %d pods", len(s.Seats), ask.Pods)
	}
	return len(pods)
}

// TestSites: there is a site wherever there is room for one, and it is on as few nodes as
// can be.
func TestSites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := cluster(t, rapid.SampledFrom([]int{0, 3}).Draw(t, "some hold"))
		ask := gangs.Ask{Pods: rapid.IntRange(1, 4).Draw(t, "ask pods"), GPUs: rapid.IntRange(1, 3).Draw(t, "ask GPUs")}
		most := rapid.IntRange(1, 3).Draw(t, "most")
		sites := gangs.Sites(nodes, ask, most)
		taken := map[string]bool{}
		of := map[string]int{}
		for i := range sites {
			on := check(t, nodes, ask, &sites[i], taken)
			if of[sites[i].Kind]++; of[sites[i].Kind] == 1 && on != fewest(nodes, sites[i].Kind, ask) {
				t.Fatalf("%+v is on %d nodes, %d would do", sites[i], on, fewest(nodes, sites[i].Kind, ask))
			}
		}
		for _, kind := range []string{"x", "y"} {
			if room := fewest(nodes, kind, ask) > 0; room != (of[kind] > 0) || of[kind] > most {
				t.Fatalf("%d sites of %s, room for one: %v", of[kind], kind, room)
			}
		}
	})
}

// TestSitesTight: the last pods go where they leave the least.
func TestSitesTight(t *testing.T) {
	node := func(name string, n int) gangs.Node {
		out := gangs.Node{Name: name, Pods: 9}
		for i := range n {
			out.Cards = append(out.Cards, gangs.Card{ID: fmt.Sprint(name, i), Kind: "x"})
		}
		return out
	}
	sites := gangs.Sites([]gangs.Node{node("a", 8), node("b", 3), node("c", 5)}, gangs.Ask{Pods: 1, GPUs: 3}, 2)
	if got := strings.Join(append(sites[0].Cards(), sites[1].Cards()...), " "); got != "b0 b1 b2 c0 c1 c2" {
		t.Errorf("got %s", got)
	}
}
