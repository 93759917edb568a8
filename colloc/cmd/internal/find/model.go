package find

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// Description is what was found of a task.
type Description struct {
	// Spec has no layers if nothing was found.
	Spec profile.Spec
	// Used is the file that it rests on; empty if there is none. Why says why that
	// one.
	Used, Why string
	// Failed are files that might have told, and why they do not.
	Failed []string
}

// ranks are the kinds of file that describe a task, the best first: those that tell
// everything, then shapes, then weights alone, then what was seen of it. The kinds
// behind that of checkpoints describe no model.
var ranks = []struct {
	suffix, why string
}{
	{".json", "a specification: it tells layers, outputs and training"},
	{"config.json", "a model's configuration: layers and outputs follow from it"},
	{".onnx", "a graph: it tells layers and outputs"},
	{".keras", "a Keras model: it tells layers and outputs"},
	{".txt", "a summary of a model: it tells layers, perhaps outputs"},
	{".safetensors.index.json", checkpoint},
	{".safetensors", checkpoint},
	{".gguf", checkpoint},
	{".gz", "a trace"},
	{".csv", "a log"},
	{".log", "a log"},
	{".xml", "a log"},
	{".prom", "a log"},
	{".pt", "weights of PyTorch"},
	{".pth", "weights of PyTorch"},
	{".bin", "weights of PyTorch"},
	{".ckpt", "weights of PyTorch"},
	{".h5", "weights of Keras"},
}

const checkpoint = "a checkpoint: it tells weights, not outputs"

// describes reports whether files of a rank may describe a model.
func describes(rank int) bool { return rank <= rankOf("x.gguf") }

// Bounds of a search.
const (
	maxEntries = 4096    // files looked at
	maxTries   = 32      // files read
	maxText    = 4 << 20 // bytes of a summary
)

// same reports whether two paths name one file.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// candidate is a file that may describe a task.
type candidate struct {
	path string
	rank int
	deep int   // folders below the one that was named
	time int64 // of change
	size int64
}

// rankOf is the place of a file among ranks; -1 if it is none of them.
func rankOf(path string) int {
	name := strings.ToLower(filepath.Base(path))
	if name == "config.json" {
		return 1
	}
	best := -1
	for i, r := range ranks { // the longest suffix, as .safetensors.index.json is a .json
		if i != 1 && strings.HasSuffix(name, r.suffix) && (best < 0 || len(r.suffix) > len(ranks[best].suffix)) {
			best = i
		}
	}
	return best
}

// IsTask reports whether a file begins like a task file or a specification.
func IsTask(path string) bool {
	f, err := regular.Named(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReaderSize(f, taskfile.SniffLength).Peek(taskfile.SniffLength) // fails for short ones
	return taskfile.Sniff(head)
}

// list lists what may describe a task at a path: the file itself, or those in a
// folder and the folders in it, not deeper.
func list(path string, depth int) []candidate {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if info.Mode().IsRegular() {
		if rank := rankOf(path); rank >= 0 {
			return []candidate{{path, rank, depth, info.ModTime().UnixNano(), info.Size()}}
		}
		return nil
	}
	if !info.IsDir() || depth > 1 {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var all []candidate
	for _, e := range entries[:min(len(entries), maxEntries)] {
		if !strings.HasPrefix(e.Name(), ".") && len(all) < maxEntries {
			all = append(all, list(filepath.Join(path, e.Name()), depth+1)...)
		}
	}
	return all
}

// candidates are the files that may describe a task, the best first: of equals those
// that lie higher, then the newest.
func candidates(paths []string) []candidate {
	var all []candidate
	for _, path := range paths {
		all = append(all, list(path, 0)...)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.deep, b.deep), cmp.Compare(b.time, a.time), strings.Compare(a.path, b.path))
	})
	return all
}

// Named reads the file that somebody names, whatever its name is, or finds the best
// description in the folder of that name.
func Named(path string, batch int, o *modelfile.Options) Description {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Model([]string{path}, "", batch, o)
	}
	d := Description{Spec: profile.Spec{Training: profile.Training{BatchSize: batch}}}
	spec, err := Read(path, batch, o)
	if err == nil && len(spec.Model.Layers) == 0 {
		err = fmt.Errorf("%s: no layers", path)
	}
	if err != nil {
		d.Failed = []string{err.Error()}
		return d
	}
	d.Spec, d.Used, d.Why = spec, path, "it was named"
	return d
}

// Model finds the best description among files and folders but skip. Of files that
// tell equally much the newest is taken. batch is that of the task.
func Model(paths []string, skip string, batch int, o *modelfile.Options) Description {
	all := candidates(paths)
	d := Description{Spec: profile.Spec{Training: profile.Training{BatchSize: batch}}}
	tries := 0
	for _, c := range all {
		if !describes(c.rank) || same(c.path, skip) || c.rank == 0 && !IsTask(c.path) || ranks[c.rank].suffix == ".txt" && c.size > maxText {
			continue
		}
		if tries++; tries > maxTries {
			d.Failed = append(d.Failed, fmt.Sprintf("more than %d files: name the one to use", maxTries))
			break
		}
		spec, err := Read(c.path, batch, o)
		if err == nil && len(spec.Model.Layers) == 0 {
			err = fmt.Errorf("%s: no layers", c.path)
		}
		if err == nil {
			d.Spec, d.Used, d.Why = spec, c.path, ranks[c.rank].why
			return d
		}
		d.Failed = append(d.Failed, err.Error())
	}
	return d
}

// Read reads one file that describes a task: a task file with one task, a
// specification, or a model. What the file says of the training wins over batch.
func Read(path string, batch int, o *modelfile.Options) (profile.Spec, error) {
	if IsTask(path) {
		f, err := taskfile.ReadFile(path)
		if err != nil {
			return profile.Spec{}, err
		}
		if len(f.Tasks) != 1 {
			return profile.Spec{}, fmt.Errorf("%s holds %d tasks, want one", path, len(f.Tasks))
		}
		return f.Tasks[0].Spec, nil
	}
	f, err := modelfile.ReadFile(path, o)
	if err != nil {
		return profile.Spec{}, err
	}
	return f.Spec(batch), nil
}
