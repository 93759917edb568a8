package taskfile

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"example.com/colloc/profile"
)

// slurmKeys are what colloc slurm had at the top of its file.
//
//nolint:gochecknoglobals // a read-only table
var slurmKeys = []string{"name", "models", "partition", "account", "time", "log_dir", "setup"}

// spec reads a file that is one specification.
func (r *reader) spec() error {
	var s profile.Spec
	if err := r.Decode(r.Whole(), &s); err != nil {
		return err
	}
	id := s.Model.Name
	if id == "" {
		base := path.Base(filepath.ToSlash(r.Name))
		id = strings.TrimSuffix(base, path.Ext(base))
	}
	return r.add(0, Task{ID: id, Spec: s})
}

// section gathers the settings of a tool.
func (r *reader) section(tool string, settings map[string]json.RawMessage) error {
	if len(settings) == 0 {
		return nil
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("taskfile: %s: %w", tool, err)
	}
	r.file.Slurm = text
	return nil
}
