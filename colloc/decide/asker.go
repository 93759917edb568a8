package decide

import (
	"context"
	"sync"
)

type askerKey struct{}

// WithAsker says who sends the requests of a context, such as the number of a user, for an http.Server's ConnContext. Of the
// requests that are read and decided at once no asker then has more than half, one at least: who sends many waits for
// himself. Requests of nobody's are not counted.
func WithAsker(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, askerKey{}, who)
}

// askers lets so many requests of each asker be read and decided at once.
type askers struct {
	most int

	mu sync.Mutex
	of map[string]*asker
}

// asker is one who has requests.
type asker struct {
	places  chan struct{} // has an element for each that is read or decided
	waiting int           // these too, and those that wait
}

func newAskers(most int) *askers { return &askers{most: max(1, most), of: make(map[string]*asker)} }

// take waits for a place of the asker of a context, until leave is called.
func (a *askers) take(ctx context.Context) (leave func(), err error) {
	who, known := ctx.Value(askerKey{}).(string)
	if !known {
		return func() {}, nil
	}
	a.mu.Lock()
	it := a.of[who]
	if it == nil {
		it = &asker{places: make(chan struct{}, a.most)}
		a.of[who] = it
	}
	it.waiting++
	a.mu.Unlock()
	gone := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if it.waiting--; it.waiting == 0 {
			delete(a.of, who)
		}
	}
	if err := take(ctx, it.places, "of your requests are being decided"); err != nil {
		gone()
		return nil, err
	}
	return func() { <-it.places; gone() }, nil
}
