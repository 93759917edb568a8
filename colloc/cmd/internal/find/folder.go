package find

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
	"example.com/colloc/profile/tracefile"
)

// Source is a file of a folder that was looked at.
type Source struct {
	// File is its path below the folder.
	File string `json:"file"`
	// Gave is what was taken from it; empty is nothing.
	Gave string `json:"gave,omitempty"`
	// Why says why that, or why nothing.
	Why string `json:"why,omitempty"`
}

// Folder is one description of a task, made of the files of its folder: its model from
// the file that tells most of it, its batch from what the training wrote, what was
// seen of it from logs and traces. A checkpoint is held against the model.
type Folder struct {
	Task taskfile.Task
	// Sources are the files that were looked at, those that tell most first.
	Sources []Source
	// Stated says that the task's training is that of a task file or specification.
	Stated string

	root  string
	model string // where Task.Model is from
	batch string // where the batch is from
	steps profile.Opt[int64]
}

// maxFolder is how many files of a folder are read.
const maxFolder = 64

// ErrNothing says that no file of a folder describes a task.
var ErrNothing = errors.New("nothing here describes a model: want a specification, config.json, ONNX, Keras or safetensors file, " +
	"or a summary as .txt; or what was seen of one: a log or a trace")

// ReadFolder describes the task whose files lie in a folder. batch is taken where no
// file states one.
func ReadFolder(dir string, batch int, o *modelfile.Options) (*Folder, error) {
	f := &Folder{root: dir}
	f.Task.Training.BatchSize = batch
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f.Task.ID = filepath.Base(full)
	all := candidates([]string{dir})
	states := func(c candidate) bool { return c.rank == 0 && IsTask(c.path) }
	for _, c := range all[:min(len(all), maxFolder)] { // these state what others tell in part
		if states(c) {
			f.task(c)
		}
	}
	for i, c := range all {
		if i < maxFolder && states(c) {
			continue
		}
		if i == maxFolder {
			f.pass(c.path, fmt.Sprintf("more than %d files: this one and those that tell less were not read", maxFolder))
			break
		}
		f.file(c, o)
	}
	if s := f.Task.Solo; s != nil && s.Steps.IsZero() {
		s.Steps = f.steps
	}
	if len(f.Task.Model.Layers) == 0 && f.Task.Solo == nil {
		var text strings.Builder
		for _, s := range f.Sources {
			text.WriteString("\n  " + s.String())
		}
		return nil, fmt.Errorf("%s: %w%s", dir, ErrNothing, text.String())
	}
	return f, nil
}

