package quota

import (
	"cmp"
	"slices"
)

// Everyone names the quota of each user who has none of his own.
const Everyone = "*"

// Gate lets tasks pass while their user has GPUs left. A nil map of quotas lets all
// pass.
type Gate struct {
	most map[string]int
	used map[string]int      // by user: GPUs that tasks ask for which passed and did not end
	held map[string][]*asked // by user, next first
	len  int
}

// asked is a task that is held back.
type asked struct{ task, gpus, priority int }

// NewGate returns a gate that nobody passed.
func NewGate(most map[string]int) *Gate {
	return &Gate{most: most, used: map[string]int{}, held: map[string][]*asked{}}
}

// Len is how many tasks are held back.
func (g *Gate) Len() int { return g.len }

// left is how many GPUs a user may still have.
func (g *Gate) left(user string) (int, bool) {
	most, limited := g.most[user]
	if !limited {
		most, limited = g.most[Everyone]
	}
	return most - g.used[user], limited
}

// Pass lets a task of a user pass, or holds it back and reports false: behind those of
// its priority that came before, and those of a higher one.
func (g *Gate) Pass(user string, task, gpus, priority int) bool {
	left, limited := g.left(user)
	if !limited {
		return true
	}
	if gpus <= left && !slices.ContainsFunc(g.held[user], func(a *asked) bool { return a.priority >= priority }) {
		g.used[user] += gpus
		return true
	}
	at, _ := slices.BinarySearchFunc(g.held[user], priority, func(a *asked, p int) int {
		return cmp.Or(cmp.Compare(p, a.priority), -1)
	})
	g.held[user] = slices.Insert(g.held[user], at, &asked{task, gpus, priority})
	g.len++
	return false
}

// End returns what an ended task had, and the tasks of its user that pass now, in
// order: the first that does not fit holds back the rest.
func (g *Gate) End(user string, gpus int) []int {
	if _, limited := g.left(user); !limited {
		return nil
	}
	g.used[user] -= gpus
	var pass []int
	for held := g.held[user]; len(held) > 0; held = g.held[user] {
		if left, _ := g.left(user); held[0].gpus > left {
			break
		}
		g.used[user] += held[0].gpus
		pass = append(pass, held[0].task)
		g.held[user] = held[1:]
		g.len--
	}
	return pass
}
