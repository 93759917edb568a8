package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds the program as a shell would, with the PATH of env, relative to
// dir.
func LookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(inFolder(dir, name))
	}
	search := ""
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			search = rest // the last one counts
		}
	}
	for _, folder := range filepath.SplitList(search) {
		path := filepath.Join(inFolder(dir, folder), name)
		if executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q is not in the PATH of the task", name)
}

func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("command %q: %w", path, errors.Unwrap(err))
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("command %q is not a program that may be executed", path)
	}
	return nil
}
