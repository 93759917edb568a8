package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"example.com/colloc/internal/regular"
)

// Damage counts what cannot be read.
type Damage struct {
	// Lines are damaged or cut off; Rounds were left out after them, until one that holds all.
	Lines  int `json:"lines"`
	Rounds int `json:"rounds"`
}

// Read calls each for every round of a journal, the oldest first, and of what it was
// before. The Snapshot is valid during the call only. An error of each ends it. It does not
// wait for a process that writes.
func Read(path string, each func(*Snapshot) error) (Damage, error) {
	var d Damage
	found := false
	for _, name := range []string{path + old, path} {
		f, _, err := regular.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			found = true
			err = errors.Join(d.file(f, each), f.Close())
		}
		if err != nil {
			return d, fmt.Errorf("journal: %s: %w", name, err)
		}
	}
	if !found {
		return d, fmt.Errorf("journal: %s: %w", path, fs.ErrNotExist)
	}
	return d, nil
}

// longest is the longest line in bytes.
const longest = 16 << 20

// file reads one file.
func (d *Damage) file(r io.Reader, each func(*Snapshot) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	now := state{jobs: map[string]Job{}}
	for n := 0; ; n++ {
		line, err := regular.Line(in, longest)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 || line[len(line)-1] != '\n' {
			if len(line) > 0 {
				d.Lines++ // cut off, or being written
			}
			return nil
		}
		if n == 0 {
			if err := checkHeader(line); err != nil {
				return err
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || e.At.IsZero() {
			d.Lines++
			now.lost = true
			continue
		}
		if now.lost && !e.Full {
			d.Rounds++
			continue
		}
		if err := each(now.take(&e)); err != nil {
			return err
		}
	}
}

// state is what changes add up to.
type state struct {
	lost bool
	gpus []GPU
	jobs map[string]Job
	ids  []string // in the order in which they came
}

// take applies a line.
func (s *state) take(e *entry) *Snapshot {
	if e.Full {
		*s = state{jobs: map[string]Job{}}
	}
	if e.GPUs != nil {
		s.gpus = e.GPUs
	}
	for _, j := range e.Jobs {
		if _, ok := s.jobs[j.ID]; !ok {
			s.ids = append(s.ids, j.ID)
		}
		s.jobs[j.ID] = j
	}
	for _, id := range e.Gone {
		delete(s.jobs, id)
	}
	s.ids = slices.DeleteFunc(s.ids, func(id string) bool { _, ok := s.jobs[id]; return !ok })
	out := &Snapshot{At: e.At, GPUs: s.gpus, Jobs: make([]Job, 0, len(s.ids))}
	for _, id := range s.ids {
		out.Jobs = append(out.Jobs, s.jobs[id])
	}
	return out
}
