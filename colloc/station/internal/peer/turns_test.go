package peer

import (
	"context"
	"testing"
)

// So many requests of one user are done at once; another user's and root's wait for none of
// them, and the next one's turn comes when one is done.
func TestTurns(t *testing.T) {
	const most = 2
	turns, crowd := NewTurns(most), User{UID: 7}
	over, stop := context.WithCancel(t.Context())
	stop()
	var leave func()
	var err error
	for range most {
		if leave, err = turns.Take(t.Context(), crowd); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := turns.Take(over, crowd); err == nil {
		t.Errorf("it is the turn of more than %d requests", most)
	}
	for _, other := range []User{{UID: 8}, {UID: 0}} {
		if _, err := turns.Take(t.Context(), other); err != nil {
			t.Errorf("user %d waits: %v", other.UID, err)
		}
	}
	leave()
	if _, err := turns.Take(t.Context(), crowd); err != nil {
		t.Errorf("nobody's turn: %v", err)
	}
}
