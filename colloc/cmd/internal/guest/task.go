package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/station/api"
)

// Here says where a task runs that is submitted from here: this folder, environment and
// umask.
func Here(t *api.Task) (err error) {
	t.Dir, err = os.Getwd()
	t.Env, t.Umask = os.Environ(), umask()
	return err
}

// Found reports a program that is not there while somebody looks.
func Found(name string, shell bool) error {
	if shell || name == "burn" {
		return nil
	}
	if _, err := exec.LookPath(name); err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("the command %q may not be executed: chmod +x makes it a program, or name its interpreter", name)
		}
		return fmt.Errorf("the command %q does not exist: %w; with -shell a shell reads the command", name, errors.Unwrap(err))
	}
	return nil
}

// KindOf names the program and the script of a command, with the place of the script:
// others in other folders may have the same name. It is empty where nothing tells.
func KindOf(command []string, dir string, shell bool) string {
	if shell {
		return ""
	}
	words := strings.Fields(grammar.KindOf(command))
	words[0] = filepath.Base(words[0])
	if last := len(words) - 1; last > 0 && words[1] != "-m" {
		path := words[last]
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Stat(path); err == nil {
			words[last] = path
		}
	}
	kind := strings.Join(words, " ")
	if len(kind) > api.MaxName || slices.ContainsFunc([]rune(kind), func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return kind
}
