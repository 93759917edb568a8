package online

import (
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestNeeds: what is set aside for a task, by what is known of it.
func TestNeeds(t *testing.T) {
	const gib, after = profile.GiB, time.Minute
	for _, test := range []struct {
		name string
		w    Watched
		want profile.Bytes
	}{
		{"nothing seen", Watched{Reserved: 8 * gib}, 8 * gib},
		{"seen for too short", Watched{Reserved: 8 * gib, Peak: profile.Some(4 * gib), For: after - 1}, 8 * gib},
		{"seen for long enough", Watched{Reserved: 8 * gib, Peak: profile.Some(4 * gib), For: after}, 5 * gib},
		{"as much as is reserved", Watched{Reserved: 8 * gib, Peak: profile.Some(8 * gib)}, 8 * gib},
		{"more than is reserved", Watched{Reserved: 4 * gib, Peak: profile.Some(8 * gib)}, 10 * gib},
		{"asked for", Watched{Reserved: 4 * gib, Bound: gib, Peak: profile.Some(8 * gib), For: after}, gib},
	} {
		if got := test.w.Needs(after, 0.25); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestGuessCountsWhatIsRepeated: what a stopped task does again is work that is left, for
// its place in the queue, too.
func TestGuessCountsWhatIsRepeated(t *testing.T) {
	s, err := NewScheduler(nil, packtest.Even{1}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{}
	left, rank := s.guess(e)
	e.again = steps(time.Hour)
	if l, r := s.guess(e); l != left+e.again || r != rank+e.again {
		t.Errorf("left %d and rank %d become %d and %d, want %d more", left, rank, l, r, e.again)
	}
}
