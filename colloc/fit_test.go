package colloc_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

func TestFit(t *testing.T) {
	light := seen(t, "light", 0.2, 0.1, 4*profile.GiB)
	heavy := seen(t, "heavy", 1, 0.9, 4*profile.GiB)
	large := seen(t, "large", 0.2, 0.1, 20*profile.GiB)
	huge := seen(t, "huge", 0.2, 0.1, 23*profile.GiB)
	picky := heavy
	picky.ID, picky.MaxSlowdown = "picky", 1.01
	hermit := light
	hermit.ID, hermit.Alone = "hermit", true
	other := light
	other.ID = "other"
	crowd := make([]colloc.Task, colloc.DefaultMaxSet)
	for i := range crowd {
		crowd[i] = light
		crowd[i].Reserved = profile.GiB
		crowd[i].ID = fmt.Sprint("other-", i)
	}

	for _, tt := range []struct {
		name string
		task colloc.Task
		gpu  colloc.GPU
		code packer.ReasonCode
		want string
	}{
		{"empty GPU", light, card(t, "g"), 0, "fits"},
		{"two light tasks", light, card(t, "g", other), 0, "fits"},
		{"larger than the GPU", huge, card(t, "g"), packer.MemoryLimit, "more would lift it"},
		{"memory taken by a resident", large, card(t, "g", other), packer.MemoryLimit, "more would lift it"},
		{"a resident's limit", light, card(t, "g", picky), packer.SpeedLimit, "its limit is 0.99"},
		{"must be alone", hermit, card(t, "g", other), packer.MustBeAlone, "forbids sharing"},
		{"resident must be alone", light, card(t, "g", hermit), packer.MustBeAlone, "forbids sharing"},
		{"set is full", light, card(t, "g", crowd...), packer.SetFull, "as many tasks"},
		{"sharing forbidden", light, with(card(t, "g", other), profile.Exclusive), packer.SetFull, "as many tasks"},
		{"the better of two mechanisms", light, with(card(t, "g", other), profile.Exclusive, profile.TimeSlice, profile.MPS), 0, "fits"},
		{"alone on an empty GPU", hermit, card(t, "g"), 0, "fits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := shared(t).Fit(tt.task, tt.gpu)
			if err != nil {
				t.Fatal(err)
			}
			if v.Fits != (tt.code == 0) || v.Code != tt.code || !strings.Contains(v.String(), tt.want) {
				t.Errorf("got fits %v, code %v, %q; want code %v, %q", v.Fits, v.Code, v, tt.code, tt.want)
			}
		})
	}
}

// with sets the ways in which a GPU may be shared.
func with(g colloc.GPU, mechanisms ...profile.Mechanism) colloc.GPU {
	g.Mechanisms = mechanisms
	return g
}

func TestFitFaults(t *testing.T) {
	light := seen(t, "light", 0.2, 0.1, 4*profile.GiB)
	for _, tt := range []struct {
		name string
		task func(*colloc.Task)
		gpu  func(*colloc.GPU)
		want string
	}{
		{"no ID", func(t *colloc.Task) { t.ID = "" }, nil, "ID is empty"},
		{"no profile", func(t *colloc.Task) { t.Profile = nil }, nil, "Profile is nil"},
		{"nothing known", func(t *colloc.Task) { t.Profile = &profile.Profile{} }, nil, "memory"},
		{"negative reservation", func(t *colloc.Task) { t.Reserved = -1 }, nil, "Reserved is -1"},
		{"NaN weight", func(t *colloc.Task) { t.Weight = math.NaN() }, nil, "Weight is NaN"},
		{"weight that Plan refuses", func(t *colloc.Task) { t.Weight = 1e10 }, nil, "Weight is 1e+10, want 0 to 1e+09"},
		{"infinite weight", func(t *colloc.Task) { t.Weight = math.Inf(1) }, nil, "Weight is +Inf"},
		{"slowdown below 1", func(t *colloc.Task) { t.MaxSlowdown = 0.5 }, nil, "MaxSlowdown is 0.5"},
		{"GPU without ID", nil, func(g *colloc.GPU) { g.ID = "" }, `GPU "": ID is empty`},
		{"GPU without memory", nil, func(g *colloc.GPU) { g.Model = profile.GPUModel{} }, "Memory is not known"},
		{"negative memory", nil, func(g *colloc.GPU) { g.Memory = -1 }, "Memory is -1"},
		{"too much memory", nil, func(g *colloc.GPU) { g.Memory = 1<<56 + 1 }, "Memory is 72057594037927937"},
		{"MIG as a mechanism", nil, func(g *colloc.GPU) { g.Mechanisms = []profile.Mechanism{profile.MIG} }, "a GPU of its own"},
		{"own neighbour", nil, func(g *colloc.GPU) { g.Residents = []colloc.Task{light} }, "already runs"},
		{"faulty resident", nil, func(g *colloc.GPU) { g.Residents = []colloc.Task{{}} }, "resident 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task, gpu := light, card(t, "g")
			if tt.task != nil {
				tt.task(&task)
			}
			if tt.gpu != nil {
				tt.gpu(&gpu)
			}
			v, err := shared(t).Fit(task, gpu)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Fit = %v, %v; want an error with %q", v, err, tt.want)
			}
		})
	}
}