// String says what was taken, or that nothing was.
func (s Source) String() string {
	if s.Gave == "" {
		return fmt.Sprintf("%s: not used: %s", s.File, s.Why)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s (%s)", s.File, s.Gave, s.Why), " ()")
}

func (f *Folder) name(path string) string {
	if short, err := filepath.Rel(f.root, path); err == nil {
		return filepath.ToSlash(short)
	}
	return path
}

// take notes what a file gave, pass that it gave nothing.
func (f *Folder) take(path, gave, why string) {
	f.Sources = append(f.Sources, Source{File: f.name(path), Gave: gave, Why: why})
}

func (f *Folder) pass(path, why string) {
	why = strings.ReplaceAll(why, path+": ", "")
	why = strings.TrimPrefix(strings.TrimPrefix(why, "modelfile: "), "tracefile: ")
	why, _, _ = strings.Cut(why, "; want ")
	f.Sources = append(f.Sources, Source{File: f.name(path), Why: strings.TrimSuffix(why, ": format not recognised")})
}

// file takes from one file what no better one told.
func (f *Folder) file(c candidate, o *modelfile.Options) {
	switch part := strings.Contains(filepath.Base(c.path), "-of-"); {
	case c.rank > 0 && describes(c.rank):
		switch {
		case ranks[c.rank].suffix == ".txt" && c.size > maxText:
			f.pass(c.path, fmt.Sprintf("larger than %d MiB", maxText>>20))
		case part && ranks[c.rank].suffix == ".safetensors":
			f.pass(c.path, "a part of a checkpoint, whose index tells the whole")
		default:
			f.layers(c, o)
		}
	case c.rank == 0 && f.settings(c.path):
	case strings.HasPrefix(ranks[c.rank].why, "weights"):
		_, err := modelfile.ReadFile(c.path, o)
		if err == nil {
			err = errors.New(ranks[c.rank].why)
		}
		f.pass(c.path, err.Error())
	default:
		f.log(c.path, nil)
	}
}

// task takes over a task file, or a specification.
func (f *Folder) task(c candidate) {
	file, err := taskfile.ReadFile(c.path)
	switch {
	case err != nil:
		f.pass(c.path, err.Error())
		return
	case len(file.Tasks) != 1:
		f.pass(c.path, fmt.Sprintf("it holds %d tasks, and which of them is this one is not said: describe the file itself", len(file.Tasks)))
		return
	case f.Stated != "":
		f.pass(c.path, f.Stated+" is newer, or lies higher")
		return
	}
	f.Task, f.Stated, f.batch = file.Tasks[0], f.name(c.path), f.name(c.path)
	gave := "training"
	if len(f.Task.Model.Layers) > 0 {
		f.model = f.Stated
		gave = "model, training"
	}
	if f.Task.Solo != nil {
		gave += ", what was seen"
	}
	f.take(c.path, gave, "it states them itself")
}

// layers takes a model, or holds it against the one that is known.
func (f *Folder) layers(c candidate, o *modelfile.Options) {
	file, err := modelfile.ReadFile(c.path, o)
	if err != nil || len(file.Model.Layers) == 0 {
		if err == nil {
			err = errors.New("no layers")
		}
		if ranks[c.rank].suffix == ".txt" && errors.Is(err, modelfile.ErrFormat) {
			f.log(c.path, err)
			return
		}
		f.pass(c.path, err.Error())
		return
	}
	if f.model != "" {
		f.compare(c, &file.Model)
		return
	}
	spec := file.Spec(f.Task.Training.BatchSize)
	name := f.Task.Model.Name
	f.Task.Model, f.model = spec.Model, f.name(c.path)
	if f.Task.Model.Name == "" {
		f.Task.Model.Name = name
	}
	if f.Task.Dataset.SampleElements.IsZero() {
		f.Task.Dataset.SampleElements = spec.Dataset.SampleElements
	}
	f.Task.Warnings = append(f.Task.Warnings, spec.Warnings...)
	f.Task.Missing = slices.DeleteFunc(f.Task.Missing, func(g taskfile.Gap) bool { return strings.HasPrefix(g.What, "the layers") })
	f.take(c.path, "model", ranks[c.rank].why)
}

// compare holds another description of the model against the one that was taken.
func (f *Folder) compare(c candidate, m *profile.Model) {
	mine, other := f.Task.Model.Params(), m.Params()
	counted := (f.Task.Model.Unknown()|m.Unknown())&profile.ParamCounts == 0
	off := max(mine, other) - min(mine, other)
	switch {
	case !counted:
		f.pass(c.path, f.model+" tells more")
	case off <= min(mine, other)/100:
		f.pass(c.path, fmt.Sprintf("%s tells more; its %d parameters are those", f.model, other))
	default:
		why := fmt.Sprintf("%s tells more, and of another model: %d parameters, not %d", f.model, mine, other)
		f.pass(c.path, why)
		if c.deep <= 1 { // a folder below may well hold another model
			f.Task.Warnings = append(f.Task.Warnings, fmt.Sprintf("%s has %d parameters, %s %d: one of them is not of this training", f.model, mine, f.name(c.path), other))
		}
	}
}

// settings takes what a training wrote beside its model; false is that the file is no
// such one.
func (f *Folder) settings(path string) bool {
	var s struct {
		Batch  json.RawMessage `json:"train_batch_size"`
		Steps  json.RawMessage `json:"max_steps"`
		Micro  json.RawMessage `json:"train_micro_batch_size_per_gpu"`
		Peft   string          `json:"peft_type"`
		Events json.RawMessage `json:"traceEvents"`
	}
	file, err := regular.Found(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if json.NewDecoder(io.LimitReader(file, maxText)).Decode(&s) != nil || s.Events != nil {
		return false
	}
	if s.Peft != "" {
		f.pass(path, "settings of an adapter, which is not described")
		f.Task.Warnings = append(f.Task.Warnings, fmt.Sprintf("%s: an adapter (%s) is trained, which is not described: the model is described as if all of it was trained, which needs more memory", f.name(path), s.Peft))
		return true
	}
	number := func(raw json.RawMessage) (n int64, ok bool) {
		return n, json.Unmarshal(raw, &n) == nil && n > 0
	}
	batch, whole := number(s.Batch)
	if n, ok := number(s.Micro); ok {
		batch, whole = n, true
	}
	steps, ends := number(s.Steps)
	if !whole && !ends {
		return false
	}
	var gave []string
	if whole && f.batch == "" && batch <= profile.MaxBatch {
		f.Task.Training.BatchSize, f.batch = int(batch), f.name(path)
		gave = append(gave, fmt.Sprintf("batch %d", batch))
	}
	if ends && f.steps.IsZero() {
		f.steps = profile.Some(steps)
		gave = append(gave, fmt.Sprintf("%d steps", steps))
	}
	if len(gave) == 0 {
		f.pass(path, f.batch+" states the batch")
	} else {
		f.take(path, strings.Join(gave, ", "), "what the training wrote")
	}
	return true
}

// log takes what was seen that no file before told; else is why the file is no model.
func (f *Folder) log(path string, other error) {
	log, err := tracefile.ReadFile(path, nil)
	if err != nil {
		if other != nil {
			err = other
		}
		f.pass(path, err.Error())
		return
	}
	solos, err := Seen(path, log)
	switch {
	case err != nil:
		f.pass(path, err.Error())
	case len(solos) != 1:
		f.pass(path, fmt.Sprintf("it tells of %d GPUs or processes, and which is this task's is not said: describe the file itself", len(solos)))
	default:
		f.see(path, solos[0])
	}
}

// Seen is what the traces of a log tell of a task alone on a GPU each, without those
// that tell nothing.
func Seen(path string, log *tracefile.File) ([]*taskfile.Solo, error) {
	var solos []*taskfile.Solo
	for i := range log.Traces {
		t := &log.Traces[i]
		gpu, known := profile.LookupGPU(t.Labels[tracefile.LabelName])
		p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, *t, gpu)
		if err != nil {
			return nil, err
		}
		s := taskfile.SoloOf(&p)
		if s == nil {
			continue
		}
		if s.DataWait, s.Source = log.DataWait, path; !known {
			s.Model = nil
		}
		solos = append(solos, s)
	}
	return solos, nil
}

// see adds what is not known yet, key by key as in a task file.
func (f *Folder) see(path string, s *taskfile.Solo) {
	s.Source = f.name(path)
	if f.Task.Solo == nil {
		f.Task.Solo = s
		f.take(path, "what was seen", strings.Join(slices.Sorted(maps.Keys(keys(s))), ", "))
		return
	}
	have := f.Task.Solo
	if a, b := cards(have), cards(s); a != "" && b != "" && a != b {
		f.pass(path, fmt.Sprintf("seen on %s, and %s is on %s", b, have.Source, a))
		return
	}
	known, news := keys(have), keys(s)
	maps.DeleteFunc(news, func(key string, _ json.RawMessage) bool { return known[key] != nil })
	var peaks []string
	for name, x := range s.Spread {
		if _, ok := have.Spread[name]; !ok && len(have.Spread) > 0 {
			have.Spread[name] = x
			peaks = append(peaks, name)
		}
	}
	if len(news)+len(peaks) == 0 {
		f.pass(path, have.Source+" tells that already")
		return
	}
	text, err := json.Marshal(news)
	if err == nil {
		err = json.Unmarshal(text, have) // keeps what the text does not name
	}
	if err != nil {
		f.pass(path, err.Error())
		return
	}
	if have.GPU == "" {
		have.GPU, have.Model = s.GPU, s.Model
	}
	have.Source += ", " + s.Source
	f.take(path, "what was seen", strings.Join(slices.Sorted(slices.Values(append(peaks, slices.Collect(maps.Keys(news))...))), ", "))
}

// keys are what a Solo tells, without who and where.
func keys(s *taskfile.Solo) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	text, err := json.Marshal(s)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	for _, key := range []string{"gpu", "gpu_model", "source"} {
		delete(all, key)
	}
	return all
}

// cards is the product in the catalogue's words.
func cards(s *taskfile.Solo) string {
	if g, ok := s.Product(); ok {
		return g.Canonical()
	}
	return s.GPU
}
