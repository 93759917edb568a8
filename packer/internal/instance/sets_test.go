package instance_test

import (
	"slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestKnownSetsAreTold: no two sets on two classes are taken for each other.
func TestKnownSetsAreTold(t *testing.T) {
	known, seen := make(instance.KnownSets, 64), map[instance.SetKey]bool{}
	for k := range 2 {
		for mask := range 1 << 6 {
			var set []int32
			for i := range int32(6) {
				if mask>>i&1 == 1 {
					set = append(set, i)
				}
			}
			at, key := known.Find(k, set)
			if at == nil || seen[key] {
				t.Fatalf("class %d, tasks %v: no key of their own", k, set)
			}
			seen[key] = true
			*at = instance.KnownSet{Key: key, Value: int64(mask)}
			if again, same := known.Find(k, set); again.Key != same || again.Value != int64(mask) {
				t.Fatalf("class %d, tasks %v: forgotten at once", k, set)
			}
		}
	}
}

// TestCopies: of each type the cheapest tasks are tried, each only with the one before it.
func TestCopies(t *testing.T) {
	ty := &instance.Types{Of: []int32{0, 1, 0, 0}, Members: [][]int32{{0, 2, 3}, {1}}}
	tasks, before := ty.Copies(2, []int64{7, 1, 5, 6})
	if !slices.Equal(tasks, []int32{2, 3, 1}) || !slices.Equal(before, []int32{-1, 2, -1}) {
		t.Errorf("tasks %v after %v", tasks, before)
	}
}

// TestPairsAtHomeAndWide: what two tasks can save by staying, and how many GPUs they take;
// none is no task.
func TestPairsAtHomeAndWide(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1}, GPUs: []packer.GPU{
		{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB}, {ID: "large", Memory: 2 * profile.GiB},
	}}
	p.Tasks = []packer.Task{
		{ID: "0", Home: "g", MoveCost: 0.5},
		{ID: "1", Home: "g", MoveCost: 0.25},
		{ID: "2", Home: "h", MoveCost: 0.25},
		{ID: "3", Home: "large", MoveCost: 1},
		{ID: "4", GPUs: 3},
	}
	const none, unit = -1, instance.Resolution
	in := packtest.NewInstance(t, p)
	for _, test := range []struct {
		a, b  int32
		hope  int64 // on the smaller GPUs
		width int
	}{
		{none, none, 0, 1},
		{0, none, unit / 2, 1},
		{none, 2, unit / 4, 1},
		{0, 1, unit * 3 / 4, 1},
		{0, 2, unit / 2, 1},
		{2, 1, unit / 4, 1},
		{3, 0, unit / 2, 1},
		{none, 4, 0, 3},
		{4, none, 0, 3},
	} {
		if got := in.Hope(0, test.a, test.b); got != test.hope {
			t.Errorf("tasks %d and %d may save %d, want %d", test.a, test.b, got, test.hope)
		}
		if got := in.WidthOf(test.a, test.b); got != test.width {
			t.Errorf("tasks %d and %d take %d GPUs, want %d", test.a, test.b, got, test.width)
		}
	}
}

// TestShortOfMemory: a set that does not fit lacks what it has beyond the offer.
func TestShortOfMemory(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 1}, Limits: packer.Limits{Headroom: profile.Some(0.0)}, GPUs: []packer.GPU{{ID: "g", Memory: 10 * profile.GiB}}}
	p.Tasks = []packer.Task{{ID: "0", Memory: 7 * profile.GiB}, {ID: "1", Memory: 3 * profile.GiB}, {ID: "2", Memory: 4 * profile.GiB}}
	in := packtest.NewInstance(t, p)
	for other, want := range map[int32]instance.Verdict{1: {}, 2: {Code: instance.NoMemory, Short: profile.GiB}} {
		if got := in.Room(&in.Classes[0], []int32{0, other}); got != want {
			t.Errorf("beside task %d: %+v, want %+v", other, got, want)
		}
	}
}

// TestResidentsKeepTheirSpeeds: a GPU on which nothing changes is written with the speeds
// of its residents.
func TestResidentsKeepTheirSpeeds(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 0.75}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB, Residents: []packer.Task{{ID: "r"}, {ID: "s"}}}}}
	in := packtest.NewInstance(t, p)
	if got := in.Classes[0].BaseSpeed; !slices.Equal(got, []float64{0.75, 0.75}) {
		t.Errorf("speeds %v", got)
	}
}

// TestPairThatJustGains: a pair that is worth just what MinGain asks for may share, and one
// that is worth a unit less may not.
func TestPairThatJustGains(t *testing.T) {
	for speed, want := range map[float64]int32{0.75: instance.Resolution * 3 / 2, 0.75 - 1.0/instance.Resolution: 0} {
		p := &packer.Problem{
			Model: packtest.Even{1, speed}, Limits: packer.Limits{MaxSet: 2, MinGain: 0.5}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}},
			Tasks: []packer.Task{{ID: "0"}, {ID: "1"}},
		}
		in := packtest.NewInstance(t, p)
		r := instance.NewPairRow(instance.NewEvaluator(in), &in.Classes[0], []int64{instance.Resolution, instance.Resolution})
		r.IDs = []int32{1}
		if err := r.Fill(0); err != nil || r.Values[0] != want {
			t.Errorf("at speed %v: %d, %v; want %d", speed, r.Values[0], err, want)
		}
	}
}
