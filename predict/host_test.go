package predict_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// A process that only opened a CUDA context tells what this machine costs.
func ExampleHostFromProbe() {
	host, err := predict.HostFromProbe("node7", "2.4.1+cu121", 4*profile.MiB, 524*profile.MiB)
	fmt.Printf("%s: %v %v\n", host.Name, host.Context, err)
	// Output:
	// node7 2.4.1+cu121: 520 MiB <nil>
}

func TestHostFromProbeFaults(t *testing.T) {
	for _, c := range []struct {
		name, stack   string
		before, after profile.Bytes
	}{
		{"no stack", " ", 0, profile.GiB},
		{"fell", "2.4", 2 * profile.GiB, profile.GiB},
		{"same", "2.4", profile.GiB, profile.GiB},
		{"negative", "2.4", -1, profile.GiB},
		{"too much", "2.4", 0, math.MaxInt64},
	} {
		if h, err := predict.HostFromProbe("n", c.stack, c.before, c.after); err == nil {
			t.Errorf("%s: %+v, want an error", c.name, h)
		}
	}
}
