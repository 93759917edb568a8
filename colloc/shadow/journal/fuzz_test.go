package journal

import (
	"strings"
	"testing"
)

// FuzzRead: no text stops the reader, and every round has a time.
func FuzzRead(f *testing.F) {
	f.Add(`{"format":"colloc shadow journal","version":1}
{"at":"2026-01-01T06:00:00Z","full":true,"gpus":[{"id":"g1/0","product":"V100"}],"jobs":[{"id":"1","submitted":"2026-01-01T06:00:00Z","gpus":1,"busy":0.2}]}
{"at":"2026-01-01T06:01:00Z","jobs":[{"id":"2","submitted":"2026-01-01T06:00:00Z","gpus":1}],"gone":["1"]}
`)
	f.Fuzz(func(t *testing.T, text string) {
		var d Damage
		_ = d.file(strings.NewReader(text), func(s *Snapshot) error { // what is no journal is an error
			if s.At.IsZero() {
				t.Fatal("a round without a time")
			}
			return nil
		})
	})
}
