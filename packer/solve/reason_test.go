package solve

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

func TestReasons(t *testing.T) {
	const gib = profile.GiB
	good := packtest.Even{1, 0.9}
	none := profile.Some(0.0)
	for _, test := range []struct {
		name   string
		tasks  []packer.Task
		gpus   []packer.GPU
		model  packer.Model
		limits packer.Limits
		want   []packer.Reason // without the texts, Memory and Largest
		text   string          // part of the first reason's text
	}{
		{
			name: "larger than every GPU", tasks: []packer.Task{{ID: "a", Memory: 12 * gib}}, gpus: []packer.GPU{{ID: "g", Memory: 10 * gib}, {ID: "h", Memory: 8 * gib}},
			want: []packer.Reason{{ID: "a", Code: packer.TooLarge, Short: 2 * gib}},
			text: "a waits: it needs 12 GiB and the largest GPU offers 10 GiB. A GPU that offers 2 GiB more, or a reservation of at most 10 GiB, would place it.",
		},
		{
			name: "no GPU", tasks: []packer.Task{{ID: "a", Memory: gib}},
			want: []packer.Reason{{ID: "a", Code: packer.NoGPU, GPUs: 1}}, text: "there is no GPU. One with 1 GiB would run it.",
		},
		{
			name: "GPUs enough", tasks: []packer.Task{{ID: "a"}, {ID: "b"}}, gpus: []packer.GPU{{ID: "g", Memory: gib}, {ID: "h", Memory: gib}},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.OwnGPU, Partner: "b", Shared: 1.8, Apart: 2},
				{ID: "b", Placed: true, Code: packer.OwnGPU, Partner: "a", Shared: 1.8, Apart: 2},
			},
			text: "a runs alone: there are GPUs enough; with b on one GPU both would do 1.8 instead of 2.",
		},
		{
			name: "memory", tasks: []packer.Task{{ID: "a", Memory: 6 * gib, Weight: 2}, {ID: "b", Memory: 6 * gib}}, gpus: []packer.GPU{{ID: "g", Memory: 10 * gib}},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.MemoryLimit, Partner: "b", Short: 2 * gib},
				{ID: "b", Code: packer.GPUsTaken, Sharing: packer.MemoryLimit, Partner: "a", Short: 2 * gib, GPUs: 1},
			},
			text: "with b, its best partner, it would be 2 GiB short of memory",
		},
		{
			name: "speed", tasks: []packer.Task{{ID: "a", MinSpeed: 0.95, Weight: 2}, {ID: "b"}}, gpus: []packer.GPU{{ID: "g", Memory: gib}},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.SpeedLimit, Partner: "b", Slow: "a", Speed: 0.9, Limit: 0.95},
				{ID: "b", Code: packer.GPUsTaken, Sharing: packer.SpeedLimit, Partner: "a", Slow: "a", Speed: 0.9, Limit: 0.95, GPUs: 1},
			},
			text: "with b, its best partner, the speed of a would be 0.9, below its limit 0.95; a limit of 0.9 would do",
		},
		{
			name: "no gain", tasks: []packer.Task{{ID: "a", Weight: 2}, {ID: "b", Weight: 2}}, gpus: []packer.GPU{{ID: "g", Memory: gib}}, model: packtest.Even{1, 0.25},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.NoGain, Partner: "b", Shared: 1, Apart: 2},
				{ID: "b", Code: packer.GPUsTaken, Sharing: packer.NoGain, Partner: "a", Shared: 1, Apart: 2, GPUs: 1},
			},
			text: "with b, its best partner, the GPU would do 1 instead of 2",
		},
		{
			name: "gain too small", tasks: []packer.Task{{ID: "a"}, {ID: "b"}}, gpus: []packer.GPU{{ID: "g", Memory: gib}}, limits: packer.Limits{MaxSet: 2, MinGain: 0.85},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.NoGain, Partner: "b", Shared: 1.8, Apart: 1},
				{ID: "b", Code: packer.GPUsTaken, Sharing: packer.NoGain, Partner: "a", Shared: 1.8, Apart: 1, GPUs: 1},
			},
		},
		{
			name: "must be alone", tasks: []packer.Task{{ID: "a", Alone: true, Weight: 3}, {ID: "b"}}, gpus: []packer.GPU{{ID: "g", Memory: gib}},
			want: []packer.Reason{
				{ID: "a", Placed: true, Code: packer.MustBeAlone},
				{ID: "b", Code: packer.GPUsTaken, Sharing: packer.NoPartner, GPUs: 1},
			},
			text: "it must not share",
		},
		{
			name: "sharing off", tasks: []packer.Task{{ID: "a"}, {ID: "b"}}, limits: packer.Limits{MaxSet: 1}, gpus: []packer.GPU{{ID: "g", Memory: gib}, {ID: "h", Memory: gib}},
			want: []packer.Reason{{ID: "a", Placed: true, Code: packer.SetFull, Partner: "b"}, {ID: "b", Placed: true, Code: packer.SetFull, Partner: "a"}},
		},
		{
			name: "no partner", tasks: []packer.Task{{ID: "a"}}, gpus: []packer.GPU{{ID: "g", Memory: gib}},
			want: []packer.Reason{{ID: "a", Placed: true, Code: packer.NoPartner}}, text: "there is no other task",
		},
		{
			name: "all seats taken", tasks: []packer.Task{{ID: "a"}, {ID: "b"}, {ID: "c", Weight: 0.5}}, gpus: []packer.GPU{{ID: "g", Memory: gib}},
			want: []packer.Reason{{ID: "c", Code: packer.GPUsTaken, Sharing: packer.NoPartner, Partner: "a", GPUs: 1}}, text: "do more work elsewhere, a for one. 1 more GPU would run it.",
		},
		{
			name: "too slow alone", tasks: []packer.Task{{ID: "a", MinSpeed: 0.9}}, gpus: []packer.GPU{{ID: "g", Memory: gib}}, model: packtest.Even{0.5},
			want: []packer.Reason{{ID: "a", Code: packer.SpeedLimit, Slow: "a", Speed: 0.5, Limit: 0.9}}, text: "even alone it would run at speed 0.5",
		},
		{
			name: "resident alone", tasks: []packer.Task{{ID: "a"}}, gpus: []packer.GPU{{ID: "g", Memory: gib, Residents: []packer.Task{{ID: "r", Alone: true}}}},
			want: []packer.Reason{{ID: "a", Code: packer.GPUsTaken, Sharing: packer.MustBeAlone, Partner: "r", GPUs: 1}}, text: "r must not share",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &packer.Problem{Tasks: test.tasks, GPUs: test.gpus, Model: test.model, Limits: test.limits}
			p.Limits.Headroom, p.Limits.MaxSet = none, cmp.Or(p.Limits.MaxSet, 2)
			if p.Model == nil {
				p.Model = good
			}
			for _, m := range methods {
				s := packtest.Solve(t, m, p)
				if len(s.Reasons) != len(test.want) {
					t.Fatalf("%T: got %v", m, s.Reasons)
				}
				for i, got := range s.Reasons {
					want := test.want[i]
					got.Task, got.Memory, got.Largest = 0, 0, 0
					got.Shared, got.Apart = roundTo3(got.Shared), roundTo3(got.Apart)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%T:\n got %+v\nwant %+v", m, got, want)
					}
				}
				if text := s.Reasons[0].String(); !strings.Contains(text, test.text) {
					t.Errorf("%T: %q does not say %q", m, text, test.text)
				}
			}
		})
	}
}

func roundTo3(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

func TestReasonCodeText(t *testing.T) {
	for c := packer.NoGPU; c <= packer.UnknownNeed; c++ {
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back packer.ReasonCode
		if err := json.Unmarshal(data, &back); err != nil || back != c {
			t.Errorf("%v: read back %v, %v", c, back, err)
		}
		if strings.HasPrefix(c.String(), "reason(") {
			t.Errorf("code %d has no name", c)
		}
	}
	if got := packer.ReasonCode(99).String(); got != "reason(99)" {
		t.Errorf("got %q", got)
	}
	var c packer.ReasonCode
	if err := c.UnmarshalText([]byte("nonsense")); err == nil {
		t.Error("nonsense is a code")
	}
}
