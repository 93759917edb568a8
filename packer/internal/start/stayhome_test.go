package start

import (
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestStayHomeSharesOnlyForGain: of two tasks at home on one GPU that do less
// together than one of them alone, one waits.
func TestStayHomeSharesOnlyForGain(t *testing.T) {
	for _, test := range []struct {
		name  string
		speed float64
		both  bool
	}{
		{"a gain", 0.6, true},
		{"a loss", 0.4, false},
		{"neither", 0.5, false},
	} {
		p := &packer.Problem{Model: packtest.Duo{"ab": test.speed}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}}
		p.Tasks = []packer.Task{{ID: "a", Home: "g"}, {ID: "b", Home: "g"}}
		in := packtest.NewInstance(t, p)
		pl, err := StayHome(in, instance.NewEvaluator(in))
		if err != nil {
			t.Fatal(err)
		}
		if pl.Gpu[0] != 0 || (pl.Gpu[1] == 0) != test.both {
			t.Errorf("%s: GPUs %v, want both at home: %v", test.name, pl.Gpu, test.both)
		}
	}
}
