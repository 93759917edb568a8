package bound

import (
	"math"
	"slices"

	"example.com/colloc/colloc/sim/bound/internal/pdhg"
)

// layout is where the linear program of a day has its rows and variables. Its day is cut
// into parts; the last part of a day whose end is looked for is as long as it takes.
//
//	rows       work of each task is done: α
//	           it stays no less than to the mean of its work, and half of it: λ   (means)
//	           kinds: they stay no less than they are on GPUs: μ                  (means)
//	           parts × kinds: work that is done is done by sets: β
//	           parts × cards: sets take their time
//	           work of a task in the last part takes its time                      (ends)
type layout struct {
	*pool
	edges   []float64
	program *pdhg.Program
	works   int   // first row of β
	cardsAt int   // first row of the cards
	length  int   // variable of the last part's length
	tasksAt []int // first variable of each task: its end, if that is one, and its work in parts
	begins  []int // the first part of each task
	setsAt  int   // first variable of the pool
	mean    bool
	unit    float64 // of time and work, in seconds: the mean work
}

// parts is how many the day has.
func (l *layout) parts() int { return len(l.edges) - 1 }

// prices are those of a solution: at the beginning of the day, the middles of its parts, and
// its end; where an end is looked for, twice at the last arrival, before it and after it.
func (l *layout) prices(at pdhg.Point) Prices {
	n, parts := len(l.tasks), l.parts()
	p := Prices{Task: slices.Clone(at.Y[:n])}
	if !l.mean {
		parts--
	}
	p.Moments = append(p.Moments, l.edges[0])
	for k := range parts {
		p.Moments = append(p.Moments, (l.edges[k]+l.edges[k+1])/2)
	}
	if !l.mean && parts > 0 {
		p.Moments = append(p.Moments, l.edges[parts], l.edges[parts])
	}
	for _, w := range l.work(at.Y) {
		own := append([]float64{w[0]}, w...)
		switch {
		case l.mean:
		case parts > 0:
			own = slices.Insert(own, parts+1, w[parts-1])
		default:
			own = own[1:]
		}
		p.Work = append(p.Work, own)
	}
	if l.mean {
		p.Time, p.Place = slices.Clone(at.Y[n:2*n]), l.place(at.Y)
		for i := range p.Task {
			t := &l.tasks[i]
			p.Task[i] += p.Time[i] * t.arrival / t.work // the program counts time from each arrival
		}
	}
	return p
}

// work are the prices of work in a solution.
func (l *layout) work(y []float64) [][]float64 {
	out := make([][]float64, len(l.kinds))
	for k := range out {
		out[k] = make([]float64, l.parts())
		for t := range out[k] {
			out[k][t] = y[l.works+t*len(l.kinds)+k]
		}
	}
	return out
}

// place are the prices of places in a solution for means.
func (l *layout) place(y []float64) []float64 {
	if !l.mean {
		return nil
	}
	n := 2 * len(l.tasks)
	return append([]float64(nil), y[n:n+len(l.kinds)]...)
}

// build writes the program with the sets that are taken; what was a variable or row of the
// former program is the same one in the next.
func (l *layout) build() {
	p := &pdhg.Program{}
	l.program, l.unit = p, 0
	for i := range l.tasks {
		l.unit += l.tasks[i].work / float64(len(l.tasks))
	}
	l.addRows()
	if !l.mean {
		l.length = p.Variable(1, 0, math.Inf(1))
		last := l.cardsAt + (l.parts()-1)*len(l.cards)
		for c := range l.cards {
			p.Set(last+c, l.length, float64(l.cards[c].count))
		}
	}
	n := len(l.tasks)
	l.tasksAt, l.begins = make([]int, n), make([]int, n)
	for i := range l.tasks {
		l.tasksAt[i] = len(p.Cost)
		l.addTask(i, n)
	}
	l.setsAt = len(p.Cost)
	for _, at := range l.taken {
		l.addSet(&l.sets[at])
	}
}

