package modelfile

import (
	"testing"

	"example.com/colloc/internal/golden"

	"example.com/colloc/profile"
)

// made are the files that the test helpers print.
var made = []struct {
	name string
	text func() string
}{
	{"resnet50.txt", func() string { return resnet(224, []int{3, 4, 6, 3}, true, 1000).torchsummary(-1, 3*224*224) }},
	{"vgg19_32.txt", func() string { return vgg19().torchsummary(32, 3*224*224) }},
	{"mobilenet_v2.txt", func() string { return mobilenetV2().torchsummary(-1, 3*224*224) }},
}

// TestMade checks that the committed files are what the helpers print, so that
// nobody edits them by hand; -update writes them.
func TestMade(t *testing.T) {
	for _, m := range made {
		golden.Check(t, m.name, m.text())
	}
}

// activationsOf is what a model is known to put out, or -1.
func activationsOf(m profile.Model) int64 {
	if n, known := m.Activations(); known {
		return n
	}
	return -1
}
