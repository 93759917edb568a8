package slurm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fake is a [Runner] without a cluster: it answers each command with what the
// test laid down for its first words, and keeps what was asked.
type fake struct {
	mu      sync.Mutex
	answers map[string][]Output // by the longest prefix of the arguments; the last answer repeats
	err     error
	ran     []Command
}

func (f *fake) Run(_ context.Context, c Command) (Output, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = append(f.ran, c)
	if f.err != nil {
		return Output{Code: -1}, f.err
	}
	key, line := "", strings.Join(c.Args, " ")
	for k := range f.answers {
		if strings.HasPrefix(line, k) && len(k) > len(key) {
			key = k
		}
	}
	list := f.answers[key]
	if len(list) == 0 {
		return Output{Stderr: []byte(c.Args[0] + ": error: no answer laid down for " + line), Code: 1}, nil
	}
	if len(list) > 1 {
		f.answers[key] = list[1:]
	}
	return list[0], nil
}

// commands returns what was run, one line each.
func (f *fake) commands() []string {
	var lines []string
	for _, c := range f.ran {
		lines = append(lines, c.String())
	}
	return lines
}

func prints(s string) Output { return Output{Stdout: []byte(s)} }

func answer(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("site", "testdata", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
