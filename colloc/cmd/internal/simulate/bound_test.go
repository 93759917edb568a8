package simulate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/internal/race"
)

// TestProofs: a proof that is kept and holds is taken, with it the same is printed; one that
// was tampered with, or is none, is found anew.
func TestProofs(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine takes half a minute with the race detector")
	}
	dir := filepath.Join(t.TempDir(), "proofs")
	simulate := func(args ...string) string {
		var out bytes.Buffer
		args = append([]string{"-trace", write(t, "t.csv", inventedTrace), "-policies", "fifo,colloc", "-bound"}, args...)
		if err := run(t.Context(), args, &out, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := simulate()
	kept := func() (name, text string) {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v: want the proof of one day", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return files[0], string(data)
	}
	for _, tampered := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return s },
		func(s string) string { return `{"makespan_ns":9` + s[len(`{"makespan_ns":`):] },
		func(string) string { return "no proof" },
	} {
		if got := simulate("-proofs", dir); got != want {
			t.Errorf("printed with proofs:\n%s\nwithout:\n%s", got, want)
		}
		name, text := kept()
		if err := os.WriteFile(name, []byte(tampered(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name, _ := kept()
	if got := simulate("-proofs", dir); got != want {
		t.Errorf("printed after the proof was none:\n%s\nwithout:\n%s", got, want)
	}
	if data, err := os.ReadFile(name); err != nil || bytes.Equal(data, []byte("no proof")) {
		t.Errorf("%.20s, %v: want a new proof", data, err)
	}
}
