package follow_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/shadow/follow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/profile"
)

// week is a site at a minute of a week: on two GPUs, each job alone on its own, 40 a day of four kinds.
func week(minute int) *journal.Snapshot {
	const gpus, length, gap = 2, 90, 36
	s := &journal.Snapshot{At: at(minute)}
	for g := range gpus {
		s.GPUs = append(s.GPUs, journal.GPU{ID: fmt.Sprint("g1/", g), Node: "g1", Product: "v100"})
	}
	var free [gpus]int
	for i := 0; i*gap <= minute; i++ {
		g := 0
		if free[1] < free[0] {
			g = 1
		}
		runs := length * (1 + i%4) / 2
		start := max(i*gap, free[g])
		free[g] = start + runs
		if minute >= start+runs {
			continue
		}
		j := journal.Job{ID: strconv.Itoa(i + 1), User: fmt.Sprint("user", i%3), Name: fmt.Sprint("train", i%4), Submitted: at(i * gap), GPUs: 1}
		if minute >= start {
			j.Started, j.On = at(start), []string{fmt.Sprint("g1/", g)}
			j.Busy, j.Memory = profile.Some(0.1+0.05*float64(i%4)+0.01*float64(minute%3)), profile.Some(profile.Bytes(1+i%4)*profile.GiB)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// TestWeek: the journal of a week gives the decisions and the report that were given when it was written, also where the
// command was ended on the third day and went on with its journal.
func TestWeek(t *testing.T) {
	const minutes, every, stop = 7 * 24 * 60, 60, 3 * 24 * 60
	path := filepath.Join(t.TempDir(), "journal")
	w, err := journal.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	decided := func(f *follow.Follower, s *journal.Snapshot) string {
		plan, err := f.Take(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	live, placed := fresh(t), 0
	var want []string
	for minute := 0; minute < minutes; minute += every {
		s := week(minute)
		if minute == stop {
			live = fresh(t)
			if _, err := live.Read(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, decided(live, s))
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
		if len(want[len(want)-1]) > len("null") {
			placed++
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again, round := fresh(t), 0
	damage, err := journal.Read(path, func(s *journal.Snapshot) error {
		if got := decided(again, s); got != want[round] {
			t.Errorf("round %d of %v: %s, and when it was written %s", round, s.At.Format(time.RFC3339), got, want[round])
		}
		round++
		return nil
	})
	if err != nil || damage != (journal.Damage{}) || round != len(want) || placed < len(want)/10 {
		t.Errorf("%v, %+v, %d rounds of %d, and decisions in %d", err, damage, round, len(want), placed)
	}
	a, err := live.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := again.Summary(t.Context())
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v: the report is another:\n%s\n%s", err, a, b)
	}
}
