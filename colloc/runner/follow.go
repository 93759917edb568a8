package runner

import (
	"fmt"

	"example.com/colloc/colloc/runner/internal/progress"
)

// Reading is what is known of a program's progress.
type Reading = progress.Reading

// Follower reads how far a program is that no Runner started: from the file that
// its output goes to, or from one that it writes its steps to. It is safe for
// concurrent use.
type Follower struct{ follower progress.Follower }

// Follow returns a Follower of the file at path. pattern finds steps in the lines
// of an output, as [Progress] says; without one the file holds the steps alone, as
// that of COLLOC_PROGRESS does.
func Follow(path, pattern string) (*Follower, error) {
	compiled, err := progress.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	f := &Follower{}
	f.follower.Begin(compiled, path, path)
	return f, nil
}

// Read returns what is known by now; end says that nothing more comes, so that an
// unfinished line counts. What cannot be read is no progress. O(what is new).
func (f *Follower) Read(end bool) Reading { return f.follower.Follow(end) }
