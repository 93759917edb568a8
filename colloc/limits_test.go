package colloc_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// either draws one of the values that are right, and seldom one of the others, which it notes as a fault of a field.
func either[T any](t *rapid.T, faults *[]string, field string, right []T, wrong ...T) T {
	if rapid.IntRange(0, 11).Draw(t, field+" is wrong") == 0 {
		*faults = append(*faults, field)
		return rapid.SampledFrom(wrong).Draw(t, field)
	}
	return rapid.SampledFrom(right).Draw(t, field)
}

// anyTask draws a task of a name with the fields that are at fault.
func anyTask(t *rapid.T, id string) (colloc.Task, []string) {
	var faults []string
	labels := [][]string{nil, {"a"}, {"é", "b c"}}
	task := colloc.Task{
		ID:          either(t, &faults, "ID", []string{id, id + " é"}, "", id+"\n", id+"\x7f", id+"\u0085"),
		Reserved:    either(t, &faults, "Reserved", []profile.Bytes{1, profile.GiB, 1 << 56, memory.Whole}, -1, 1<<56+1),
		Weight:      either(t, &faults, "Weight", []float64{0, 1e-9, 1, 1e9}, -1e-9, 1.1e9, math.NaN(), math.Inf(1)),
		MaxSlowdown: either(t, &faults, "MaxSlowdown", []float64{0, 1, 2, math.Inf(1)}, -1, 0.5, 0.999, math.NaN()),
		GPUs:        either(t, &faults, "GPUs", []int{0, 1}, -1, 1<<16+1),
		MoveCost:    either(t, &faults, "MoveCost", []float64{0, 1, packer.MaxMoveCost}, -1, packer.MaxMoveCost+1, math.NaN()),
		Elsewhere:   either(t, &faults, "Elsewhere", [][]*profile.Profile{nil, {{}}}, []*profile.Profile{nil}, []*profile.Profile{{}, nil}),
		Labels:      either(t, &faults, "Labels", labels, []string{""}, []string{"a", "\t"}),
		Avoid:       either(t, &faults, "Avoid", labels, []string{""}, []string{"a", "\t"}),
		Only:        either(t, &faults, "Only", labels, []string{""}, []string{"a", "\t"}),
		On:          either(t, &faults, "On", labels, []string{""}, []string{"a", "\t"}),
	}
	if rapid.Bool().Draw(t, "wide") && task.GPUs == 1 {
		task.GPUs = 1 << 16
	}
	if rapid.Bool().Draw(t, "profile") {
		task.Profile = &profile.Profile{}
		if task.GPUs == 0 && rapid.Bool().Draw(t, "gang by profile") {
			task.Profile.Spec.Training.GPUs = 2
		}
		if task.Reserved == 1 {
			task.Reserved = 0
		}
	} else if task.Reserved < 0 {
		faults = append(faults, "Profile")
	}
	if task.Width() == 1 {
		task.Home = rapid.SampledFrom([]string{"", "g"}).Draw(t, "home")
	} else {
		task.Home = either(t, &faults, "Home", []string{""}, "g")
	}
	return task, faults
}

// fieldsOf are the fields that an error finds fault with, in order, and IDs of residents with them.
func fieldsOf(err error) []string {
	var fields []string
	for _, f := range colloc.Faults(err) {
		fields = append(fields, fmt.Sprint(f.TaskIndex, " ", f.Field))
	}
	slices.Sort(fields)
	return fields
}

