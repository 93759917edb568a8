package burn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelative: what a burner is told is right in its own folder, too.
func TestRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("gpus.json", []byte(`{"gpus": [{"name": "A100"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := OpenGPUs("gpus.json", "fake")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Env() {
		if _, path, _ := strings.Cut(v, "="); !filepath.IsAbs(path) {
			t.Errorf("%s is relative", v)
		}
	}
}
