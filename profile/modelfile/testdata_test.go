package modelfile

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

var update = flag.Bool("update", false, "write the made files again")

// made are the files that the test helpers print.
var made = []struct {
	path string
	text func() string
}{
	{"testdata/resnet50.txt", func() string { return resnet(224, []int{3, 4, 6, 3}, true, 1000).torchsummary(-1, 3*224*224) }},
	{"testdata/vgg19_32.txt", func() string { return vgg19().torchsummary(32, 3*224*224) }},
	{"testdata/mobilenet_v2.txt", func() string { return mobilenetV2().torchsummary(-1, 3*224*224) }},
}

// TestMade checks that the committed files are what the helpers print, so that
// nobody edits them by hand; -update writes them.
func TestMade(t *testing.T) {
	for _, m := range made {
		if *update {
			if err := os.WriteFile(m.path, []byte(m.text()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(m.path)
		if err != nil {
			t.Fatalf("%v; make it with: go test ./profile/modelfile -run TestMade -update", err)
		}
		if diff := cmp.Diff(m.text(), string(got)); diff != "" {
			t.Errorf("%s is not what the test prints (-made +file):\n%s", m.path, diff)
		}
	}
}

// activationsOf is what a model is known to put out, or -1.
func activationsOf(m profile.Model) int64 {
	if n, known := m.Activations(); known {
		return n
	}
	return -1
}
