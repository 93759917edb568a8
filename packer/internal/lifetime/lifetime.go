package lifetime

// Lives is what is known of how long tasks run; the zero value knows nothing. Tell it who
// ended, then at each decision who has not, and then ask.
type Lives struct {
	all   life
	kinds []*life // in the order of their first ends
	named map[string]int
	total *curve
	share float64 // how many tasks of its kind all others count like
}

// life is what is known of some tasks.
type life struct {
	name         string
	ended, open  counts
	n            float64 // that ended
	sum, squares float64 // of the spans in which they did
	work         float64
	curve        *curve
	here         bool // some are open
}

const (
	// typical is how long a task runs if nothing is known, in milliseconds.
	typical = 3600_000
	// aged is after how many ends all of them count half.
	aged = 1 << 13
	// maxKinds is how many kinds are told apart, of those of which none is open.
	maxKinds = 1 << 10
)

// End notes that a task of a kind ended after so many milliseconds of work; "" is no kind.
func (l *Lives) End(kind string, done int64) {
	l.all.end(done)
	if kind == "" {
		return
	}
	if l.named == nil {
		l.named = map[string]int{}
	}
	k, ok := l.named[kind]
	if !ok {
		k = len(l.kinds)
		l.kinds = append(l.kinds, &life{name: kind})
		l.named[kind] = k
	}
	l.kinds[k].end(done)
}

// end notes that one ended.
func (f *life) end(done int64) {
	if f.n >= aged {
		for k := range f.ended {
			f.ended[k] /= 2
		}
		f.n, f.sum, f.squares, f.work = f.n/2, f.sum/2, f.squares/2, f.work/2
	}
	k := span(done)
	at := float64(k)
	f.ended[k]++
	f.n, f.sum, f.squares, f.work = f.n+1, f.sum+at, f.squares+float64(at*at), f.work+float64(done)
}

// Begin forgets who has not ended, at a new decision.
func (l *Lives) Begin() {
	if len(l.kinds) > maxKinds {
		l.forget()
	}
	l.total, l.all.open = nil, counts{}
	for _, f := range l.kinds {
		if f.here {
			f.open, f.here = counts{}, false
		}
		f.curve = nil
	}
}

// forget drops the kinds of which none was open at the last decision.
func (l *Lives) forget() {
	kept := l.kinds[:0]
	clear(l.named)
	for _, f := range l.kinds {
		if f.here {
			l.named[f.name] = len(kept)
			kept = append(kept, f)
		}
	}
	clear(l.kinds[len(kept):])
	l.kinds = kept
}

// Open notes a task that has done so much work and has not ended.
func (l *Lives) Open(kind string, done int64) {
	k := span(done)
	l.all.open[k]++
	if f := l.of(kind); f != nil {
		f.open[k]++
		f.here = true
	}
}

// Keep notes that some tasks of a kind have not ended, where nobody will ask how long they run.
func (l *Lives) Keep(kind string) {
	if f := l.of(kind); f != nil {
		f.here = true
	}
}

// of is what is known of a kind, nil if that is nothing.
func (l *Lives) of(kind string) *life {
	if k, ok := l.named[kind]; ok {
		return l.kinds[k]
	}
	return nil
}

// Left returns how many milliseconds of work a task of a kind that has done so many still
// has: on average, and what it costs to see one like it end, which is less where many end
// soon and a few run on. Those of the lowest price go first. Who is open it
// knows from the calls of Open since Begin.
func (l *Lives) Left(kind string, done int64) (mean, price int64) {
	m, p := l.curve(kind).after(done)
	return max(1, int64(m)), max(1, int64(p))
}

// curve is that of a kind.
func (l *Lives) curve(kind string) *curve {
	if l.total == nil {
		mean := float64(typical)
		if l.all.n > 0 {
			mean = l.all.work / l.all.n
		}
		l.total = fit(&l.all.ended, &l.all.open, prior(max(shortest, mean)), 1)
		l.share = l.alike()
	}
	f := l.of(kind)
	if f == nil {
		return l.total
	}
	if f.curve == nil {
		f.curve = fit(&f.ended, &f.open, l.total, l.share)
	}
	return f.curve
}

// alike is how many tasks of a kind weigh as much as all the others: how far apart tasks of
// one kind end over how far apart kinds do, both as variances of the logarithms of their work.
// So one end says all of a kind whose tasks are equally long, and little of one whose are not.
func (l *Lives) alike() float64 {
	n, within, free := l.all.n, 0.0, 0.0
	if n < 2 {
		return 1
	}
	total := (l.all.squares - float64(l.all.sum*l.all.sum)/n) / (n - 1)
	for _, f := range l.kinds {
		if f.n > 1 {
			within += f.squares - float64(f.sum*f.sum)/f.n
			free += f.n - 1
		}
	}
	if total <= 0 {
		return 1
	}
	within = min(total, (within+total/2)/(free+1)) // as if one more had been seen half way
	return max(least, within/max(total-within, least*total))
}

// least is the least weight that all have against a kind, and the inverse of the most.
const least = 1.0 / 64
