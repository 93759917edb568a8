package backlog

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/queue"
)

// TestPutMany: to write many tasks at once takes little more memory than they have, however new
// the file is, and the file has no more than it needs.
func TestPutMany(t *testing.T) {
	const tasks, size = 2000, 3000
	dir := t.TempDir()
	s, _, err := Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	env := []string{strings.Repeat("x", size)}
	entries := make([]*Entry, tasks)
	for i := range entries {
		entries[i] = &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: strconv.Itoa(i)}, Number: i + 1}, Env: env}}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.Put(entries); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 4*tasks*size {
		t.Errorf("%d bytes were made of %d", made, tasks*size)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 3*tasks*size {
			t.Errorf("%s: %v, %v", file, info.Size(), err)
		}
	}
}
