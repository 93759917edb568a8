package modelfile

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

var statedWork = regexp.MustCompile(`(?m)^Total mult-adds(?: \((\w+)\))?: ([\d.,]+).*$`)

// TestRealWork reads the outputs of torchinfo in COLLOC_REAL with the stated
// multiply-adds hidden, and holds what follows from the leaves against them. Files
// whose rows are cut off are not counted.
//
//	COLLOC_REAL=folder go test ./profile/modelfile -run TestRealWork -v
func TestRealWork(t *testing.T) {
	root := os.Getenv("COLLOC_REAL")
	if root == "" {
		t.Skip("COLLOC_REAL names no folder of files")
	}
	paths, err := filepath.Glob(filepath.Join(root, "*", "torchinfo*"))
	if err != nil {
		t.Fatal(err)
	}
	right, all := 0, 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := statedWork.FindSubmatch(data)
		if m == nil {
			continue
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(string(m[2]), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		unit := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Units.MEGABYTES": 1e6}[string(m[1])]
		want := n * unit
		f, err := readAs(TorchInfo)(strings.NewReader(strings.Replace(string(data), string(m[0]), "", 1)), nil)
		if err != nil || cutOff(f) {
			t.Logf("not counted: %s: %v", filepath.Base(path), err)
			continue
		}
		all++
		macs, known := f.Model.MACs()
		got := float64(macs) * float64(f.BatchSize.Or(1))
		_, decimals, _ := strings.Cut(string(m[2]), ".")
		rounding := 0.5 * math.Pow(10, -float64(len(decimals))) * unit
		if known && math.Abs(got-want) <= 0.02*want+rounding {
			right++
			continue
		}
		t.Logf("%s: %.0f (known: %v), stated %.0f", filepath.Base(path), got, known, want)
		if testing.Verbose() && os.Getenv("COLLOC_LAYERS") != "" {
			for _, l := range f.Model.Layers {
				t.Logf("   %+v", l)
			}
		}
	}
	t.Logf("%d of %d within 2 %%", right, all)
	if right*100 < 95*all {
		t.Errorf("%d of %d within 2 %%, want 95 in 100", right, all)
	}
}

// cutOff says whether rows at the depth limit hold others that are not shown.
func cutOff(f *File) bool {
	for _, w := range f.Warnings {
		if strings.Contains(w.Text, "cut off") {
			return true
		}
	}
	return f.Model.Unknown()&profile.ParamCounts != 0
}
