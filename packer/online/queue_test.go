package online_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/packer/online"
)

// TestLongestQueue: the longest queue is what waits and may start, in GPU time, over the GPUs on which work is done, as
// long as somebody waits; of those that were found the longest counts.
func TestLongestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 2))
	for range 32 {
		s := scheduler(t, 3, nil)
		wide := func(id string, gpus int, left time.Duration) time.Duration {
			j := job(id, 0, 30, left) // two do not fit on one GPU
			j.GPUs = gpus
			submit(t, s, j)
			return time.Duration(gpus) * left
		}
		wide("runs", 3, 100*time.Hour)
		decided(t, s, 0)
		waits, longest := time.Duration(0), time.Duration(0)
		for n := range 6 {
			id := strconv.Itoa(n)
			work := wide(id, 1+rng.IntN(3), time.Duration(1+rng.IntN(300))*time.Minute)
			if rng.IntN(3) == 0 {
				if err := s.Hold(id); err != nil {
					t.Fatal(err)
				}
				work = 0
			}
			waits += work
			decided(t, s, time.Duration(n+1)*time.Minute)
			if longest = max(longest, waits/3); waits == 0 {
				longest = 0
			}
			if got := longestQueue(t, s); got != longest.Milliseconds() {
				t.Fatalf("the longest queue is %d ms, want %v of %v that wait", got, longest, waits)
			}
			if rng.IntN(2) == 0 {
				if err := s.Withdraw(id); err != nil {
					t.Fatal(err)
				}
				waits -= work
			}
		}
	}
}

// longestQueue is what a state says of it, in milliseconds.
func longestQueue(t *testing.T, s *online.Scheduler) int64 {
	t.Helper()
	text, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	var st struct {
		Longest int64 `json:"longest_queue_ms"`
	}
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatal(err)
	}
	return st.Longest
}
