package gain_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc/gain"
	"example.com/colloc/internal/golden"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// TestGolden: what a history is said to gain, in numbers and in words, stays as it was
// unless somebody means it.
func TestGolden(t *testing.T) {
	mixed := site(240, 2, 1.1, 11)
	for i := range mixed {
		j := &mixed[i]
		switch { // two pools of different sizes, and all ways to know a job
		case j.GPUs == 1 && i%3 == 0:
			j.Partition, j.Product, j.Nodes = "old", "T4", []string{fmt.Sprint("t", i%2)}
		case i%5 == 0:
			j.Seen = profile.Solo{}
		case i%7 == 0:
			j.Seen, j.Name = profile.Solo{}, fmt.Sprint("nobody", i)
			j.User = j.Name
		case i%11 == 0:
			j.Seen.Memory = profile.Some(14 * profile.GiB)
		}
	}
	var out bytes.Buffer
	for _, c := range []struct {
		name string
		o    gain.Options
	}{
		{"default", gain.Options{Replications: 3}},
		{"prior", gain.Options{Replications: 2, Prior: &profile.Solo{SMActive: profile.Some(0.3), Memory: profile.Some(2 * profile.GiB)}, MaxSet: 3, MaxSlowdown: 1.5}},
		{"restricted", gain.Options{Replications: 2, Seed: 5, SameUser: true, NoGangs: true}},
		{"closed", gain.Options{Replications: 3, Closed: true}},
		{"sampled", gain.Options{Replications: 4, Sample: 60}},
		{"window", gain.Options{Replications: 1, From: mixed[60].Submitted, Until: mixed[180].Submitted.Add(time.Minute)}},
	} {
		c.o.Interference = &interference.Predictor{}
		r := replay(t, mixed, c.o)
		g := r.Total
		fmt.Fprintf(&out, "== %s\n%v", c.name, r)
		fmt.Fprintf(&out, "recorded %.4g, without %.4g, with %.4g, died %.3g, known %+v, %d pairs\n", g.Recorded, g.Without, g.With, g.Died, r.Known, len(r.Pairs))
		for _, x := range r.Together {
			fmt.Fprintf(&out, "%s and %s %d times, %.3g h\n", x.A, x.B, x.Times, x.Hours)
		}
	}
	golden.Check(t, "golden.txt", out.String())
}
