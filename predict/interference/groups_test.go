package interference

import (
	"math"
	"strconv"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// worldOf returns pairs of a made-up world of so many models.
func worldOf(t *testing.T, models int) (*Predictor, []*profile.Profile) {
	t.Helper()
	batches := 6
	if race.Enabled {
		batches = 4
	}
	tasks, obs := fakeWorld(t, 3, models, batches)
	return mustFit(t, obs, nil), tasks
}

// TestGroupsOfAStranger: the estimate tells how many families its interval rests on,
// and is a prior on fewer than three.
func TestGroupsOfAStranger(t *testing.T) {
	gpu, many := rtx3090(t), 6
	if race.Enabled {
		many = 4 // fits take seconds
	}
	for _, tt := range []struct {
		models int
		want   predict.SourceKind
	}{{2, predict.Prior}, {many, predict.Fitted}} {
		t.Run(strconv.Itoa(tt.models), func(t *testing.T) {
			m, tasks := worldOf(t, tt.models)
			stranger := fakeTask(t, "new", 32, 0.7, 0.3, 0.1)
			set := mustSpeeds(t, m, gpu, stranger, tasks[0])
			if got := set[0].Source; got.Kind != tt.want || (tt.want == predict.Fitted && got.Groups != tt.models) || got.Groups > tt.models {
				t.Errorf("a stranger's source is %+v, want %v on %d groups", got, tt.want, tt.models)
			}
			known := mustSpeeds(t, m, gpu, tasks[0], tasks[1])
			if got := known[0].Source; got.Kind != predict.Fitted || got.Groups < leastErrors {
				t.Errorf("a known task's source is %+v, want fitted on its many co-runs", got)
			}
		})
	}
}

// TestKnownBesideStranger: beside a task of which nothing is known, one that
// suffered beside everybody still suffers more than one that did not.
func TestKnownBesideStranger(t *testing.T) {
	gpu := rtx3090(t)
	m := &Predictor{}
	soft, hard := fakeTask(t, "soft", 32, math.NaN(), math.NaN(), math.NaN()), fakeTask(t, "hard", 32, math.NaN(), math.NaN(), math.NaN())
	other := fakeTask(t, "other", 32, math.NaN(), math.NaN(), math.NaN())
	for range 10 {
		for _, o := range []Observation{
			{Set: []*profile.Profile{soft, other}, Speeds: []profile.Opt[float64]{profile.Some(0.2), profile.Some(0.6)}},
			{Set: []*profile.Profile{hard, other}, Speeds: []profile.Opt[float64]{profile.Some(0.9), profile.Some(0.6)}},
		} {
			o.GPU, o.Mechanism = gpu.Name, profile.TimeSlice
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := mustSpeeds(t, m, gpu, soft, nil), mustSpeeds(t, m, gpu, hard, nil)
	if b[0].Value < a[0].Value+0.2 {
		t.Errorf("beside a stranger the soft task runs at %v and the hard one at %v, want far less for the first", a[0].Value, b[0].Value)
	}
}

// TestUnseenShare: without any measurement two tasks of which nothing is known run
// at half speed.
func TestUnseenShare(t *testing.T) {
	got := mustSpeeds(t, &Predictor{}, rtx3090(t), nil, nil)
	if !(math.Abs(got[0].Value-0.5) <= 1e-9) {
		t.Errorf("two unknown tasks run at %v, want 0.5", got[0].Value)
	}
}
