package taskfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/internal/jsondoc"
	"example.com/colloc/profile"
)

// slurmKeys are what colloc slurm had at the top of its file.
//
//nolint:gochecknoglobals // a read-only table
var slurmKeys = []string{"name", "models", "partition", "account", "time", "log_dir", "setup"}

// kind is an entry of the profile.json that sweeps kept before there were task
// files.
type kind struct {
	Kind    string           `json:"kind"`
	Profile *profile.Profile `json:"profile"`
	Solo    struct {
		Task     string                     `json:"task"`
		Watched  time.Duration              `json:"watched_ns"`
		Startup  profile.Opt[time.Duration] `json:"startup_ns"`
		Step     profile.Opt[time.Duration] `json:"step_ns"`
		Restarts int                        `json:"restarts"`
		Run      profile.Opt[time.Duration] `json:"run_ns"`
	} `json:"solo"`
}

// kinds reads such a file.
func (r *reader) kinds(parts []jsondoc.Part) error {
	for _, p := range parts {
		var k kind
		if err := r.Decode(p, &k); err != nil {
			return err
		}
		if k.Profile == nil {
			return r.ErrorAt(p.Offset, errors.New("an entry without a profile"))
		}
		t := Task{ID: k.Kind, Spec: k.Profile.Spec, Solo: Observe(k.Profile)}
		if s := t.Solo; s != nil {
			s.Run, s.Watched, s.Epochs = k.Solo.Task, Duration(k.Solo.Watched), k.Solo.Restarts
			s.Startup, s.CycleTime, s.RunTime = durations(k.Solo.Startup), durations(k.Solo.Step), durations(k.Solo.Run)
		}
		if err := r.add(p.Offset, t); err != nil {
			return err
		}
	}
	return nil
}

// durations is an Opt of the other type; what is not more than 0 is not known.
func durations(o profile.Opt[time.Duration]) profile.Opt[Duration] {
	if d, ok := o.Get(); ok && d > 0 {
		return profile.Some(Duration(d))
	}
	return profile.Opt[Duration]{}
}

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
