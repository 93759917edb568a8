package instance_test

import (
	"slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// compile makes an instance of one GPU, with others like it, and tasks.
func compile(t *testing.T, gpus int, gpu packer.GPU, model packer.Model, tasks ...packer.Task) *instance.Instance {
	t.Helper()
	p := &packer.Problem{Model: model, Tasks: tasks, Limits: packer.Limits{MaxSet: 3}}
	for g := range gpus {
		gpu.ID, gpu.Memory = string(rune('a'+g)), 8*profile.GiB
		p.GPUs = append(p.GPUs, gpu)
	}
	return packtest.NewInstance(t, p)
}

// TestUnsharedGPU: a GPU that allows no sharing has one seat, which a resident takes.
func TestUnsharedGPU(t *testing.T) {
	only := []profile.Mechanism{profile.Exclusive}
	x, y := packer.Task{ID: "x"}, packer.Task{ID: "y"}
	in := compile(t, 1, packer.GPU{Mechanisms: only}, packtest.Even{1, 0.9}, x, y)
	c := &in.Classes[0]
	if v := in.Room(c, []int32{0}); !in.Open(c) || in.Seats(0) != 1 || v.Code != 0 {
		t.Errorf("empty: open %v, %d seats, %+v; want one seat", in.Open(c), in.Seats(0), v)
	}
	hermit := compile(t, 1, packer.GPU{}, packtest.Even{1, 0.9}, packer.Task{ID: "x", Alone: true}, y)
	if a, b := hermit.Room(&hermit.Classes[0], []int32{0}), hermit.Room(&hermit.Classes[0], []int32{0, 1}); a.Code != 0 || b.Code != instance.MustBeAlone {
		t.Errorf("one that must be alone: %+v, and with company %+v", a, b)
	}
	if v := in.Room(c, []int32{0, 1}); v.Code != instance.SetFull {
		t.Errorf("two tasks: %+v, want a full set", v)
	}
	in = compile(t, 1, packer.GPU{Mechanisms: only, Residents: []packer.Task{{ID: "r"}}}, packtest.Even{1, 0.9}, x, y)
	if in.Open(&in.Classes[0]) || in.Seats(0) != 0 {
		t.Error("a GPU that is not shared takes a task beside its resident")
	}
	in = compile(t, 1, packer.GPU{}, packtest.Even{1, 0.9}, x, y, packer.Task{ID: "z"}, packer.Task{ID: "u"})
	if in.Seats(0) != 3 {
		t.Errorf("%d seats on a shared GPU, want MaxSet", in.Seats(0))
	}
}

// TestGangRoom: tasks that need more GPUs than there are alike have no room.
func TestGangRoom(t *testing.T) {
	for gpus, want := range map[int]instance.Refusal{2: instance.TooFewGPUs, 3: 0} {
		in := compile(t, gpus, packer.GPU{}, packtest.Even{1, 0.9}, packer.Task{ID: "x", GPUs: 3}, packer.Task{ID: "y", GPUs: 3})
		if v := in.Room(&in.Classes[0], []int32{0, 1}); v.Code != want {
			t.Errorf("three GPUs of %d: %+v, want %v", gpus, v, want)
		}
	}
}

// TestVerdict: a set is allowed at the speed limit, and only if it does more than the
// best of its members alone; a set that is not allowed is worth nothing to anybody.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		name     string
		model    packer.Model
		minSpeed float64
		want     instance.Refusal
	}{
		{"at the limit", packtest.Even{1, 0.75}, 0.75, 0},
		{"below the limit", packtest.Even{1, 0.75}, 0.76, instance.TooSlow},
		{"as much as alone", packtest.Even{1, 0.5}, 0, instance.NoGain},
		{"less than alone", packtest.Even{1, 0.4}, 0, instance.NoGain},
	} {
		in := compile(t, 1, packer.GPU{}, test.model, packer.Task{ID: "x", MinSpeed: test.minSpeed}, packer.Task{ID: "y"})
		e, c := instance.NewEvaluator(in), &in.Classes[0]
		v, err := e.Verdict(c, []int32{0, 1})
		if err != nil || v.Code != test.want || (v.Units > 0) != (test.want == 0) {
			t.Errorf("%s: %+v, %v; want %v", test.name, v, err, test.want)
		}
	}
}

// TestResidentsMechanism: residents that run equally well by several mechanisms count by
// the first, whatever the order in which the GPU lists them.
func TestResidentsMechanism(t *testing.T) {
	mechs := []profile.Mechanism{profile.MPS, profile.TimeSlice}
	for range 2 {
		in := compile(t, 1, packer.GPU{Mechanisms: mechs, Residents: []packer.Task{{ID: "r"}, {ID: "s"}}}, packtest.Even{1, 0.9})
		if got := in.Classes[0].BaseMech; got != min(profile.MPS, profile.TimeSlice) {
			t.Errorf("listed as %v: they share by %v", mechs, got)
		}
		slices.Reverse(mechs)
	}
}

// TestHomesLast: GPUs to which nobody would come back are given away first.
func TestHomesLast(t *testing.T) {
	in := compile(t, 4, packer.GPU{}, packtest.Even{1, 0.9}, packer.Task{ID: "x", Home: "b", MoveCost: 0.5}, packer.Task{ID: "y", Home: "c", MoveCost: 0.5})
	if got := in.HomesLast([]int{0, 1, 2, 3}); !slices.Equal(got, []int{0, 3, 1, 2}) {
		t.Errorf("%v, want b and c last", got)
	}
}