// TestFaultsTwin: a task, and a GPU with residents, are at fault in those fields that hold what they must not, and in no
// other; Fit says the same.
func TestFaultsTwin(t *testing.T) {
	p := shared(t)
	rapid.Check(t, func(t *rapid.T) {
		task, wrong := anyTask(t, "t")
		var want []string
		for _, field := range wrong {
			want = append(want, "-1 "+field)
		}
		slices.Sort(want)
		err := task.Validate()
		if got := fieldsOf(err); !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Fatalf("%+v is at fault in %v, want %v", task, got, want)
		}
		if _, err := p.Fit(task, colloc.GPU{ID: "g", Memory: profile.GiB}); len(want) > 0 && !slices.Equal(fieldsOf(err), want) {
			t.Fatalf("%+v: Fit finds %v, want %v", task, err, want)
		}

		wrong, want = nil, nil
		g := colloc.GPU{
			ID:         either(t, &wrong, "ID", []string{"g"}, "", "g\n"),
			Memory:     either(t, &wrong, "Memory", []profile.Bytes{1, profile.GiB, 1 << 56}, -1, 0, 1<<56+1),
			Mechanisms: either(t, &wrong, "Mechanisms", [][]profile.Mechanism{nil, {profile.TimeSlice}, {profile.Exclusive, profile.MPS}}, []profile.Mechanism{profile.MIG}, []profile.Mechanism{profile.MPS, -1}),
			Labels:     either(t, &wrong, "Labels", [][]string{nil, {"a"}}, []string{"a", ""}),
		}
		for _, field := range wrong {
			want = append(want, "-1 "+field)
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "residents") {
			r, faults := anyTask(t, fmt.Sprint("r", i))
			g.Residents = append(g.Residents, r)
			for _, field := range faults {
				want = append(want, fmt.Sprint(i, " ", field))
			}
		}
		slices.Sort(want)
		err = g.Validate()
		if got := fieldsOf(err); !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Fatalf("%+v is at fault in %v, want %v", g, got, want)
		}
	})
}

// TestConfigTwin: a Config is at fault in those fields that hold what they must not, and in no other.
func TestConfigTwin(t *testing.T) {
	models := shared(t).Config()
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		c := colloc.Config{
			Memory: models.Memory, Interference: models.Interference, Pace: models.Pace, Utilization: models.Utilization, MIGSpeed: models.MIGSpeed, Shared: true,
			Risk:        either(t, &want, "Risk", []float64{0, 0.01, 0.5}, -0.01, 0.51, math.NaN()),
			Headroom:    either(t, &want, "Headroom", []profile.Opt[float64]{{}, profile.Some(0.0), profile.Some(0.999)}, profile.Some(-0.1), profile.Some(1.0), profile.Some(math.NaN())),
			MaxSet:      either(t, &want, "MaxSet", []int{0, 1, colloc.LargestSet}, -1, colloc.LargestSet+1),
			MinGain:     either(t, &want, "MinGain", []float64{0, 0.5, math.MaxFloat64}, -0.1, math.Inf(1), math.NaN()),
			MaxSlowdown: either(t, &want, "MaxSlowdown", []float64{0, 1, math.Inf(1)}, 0.99, -1, math.NaN()),
		}
		p, err := colloc.New(c)
		var got []string
		if err != nil {
			for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), "colloc: config: "), "\n") {
				field, _, _ := strings.Cut(line, " ")
				got = append(got, field)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at fault in %v, want %v: %v", got, want, err)
		}
		if err != nil {
			return
		}
		full := p.Config()
		for field, is := range map[string]bool{
			"Risk":        full.Risk == c.Risk || c.Risk == 0 && full.Risk == colloc.DefaultRisk,
			"MaxSet":      full.MaxSet == c.MaxSet || c.MaxSet == 0 && full.MaxSet == colloc.DefaultMaxSet,
			"MaxSlowdown": full.MaxSlowdown == c.MaxSlowdown || c.MaxSlowdown == 0 && full.MaxSlowdown == colloc.DefaultMaxSlowdown,
			"Headroom":    full.Headroom == profile.Some(c.Headroom.Or(packer.DefaultHeadroom)),
			"MinGain":     full.MinGain == c.MinGain,
		} {
			if !is {
				t.Fatalf("%s of %+v", field, full)
			}
		}
	})
}