// TestMostMemory: a GPU may have as much as the message says, whatever else is wrong with it.
func TestMostMemory(t *testing.T) {
	gpu := card(t, "g")
	gpu.Memory = 1 << 56
	if err := gpu.Validate(); err != nil {
		t.Error(err)
	}
	gpu.ID = ""
	if faults := colloc.Faults(gpu.Validate()); len(faults) != 1 || faults[0].Field != "ID" {
		t.Errorf("without ID: %v", faults)
	}
}

func TestScore(t *testing.T) {
	p := shared(t)
	light, other := seen(t, "light", 0.2, 0.1, 4*profile.GiB), seen(t, "other", 0.3, 0.1, 4*profile.GiB)
	heavy := seen(t, "heavy", 1, 0.9, 4*profile.GiB)
	huge := seen(t, "huge", 0.2, 0.1, 23*profile.GiB)
	score := func(task colloc.Task, residents ...colloc.Task) float64 {
		t.Helper()
		s, err := p.Score(task, card(t, "g", residents...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	empty, beside, crowded, none := score(light), score(light, other), score(light, heavy), score(huge)
	v, err := p.Fit(light, card(t, "g"))
	if err != nil {
		t.Fatal(err)
	}
	if empty != v.Pace.Value || empty <= beside || beside <= crowded || crowded < 0 || none != 0 {
		t.Errorf("scores: empty %v, beside a light task %v, beside a heavy one %v, too large %v; want them to fall from the pace %v to 0", empty, beside, crowded, none, v.Pace.Value)
	}
}

// TestJudge asks at length what Fit answers in short.
func TestJudge(t *testing.T) {
	p := shared(t)
	light, other := seen(t, "light", 0.2, 0.1, 4*profile.GiB), seen(t, "other", 0.3, 0.1, 4*profile.GiB)
	large := seen(t, "large", 0.2, 0.1, 20*profile.GiB)
	for _, tt := range []struct {
		name string
		task colloc.Task
		code packer.ReasonCode
	}{{"fits", light, 0}, {"does not fit", large, packer.MemoryLimit}} {
		t.Run(tt.name, func(t *testing.T) {
			pl, err := p.Judge(tt.task, card(t, "g", other))
			if err != nil {
				t.Fatal(err)
			}
			if pl.Binding != tt.code || len(pl.Members) != 2 || !pl.Members[0].Resident || pl.Members[1].Task != tt.task.ID {
				t.Fatalf("placement %+v; want the resident and the task, limit %v", pl, tt.code)
			}
			for _, m := range pl.Members {
				if m.Speed.Confidence == 0 || m.Memory.Confidence == 0 || m.Reserved == 0 {
					t.Errorf("member %+v; want speed and memory with confidence, and a reservation", m)
				}
			}
		})
	}
}

// TestJudgeSharesAsAllowed: what does not fit is explained by a way of sharing that the GPU
// allows.
func TestJudgeSharesAsAllowed(t *testing.T) {
	large, other := seen(t, "large", 0.2, 0.1, 20*profile.GiB), seen(t, "other", 0.3, 0.1, 4*profile.GiB)
	for _, want := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		pl, err := shared(t).Judge(large, with(card(t, "g", other), profile.Exclusive, want))
		if err != nil || pl.Mechanism != want || pl.Binding != packer.MemoryLimit {
			t.Errorf("%v: by %v, limit %v; want by %v, the memory", err, pl.Mechanism, pl.Binding, want)
		}
	}
}

// TestUnknownProduct checks that a GPU nobody listed is answered by the prior,
// and marked so.
func TestUnknownProduct(t *testing.T) {
	gpu := colloc.GPU{ID: "g", Model: profile.GPUModel{Name: "Voodoo 2"}, Memory: 24 * profile.GiB, Residents: []colloc.Task{seen(t, "other", 0.3, 0.1, 4*profile.GiB)}}
	v, err := shared(t).Fit(seen(t, "light", 0.2, 0.1, 4*profile.GiB), gpu)
	if err != nil || !v.Fits || v.Speed.Source.Kind != predict.Prior {
		t.Errorf("Fit = %+v, %v; want it to fit by the prior", v, err)
	}
}

// TestAbsurdPromises sums reservations that no card holds: the GPU is full, not
// empty.
func TestAbsurdPromises(t *testing.T) {
	gpu := card(t, "g")
	for _, id := range []string{"a", "b"} {
		r := seen(t, id, 0.2, 0.1, profile.GiB)
		r.Reserved = 1 << 56
		gpu.Residents = append(gpu.Residents, r)
	}
	v, err := shared(t).Fit(seen(t, "light", 0.2, 0.1, profile.GiB), gpu)
	if err != nil || v.Code != packer.MemoryLimit || v.Free != 0 {
		t.Errorf("Fit = %+v, %v; want no memory left", v, err)
	}
}

// TestReservation checks which of promised, measured and predicted memory counts.
func TestReservation(t *testing.T) {
	p := shared(t)
	task := seen(t, "task", 0.2, 0.1, 10*profile.GiB)
	v, err := p.Fit(task, card(t, "g"))
	if want := profile.BytesOf(1.02 * float64(10*profile.GiB)); err != nil || v.Reserved != want {
		t.Errorf("measured peak: reserved %v, %v; want %v", v.Reserved, err, want)
	}
	for elsewhere, most := range map[profile.Bytes]profile.Bytes{8: 10, 12: 12} {
		other := *seen(t, "task", 0.2, 0.1, elsewhere*profile.GiB).Profile
		other.GPU = gpuModel(t, "V100")
		task.Elsewhere = []*profile.Profile{&other}
		v, err = p.Fit(task, card(t, "g"))
		if want := profile.BytesOf(1.02 * float64(most*profile.GiB)); err != nil || v.Reserved != want {
			t.Errorf("%d GiB measured elsewhere: reserved %v, %v; want %v", elsewhere, v.Reserved, err, want)
		}
	}
	task.Reserved = 3 * profile.GiB
	if v, err = p.Fit(task, card(t, "g")); err != nil || v.Reserved != 3*profile.GiB {
		t.Errorf("promised: reserved %v, %v; want 3 GiB", v.Reserved, err)
	}
}

func TestFitAllocatesNothing(t *testing.T) {
	if race.Enabled { // it makes sync.Pool drop items at random
		t.Skip("the race detector makes sync.Pool drop items: run without -race to count allocations")
	}
	p := shared(t)
	task := seen(t, "task", 0.2, 0.1, 4*profile.GiB)
	described := colloc.Task{ID: "described", Profile: describe(t)}
	gpu := card(t, "g", seen(t, "other", 0.3, 0.1, 4*profile.GiB))
	for _, tt := range []colloc.Task{task, described} {
		allocs := testing.AllocsPerRun(200, func() {
			if _, err := p.Fit(tt, gpu); err != nil {
				t.Error(err)
			}
			if _, err := p.Score(tt, gpu); err != nil {
				t.Error(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: Fit and Score allocate %v times; want 0", tt.ID, allocs)
		}
	}
}

// describe is a task that never ran: a small network as layers.
func describe(tb testing.TB) *profile.Profile {
	tb.Helper()
	spec := profile.Spec{
		Model: profile.Model{Name: "small", Layers: []profile.Layer{
			{Kind: profile.Linear, Neurons: 4096, Params: 784*4096 + 4096, Activations: 4096},
			{Kind: profile.Activation, Activations: 4096},
			{Kind: profile.Linear, Neurons: 10, Params: 40970, Activations: 10},
		}},
		Training: profile.Training{BatchSize: 256, Optimizer: profile.Adam},
	}
	p, err := profile.New(spec, profile.Trace{}, profile.GPUModel{})
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

func TestNewFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config colloc.Config
		want   string
	}{
		{"risk", colloc.Config{Risk: 2}, "Risk is 2"},
		{"NaN risk", colloc.Config{Risk: math.NaN()}, "Risk is NaN"},
		{"headroom", colloc.Config{Headroom: profile.Some(1.0)}, "Headroom is 1"},
		{"set", colloc.Config{MaxSet: -1}, "MaxSet is -1"},
		{"slowdown", colloc.Config{MaxSlowdown: 0.9}, "MaxSlowdown is 0.9"},
		{"gain", colloc.Config{MinGain: -1}, "MinGain is -1"},
		{"two at once", colloc.Config{Risk: 2, MaxSet: -1}, "MaxSet is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := colloc.New(tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New = %v; want an error with %q", err, tt.want)
			}
		})
	}
}

// TestJudgeIsOneVersion: what Judge says of a GPU agrees with itself while co-runs of
// the same tasks are observed.
func TestJudgeIsOneVersion(t *testing.T) {
	p, err := colloc.New(colloc.Config{Interference: &interference.Predictor{}})
	if err != nil {
		t.Fatal(err)
	}
	task, gpu := seen(t, "light", 0.5, 0.2, 4*profile.GiB), card(t, "g", seen(t, "other", 0.5, 0.2, 4*profile.GiB))
	done := make(chan error, 1)
	go func() {
		var errs []error
		for i := range 300 {
			speed := profile.Some(0.3 + 0.6*float64(i%2))
			errs = append(errs, p.Observe(colloc.Observation{GPU: gpu.Model, Members: []colloc.Measurement{
				{Profile: task.Profile, Speed: speed}, {Profile: gpu.Residents[0].Profile, Speed: speed},
			}}))
		}
		done <- errors.Join(errs...)
	}()
	for observing := true; observing; {
		select {
		case err := <-done:
			observing = false
			if err != nil {
				t.Fatal(err)
			}
		default:
		}
		pl, err := p.Judge(task, gpu)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, m := range pl.Members {
			sum += m.Pace.Value * m.Speed.Value
		}
		if math.Abs(sum-pl.Throughput) > 1e-5 {
			t.Fatalf("the members do %v together, the placement says %v", sum, pl.Throughput)
		}
	}
}
