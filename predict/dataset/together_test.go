package dataset_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/predict/dataset"
)

const togetherHeader = "model_a,model_b,solo_mem_used_mib_a,solo_mem_used_mib_b,pair_mem_used_mib\n"

func ExampleReadTogether() {
	rows, err := dataset.ReadTogether("pairs.csv", strings.NewReader(togetherHeader+"m,n,2000,3000,5200\nm,o,2000,,2500\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		fmt.Println(r.Groups, r.Observation.Solo, r.Observation.Together)
	}
	// Output:
	// [m n] 4.88 GiB 5.08 GiB
}

func TestTogetherFaults(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"columns", "model_a\nm\n", "pair_mem_used_mib"},
		{"negative", togetherHeader + "m,n,2000,-1,5200\n", "x.csv:2"},
	} {
		if _, err := dataset.ReadTogether("x.csv", strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}
