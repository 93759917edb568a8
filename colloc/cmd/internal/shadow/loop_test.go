package shadow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/shadow/journal"
)

// TestHalf: rounds of which only the use of GPUs is not known are written, and the reason said once.
func TestHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	o := Options{Journal: path, Interval: time.Millisecond, Bound: journalBound, Rounds: 4}
	looks := 0
	var said bytes.Buffer
	err := o.Run(t.Context(), func(context.Context) (*journal.Snapshot, error) {
		looks++
		if looks == 4 {
			return nil, errors.New("Slurm is down")
		}
		return &journal.Snapshot{At: time.Unix(int64(looks), 0)}, errors.New("Prometheus is down")
	}, cli.Streams{Out: io.Discard, Err: &said})
	if err == nil || err.Error() != "Slurm is down" {
		t.Errorf("the last round ended with %v", err)
	}
	rounds := 0
	if d, err := journal.Read(path, func(*journal.Snapshot) error { rounds++; return nil }); err != nil || rounds != 3 || d != (journal.Damage{}) {
		t.Errorf("%d rounds, %+v, %v, want 3", rounds, d, err)
	}
	if text := said.String(); strings.Count(text, "Prometheus is down") != 1 || strings.Contains(text, "Slurm is down") {
		t.Errorf("said %q", text)
	}
}
