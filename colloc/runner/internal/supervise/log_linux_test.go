package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/colloc/profile"
)

// TestTrim writes far more than a log may take, with a look after each piece: the file
// never takes more room than the limit, its beginning and its end stay, and what is
// dropped adds up.
func TestTrim(t *testing.T) {
	const limit, piece, pieces = 1 << 20, 100_000, 200
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	trim := newTrimmer(path, limit)
	wrote := int64(0)
	for i := range pieces {
		n, err := log.Write(bytes.Repeat([]byte{byte('a' + i%26)}, piece))
		if err != nil {
			t.Fatal(err)
		}
		wrote += int64(n)
		if pause := trim.look(); pause != often {
			t.Errorf("after %d bytes more the next look is in %v", n, pause)
		}
		if pause := trim.look(); pause != rarely {
			t.Errorf("after no more the next look is in %v", pause)
		}
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); err != nil {
			t.Fatal(err)
		}
		if room := info.Blocks * 512; room > limit+4*block {
			t.Fatalf("after %d bytes the log takes %d, want %d at most", wrote, room, limit)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if trim.failed || !bytes.HasPrefix(text, bytes.Repeat([]byte("a"), piece)) || !bytes.HasSuffix(text, bytes.Repeat([]byte{'a' + (pieces-1)%26}, piece)) {
		t.Error("the beginning or the end is gone")
	}
	holes := int64(bytes.Count(text, []byte{0}))
	if dropped := trim.dropped.Load(); dropped < wrote-limit-piece || trim.upTo > 0 && dropped != holes || trim.upTo == 0 && dropped != wrote-int64(len(text)) {
		t.Errorf("%d of %d bytes are dropped; %d are NULs, %d are there", dropped, wrote, holes, len(text))
	}
	if newTrimmer(path, -profile.GiB) != nil || newTrimmer(path, 0) != nil {
		t.Error("no limit is one")
	}
}

// TestTrimNothing: a log that just takes its limit stays whole.
func TestTrimNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for size, trims := range map[int]bool{leastLimit: false, leastLimit + 1: true} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		trim := newTrimmer(path, leastLimit)
		if trim.look(); (trim.dropped.Load() > 0) != trims {
			t.Errorf("of %d bytes %d are dropped", size, trim.dropped.Load())
		}
	}
}