// TestVerdictTwin: a verdict says what its code and its numbers mean, and what would lift the limit.
func TestVerdictTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := colloc.Task{ID: "t", Alone: rapid.Bool().Draw(t, "alone"), Foreign: rapid.Bool().Draw(t, "foreign")}
		var g colloc.GPU
		for i := range rapid.IntRange(0, 3).Draw(t, "residents") {
			g.Residents = append(g.Residents, colloc.Task{ID: fmt.Sprint("r", i), Alone: rapid.Bool().Draw(t, "resident alone"), Foreign: rapid.IntRange(0, 3).Draw(t, "foreign resident") == 0})
		}
		v := colloc.Verdict{
			Code:     rapid.SampledFrom([]packer.ReasonCode{0, packer.MemoryLimit, packer.SpeedLimit, packer.MustBeAlone, packer.Incompatible, packer.WrongGPU, packer.MeasuredSlow, packer.SetFull, packer.NoGPU}).Draw(t, "code"),
			Other:    "r1",
			Label:    "l",
			Reserved: 3 * profile.GiB, Free: rapid.SampledFrom([]profile.Bytes{-1, 0, 1, profile.GiB}).Draw(t, "free"),
			Slowest: rapid.IntRange(-1, 4).Draw(t, "slowest"), SlowestSpeed: rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "speed"), SlowestLimit: 0.5,
		}
		v.Fits = v.Code == 0 && rapid.Bool().Draw(t, "fits")
		v.Speed.Value = 0.75
		var want []colloc.Relief
		text := v.Code.String()
		switch v.Code {
		case 0:
			text = "no verdict"
			if v.Fits {
				text = fmt.Sprintf("fits: speed 0.75, reserves 3 GiB of %v free", v.Free)
			}
		case packer.MemoryLimit:
			text = fmt.Sprintf("memory: needs 3 GiB, %v are free; %v more would lift it", v.Free, 3*profile.GiB-v.Free)
			if v.Free > 0 {
				want = append(want, colloc.Relief{Kind: colloc.ReserveLess, Task: "t", Bytes: v.Free})
			}
			want = append(want, colloc.Relief{Kind: colloc.LargerGPU, Task: "t", Bytes: 3 * profile.GiB})
		case packer.SpeedLimit:
			text = fmt.Sprintf("slowdown: a member would run at %.2f of its solo speed, its limit is 0.50", v.SlowestSpeed)
			slow := "t"
			if v.Slowest >= 0 && v.Slowest < len(g.Residents) {
				slow = fmt.Sprint("r", v.Slowest)
			}
			if v.SlowestSpeed > 0 {
				want = append(want, colloc.Relief{Kind: colloc.AllowSlowdown, Task: slow, Factor: 4})
			}
		case packer.MustBeAlone:
			text = `must be alone: the task or "r1" forbids sharing`
			for _, x := range append([]colloc.Task{task}, g.Residents...) {
				if x.Alone || x.Foreign {
					want = append(want, colloc.Relief{Kind: colloc.AllowSharing, Task: x.ID})
				}
			}
		case packer.Incompatible:
			text = `labels: the task and "r1" do not accept each other; Avoid and Only say which labels they bear`
			want = []colloc.Relief{{Kind: colloc.OtherLabels, Task: "t"}, {Kind: colloc.OtherLabels, Task: "r1"}}
		case packer.WrongGPU:
			text = `wrong GPU: the task asks for label "l", and the GPU does not carry it`
			want = []colloc.Relief{{Kind: colloc.LabelGPU, Task: "t"}}
		case packer.MeasuredSlow:
			text = `measured: beside "r1" the GPU did less than one task alone`
			want = []colloc.Relief{{Kind: colloc.ForgetMeasured, Task: "r1"}}
		case packer.SetFull:
			text = "set size: the GPU already holds as many tasks as may share it"
			want = []colloc.Relief{{Kind: colloc.LargerSets, Task: "t"}}
		default:
		}
		if got := v.Reliefs(task, g); !slices.Equal(got, want) || v.String() != text {
			t.Fatalf("%q lifted by %+v\nwant %q and %+v", v.String(), got, text, want)
		}
	})
}