// addRows adds all rows but those of tasks in a last part that is as long as it takes.
func (l *layout) addRows() {
	p := l.program
	for i := range l.tasks {
		p.Row(l.tasks[i].work / l.unit)
	}
	if l.mean {
		for i := range l.tasks {
			p.Row(l.tasks[i].work / (2 * l.tasks[i].fast) / l.unit)
		}
		for range l.kinds {
			p.Row(0)
		}
	}
	l.works = len(p.Right)
	for range l.parts() * len(l.kinds) {
		p.Row(0)
	}
	l.cardsAt = len(p.Right)
	for t := range l.parts() {
		for c := range l.cards {
			right := -float64(l.cards[c].count) * (l.edges[t+1] - l.edges[t]) / l.unit
			if math.IsInf(right, 0) {
				right = 0 // its length is a variable
			}
			p.Row(right)
		}
	}
}

// addSet adds the time of a set in each part.
func (l *layout) addSet(x *set) {
	p := l.program
	for t := range l.parts() {
		v := p.Variable(0, 0, math.Inf(1))
		for j, m := range x.members {
			p.Set(l.works+t*len(l.kinds)+m.kind, v, x.rates[j])
			if l.mean {
				p.Set(2*len(l.tasks)+m.kind, v, -float64(m.count))
			}
		}
		p.Set(l.cardsAt+t*len(l.cards)+x.card, v, -1)
	}
}

// refine makes of a solution of a program of fewer parts one to begin with.
func (l *layout) refine(of *layout, at pdhg.Point) pdhg.Point {
	out := pdhg.Point{X: make([]float64, len(l.program.Cost)), Y: make([]float64, len(l.program.Right)), How: at.How}
	copy(out.Y, at.Y[:l.works])
	ends := 0
	if l.mean {
		ends = 1
	} else {
		out.X[l.length] = at.X[of.length]
	}
	for i := range l.tasks {
		copy(out.X[l.tasksAt[i]:][:ends], at.X[of.tasksAt[i]:])
	}
	rows, old := len(l.kinds)+len(l.cards), 0
	sets := (len(at.X) - of.setsAt) / of.parts() // others were taken since
	for k := range l.parts() {
		for l.edges[k] >= of.edges[old+1] {
			old++
		}
		for r := range rows { // those of kinds come before those of cards
			a, b := l.works+k*len(l.kinds)+r, of.works+old*len(l.kinds)+r
			if r >= len(l.kinds) {
				a, b = l.cardsAt+k*len(l.cards)+r-len(l.kinds), of.cardsAt+old*len(l.cards)+r-len(l.kinds)
			}
			out.Y[a] = at.Y[b]
		}
		part := 1.0
		if !math.IsInf(of.edges[old+1], 1) {
			part = min(1, (l.edges[k+1]-l.edges[k])/(of.edges[old+1]-of.edges[old]))
		}
		for i := range l.tasks {
			if k >= l.begins[i] && old >= of.begins[i] {
				out.X[l.tasksAt[i]+ends+k-l.begins[i]] = part * at.X[of.tasksAt[i]+ends+old-of.begins[i]]
			}
		}
		for n := range sets {
			out.X[l.setsAt+n*l.parts()+k] = part * at.X[of.setsAt+n*of.parts()+old]
		}
	}
	return out
}

// addTask adds the work of task i in each part, and its end.
func (l *layout) addTask(i, n int) {
	p, t := l.program, &l.tasks[i]
	if l.mean {
		whole := p.Variable(1, (t.alone-t.arrival)/l.unit, math.Inf(1))
		p.Set(n+i, whole, 1)
		p.Set(2*n+t.kind, whole, t.width)
	}
	for k := range l.parts() {
		from, to := max(l.edges[k], t.arrival), l.edges[k+1]
		if to <= t.arrival {
			l.begins[i] = k + 1
			continue
		}
		most := t.fast * (to - from) / l.unit
		v := p.Variable(0, 0, most)
		p.Set(i, v, 1)
		p.Set(l.works+k*len(l.kinds)+t.kind, v, -t.width)
		if l.mean {
			p.Set(n+i, v, -((from+to)/2-t.arrival)/t.work)
		} else if math.IsInf(most, 1) {
			row := p.Row(0)
			p.Set(row, l.length, t.fast)
			p.Set(row, v, -1)
		}
	}
}
