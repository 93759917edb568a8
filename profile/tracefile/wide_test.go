package tracefile

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestUnknownFormats have the name of what is unknown.
func TestUnknownFormats(t *testing.T) {
	for _, f := range []Format{-1, Format(formats), 99} {
		if got, want := f.String(), UnknownFormat.String(); got != want {
			t.Errorf("format %d is %q, want %q", int(f), got, want)
		}
	}
}

// TestWideLog: a log in UTF-16 is read to its end.
func TestWideLog(t *testing.T) {
	const rows = 2000
	log := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune("# gpu sm\n" + strings.Repeat("0 50\n", rows))) {
		log = append(log, byte(unit), byte(unit>>8))
	}
	if f, err := Read(bytes.NewReader(log), nil); err != nil || len(f.Traces) != 1 || len(f.Traces[0].Samples) != rows {
		t.Errorf("%+v, %v; want %d samples", f, err, rows)
	}
}

// TestReadFileCloses reads a log often; no file stays open.
func TestReadFileCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("# gpu sm\n0 50\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("only Linux tells what is open: ", err)
		}
		return len(files)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector closes files, too
	before := open()
	for range 100 {
		if _, err := ReadFile(path, nil); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+50 {
		t.Errorf("%d files were open, now %d", before, after)
	}
}
