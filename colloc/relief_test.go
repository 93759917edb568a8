package colloc_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestVerdictChanges checks that what a Verdict would have changed makes the task
// fit.
func TestVerdictChanges(t *testing.T) {
	p := shared(t)
	small, large, busy := seen(t, "small", 0.1, 0.05, profile.GiB), seen(t, "large", 0.1, 0.05, 20*profile.GiB), seen(t, "busy", 1, 0.9, 4*profile.GiB)
	hermit, strict := small, seen(t, "strict", 0.9, 0.9, profile.GiB)
	hermit.ID, hermit.Alone, strict.MaxSlowdown = "hermit", true, 1.01
	crowd := make([]colloc.Task, colloc.DefaultMaxSet)
	for i := range crowd {
		crowd[i] = small
		crowd[i].ID = strconv.Itoa(i)
	}
	for _, tt := range []struct {
		name string
		task colloc.Task
		gpu  colloc.GPU
		want []colloc.Relief // but for amounts
		lift func(task *colloc.Task, gpu *colloc.GPU, c []colloc.Relief)
	}{
		{"nothing", small, card(t, "g"), nil, nil},
		{
			"memory", large, card(t, "g", busy),
			[]colloc.Relief{{Kind: colloc.ReserveLess, Task: "large"}, {Kind: colloc.LargerGPU, Task: "large"}},
			func(task *colloc.Task, _ *colloc.GPU, c []colloc.Relief) { task.Reserved = c[0].Bytes },
		},
		{
			"a resident that is slowed down", busy, card(t, "g", strict),
			[]colloc.Relief{{Kind: colloc.AllowSlowdown, Task: "strict"}},
			func(task *colloc.Task, gpu *colloc.GPU, c []colloc.Relief) {
				gpu.Residents[0].MaxSlowdown, task.MaxSlowdown = c[0].Factor*1.001, 100
			},
		},
		{
			"the task alone", hermit, card(t, "g", small),
			[]colloc.Relief{{Kind: colloc.AllowSharing, Task: "hermit"}},
			func(task *colloc.Task, _ *colloc.GPU, _ []colloc.Relief) { task.Alone = false },
		},
		{
			"a resident alone", small, card(t, "g", hermit),
			[]colloc.Relief{{Kind: colloc.AllowSharing, Task: "hermit"}},
			func(_ *colloc.Task, gpu *colloc.GPU, _ []colloc.Relief) { gpu.Residents[0].Alone = false },
		},
		{"too many", small, card(t, "g", crowd...), []colloc.Relief{{Kind: colloc.LargerSets, Task: "small"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := p.Fit(tt.task, tt.gpu)
			if err != nil {
				t.Fatal(err)
			}
			got := v.Reliefs(tt.task, tt.gpu)
			var kinds []colloc.Relief
			for _, c := range got {
				kinds = append(kinds, colloc.Relief{Kind: c.Kind, Task: c.Task})
			}
			if diff := cmp.Diff(tt.want, kinds); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", v, diff)
			}
			if tt.lift == nil {
				return
			}
			tt.lift(&tt.task, &tt.gpu, got)
			if v, err = p.Fit(tt.task, tt.gpu); err != nil || !v.Fits {
				t.Errorf("after %+v: %v, %v", got, v, err)
			}
		})
	}
}
