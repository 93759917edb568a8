package peer

import (
	"context"
	"sync"
)

// Turns lets so many requests of each user be done at once, and the others wait: whoever
// sends many waits for himself and takes no more memory. Root waits for nobody. It is safe
// for concurrent use.
type Turns struct {
	most int
	mu   sync.Mutex
	of   map[uint32]chan struct{} // has an element for each request that is done
}

// NewTurns returns Turns for at most so many requests of a user, at least 1.
func NewTurns(most int) *Turns { return &Turns{most: most, of: make(map[uint32]chan struct{})} }

// Take waits until it is a user's turn, or ctx is done, which is the error; a turn that is
// free is had whatever ctx says. Call leave in the end, once.
func (t *Turns) Take(ctx context.Context, u User) (leave func(), err error) {
	if u.Root() {
		return func() {}, nil
	}
	t.mu.Lock()
	turns := t.of[u.UID]
	if turns == nil {
		turns = make(chan struct{}, t.most)
		t.of[u.UID] = turns
	}
	t.mu.Unlock()
	leave = func() { <-turns }
	select {
	case turns <- struct{}{}: // also where ctx was done just now
		return leave, nil
	default:
	}
	select {
	case turns <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
