package deploy_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unpack reads an archive.
func unpack(t *testing.T, from []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(from)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// The image is an archive as docker save writes them, whose layer is the program alone and
// as its configuration says, and the same each time.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "collocd")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var texts [2][]byte
	for i := range texts {
		out := filepath.Join(dir, "image.tar")
		c := exec.Command("./image", out, "registry.example/collocd:v1")
		c.Env = append(os.Environ(), "COLLOCD="+program)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		var err error
		if texts[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the second image is another")
	}
	image := unpack(t, texts[0])
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(image["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 || manifest[0].RepoTags[0] != "registry.example/collocd:v1" {
		t.Fatalf("%v: %s", err, image["manifest.json"])
	}
	layer := image[manifest[0].Layers[0]]
	var config struct {
		OS     string
		Config struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			Diffs []string `json:"diff_ids"`
		}
	}
	sum := sha256.Sum256(layer)
	if err := json.Unmarshal(image[manifest[0].Config], &config); err != nil || config.OS != "linux" || config.Config.User != "65532:65532" ||
		len(config.RootFS.Diffs) != 1 || config.RootFS.Diffs[0] != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("%v: %+v", err, config)
	}
	files := unpack(t, layer)
	if len(files) != 1 || string(files["collocd"]) != "a program" || config.Config.Entrypoint[0] != "/collocd" {
		t.Errorf("the layer has %d files, and %v is started", len(files), config.Config.Entrypoint)
	}
}

// One command gives every name of ours another domain, in code, manifests and docs alike.
func TestRename(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"colloc/kube", "docs/howto"} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join("../../..", name))); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command(filepath.Join(root, "colloc/kube/deploy/rename"), "gpu.acme.org").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	old, changed := regexp.MustCompile(`colloc\\{0,4}\.example\\{0,4}\.com`), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "rename" || d.Name() == "scripts_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if at := old.FindIndex(text); at != nil {
			t.Errorf("%s: %s", path, text[max(0, at[0]-40):at[1]])
		}
		changed += strings.Count(string(text), "gpu.acme.org") + strings.Count(string(text), `gpu\.acme\.org`)
		return err
	})
	if err != nil || changed < 60 {
		t.Errorf("%d names were changed; %v", changed, err)
	}
	for _, bad := range []string{"", "Not.A.Domain", "nodots", "a b.c"} {
		if err := exec.Command(filepath.Join(root, "colloc/kube/deploy/rename"), bad).Run(); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
