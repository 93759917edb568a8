package simulate

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/colloc/sim/policy"
)

// TestPublished replays the quickest of the published experiments as the command
// does; the others are in colloc/sim/policy.
func TestPublished(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("set COLLOC_DATA to the folder with the measured data to run this test")
	}
	dir = filepath.Join(dir, "traces")
	rows, err := replayMuri(t.Context(), dir, "trace3", "Tiresias_L", policy.LAS{})
	if err != nil {
		t.Fatal(err)
	}
	carma, err := replayCARMA(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if rows = append(rows, carma...); len(rows) != 4 {
		t.Fatalf("%d rows, want 4", len(rows))
	}
	for _, r := range rows {
		if math.Abs(r.ours/r.published-1) > 0.01 {
			t.Errorf("%+v is off by more than 1 %%", r)
		}
	}
	if _, err := replayMuri(t.Context(), dir, "trace3", "nobody", policy.LAS{}); err == nil {
		t.Error("a policy without published figures is replayed")
	}
}
