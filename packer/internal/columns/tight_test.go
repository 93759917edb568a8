package columns

import (
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/catalogue"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
)

// TestTightFromAPlan: a plan to
// begin with makes the bound no looser.
func TestTightFromAPlan(t *testing.T) {
	for _, tasks := range []int{36, 42, 48, 54, 60} {
		p := packtest.BenchProblem(packtest.BenchModel(t, "random", tasks), tasks/3)
		p.Limits.MaxSet = 3
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		e, ty := instance.NewEvaluator(d.Instance), instance.NewTypes(d.Instance, false)
		cat, err := catalogue.New(t.Context(), e, ty)
		if err != nil {
			t.Fatal(err)
		}
		greedy, err := catalogue.Greedy(t.Context(), cat)
		if err != nil {
			t.Fatal(err)
		}
		var bounds [2]int64
		for n, begin := range []*instance.Plan{instance.NewPlan(d.Instance), greedy} {
			g, err := New(t.Context(), e, cat, begin, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			g.Bounds(t.Context())
			bounds[n] = g.bound
		}
		if most := int64(10 * instance.Quarters * tasks); bounds[1] > bounds[0]+most || bounds[1] < bounds[0]-most {
			t.Errorf("%d tasks: the bound is %d quarters, from a plan on %d", tasks, bounds[0], bounds[1])
		}
	}
}
