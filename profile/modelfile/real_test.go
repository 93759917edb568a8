package modelfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestRealFiles reads a folder of files of others, which COLLOC_REAL names, and
// prints by category how many were read with all counts, read with a stated
// unknown, and refused. A total that a file states and that the layers miss by more
// than one in a hundred, without an unknown, is a failure, and so is a panic.
//
//	COLLOC_REAL=folder go test ./profile/modelfile -run TestRealFiles -v
func TestRealFiles(t *testing.T) {
	root := os.Getenv("COLLOC_REAL")
	if root == "" {
		t.Skip("COLLOC_REAL names no folder of files")
	}
	type sums struct{ read, unknown, refused, wrong int }
	table := map[string]*sums{}
	var order []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Dir(path) == filepath.Clean(root) {
			return err
		}
		category, _, _ := strings.Cut(strings.TrimPrefix(path, filepath.Clean(root)+string(filepath.Separator)), string(filepath.Separator))
		s := table[category]
		if s == nil {
			s = &sums{}
			table[category] = s
			order = append(order, category)
		}
		f, err := ReadFile(path, nil)
		if err != nil {
			s.refused++
			return nil //nolint:nilerr // a refusal is counted
		}
		unknown := f.Model.Unknown() != 0
		if unknown {
			s.unknown++
		} else {
			s.read++
		}
		total, ok := f.TotalParams.Get()
		miss := total - f.Model.Params()
		if ok && max(miss, -miss) > total/100 && f.Model.Unknown()&profile.ParamCounts == 0 && !explained(f) {
			s.wrong++
			t.Errorf("%s: %d parameters, the file says %d: %v", path, f.Model.Params(), total, f.Warnings)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-16s %6s %8s %8s %6s", "category", "read", "unknown", "refused", "wrong")
	for _, category := range order {
		s := table[category]
		t.Logf("%-16s %6d %8d %8d %6d", category, s.read, s.unknown, s.refused, s.wrong)
	}
}

// explained says whether a warning tells why a stated total is another: elements
// that are no parameters.
func explained(f *File) bool {
	for _, w := range f.Warnings {
		if strings.Contains(w.Text, "no parameters") || strings.Contains(w.Text, "left out") {
			return true
		}
	}
	return false
}
