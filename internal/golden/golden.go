package golden

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//nolint:gochecknoglobals // flags are
var update = flag.Bool("update", false, "write the golden files anew")

// Check fails a test that got something else than the file of a name in testdata holds.
func Check(tb testing.TB, name, got string) {
	tb.Helper()
	check(tb, name, got, func(string) bool { return true })
}

// check is Check of the lines of the file that are asked for.
func check(tb testing.TB, name, got string, keep func(line string) bool) {
	tb.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatalf("%v (-update writes it)", err)
	}
	lines := slices.DeleteFunc(strings.Split(string(want), "\n"), func(line string) bool { return !keep(line) })
	if diff := cmp.Diff(lines, strings.Split(got, "\n")); diff != "" {
		tb.Errorf("%s (-want +got), -update if it is meant:\n%s", file, diff)
	}
}
