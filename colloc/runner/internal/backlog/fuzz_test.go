package backlog

import (
	"bytes"
	"testing"

	"example.com/colloc/colloc/runner/queue"
)

// FuzzRecord reads records and meta pages as a damaged queue file may hold them.
func FuzzRecord(f *testing.F) {
	good, err := seal(new(bytes.Buffer), &Saved{Record: queue.Record{Task: queue.Task{ID: "a", Command: []string{"true"}}, Number: 1, State: queue.Running}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("00000000"))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var s Saved
		if err := unseal(value, &s); err == nil {
			again, err := seal(new(bytes.Buffer), &s)
			if err != nil {
				t.Fatal(err)
			}
			if err := unseal(again, &s); err != nil {
				t.Errorf("what was read and written again is not readable: %v", err)
			}
		}
		page := make([]byte, 4096)
		copy(page, value)
		if length, _, ok := readMeta(page); ok && length < 0 {
			t.Errorf("a file of %d bytes", length)
		}
	})
}
