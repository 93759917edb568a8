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

// Elsewhere reports whether a command is found by a shell, or by the station whose GPUs are fake.
func Elsewhere(name string, shell bool) bool { return shell || name == "burn" }

// Found reports a program that is not there while somebody looks.
func Found(name string) error {
	if _, err := exec.LookPath(name); err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("the command %q may not be executed: chmod +x makes it a program, or name its interpreter", name)
		}
		return fmt.Errorf("the command %q does not exist: %w; with -shell a shell reads the command", name, errors.Unwrap(err))
	}
	return nil
}

// large are the arguments of a command that say how much memory it takes: those of the size of its batches, of its
// model and of its numbers, as -batch-size 32, --model=large or trainer.precision=bf16.
func large(command []string) (args []string) {
	sizes := []string{
		"batch", "bs", "bsz", "model", "arch", "width", "depth", "layer", "hidden", "dim", "seq", "length", "size", "channel", "head", "vocab", "embed",
		"resolution", "image", "img", "crop", "precision", "dtype", "fp16", "bf16", "amp", "mem", "memory", "grow", "lora", "rank", "accum", "checkpointing",
	}
	for i := 1; i < len(command); i++ {
		name, value, given := strings.Cut(command[i], "=")
		flag := strings.HasPrefix(name, "-")
		if !flag && !given {
			continue
		}
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.+", r) })
		if !slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(sizes, strings.TrimSuffix(w, "s")) || slices.Contains(sizes, w)
		}) {
			continue
		}
		if !given && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			value = command[i+1]
		}
		args = append(args, strings.TrimLeft(name, "-")+"="+value)
	}
	return args
}

// KindOf names the program and the script of a command, with the place of the script and what it is told of
// sizes: others in other folders may have the same name. It is empty where nothing tells.
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
	kind := strings.Join(append(words, large(command)...), " ")
	if len(kind) > api.MaxName || slices.ContainsFunc([]rune(kind), func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return kind
}
