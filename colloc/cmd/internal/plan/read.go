package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/find"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/regular"
	"example.com/colloc/predict"
	"example.com/colloc/profile/modelfile"
	"example.com/colloc/profile/tracefile"
)

var errNoTasks = errors.New("no tasks: name a task file, a model file such as config.json, or what print(model) printed; colloc profile -- python train.py writes one from a training")

// input is what is to be planned.
type input struct {
	tasks  []colloc.Task
	gpus   []colloc.GPU
	host   predict.Host
	places map[string]string // where a task was read, as "FILE:LINE: "
}

// read reads the tasks and the GPUs.
func (o *options) read(ctx context.Context) (*input, error) {
	if len(o.files) == 0 {
		return nil, errNoTasks
	}
	for _, path := range o.files {
		if _, err := os.Stat(path); err != nil && strings.HasPrefix(path, "-") {
			return nil, fmt.Errorf("%s stands behind a file: flags come first", path)
		}
	}
	in := &input{places: make(map[string]string)}
	if err := in.readGPUs(ctx, o.gpus); err != nil {
		return nil, err
	}
	for i := range in.gpus {
		if o.mechanisms != nil {
			in.gpus[i].Mechanisms = o.mechanisms
		}
	}
	for _, path := range o.files {
		list, err := o.tasks(path)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if err := in.add(&list[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if len(in.tasks) == 0 {
		return nil, errNoTasks
	}
	return in, nil
}

// readGPUs takes GPUS from a file, from words such as 4xA100-40GB, or from this host.
func (in *input) readGPUs(ctx context.Context, words string) error {
	if words == "" {
		return in.ofHost(ctx)
	}
	if f, err := regular.Named(words); err == nil {
		defer f.Close()
		c, err := taskfile.ReadGPUs(f, words)
		if err == nil {
			in.gpus, in.host = c.GPUs, c.Config.Host
		}
		return err
	}
	models, err := gpus.Words(words)
	if err != nil {
		return fmt.Errorf("-gpus %s: %w; a file may give the memory of any: {\"gpus\": [{\"model\": \"RTX 3090\", \"memory\": \"24GiB\"}]}", words, err)
	}
	for _, model := range models {
		in.gpus = append(in.gpus, colloc.GPU{ID: fmt.Sprint("gpu", len(in.gpus)), Model: model})
	}
	return nil
}

// ofHost takes the GPUs of this host.
func (in *input) ofHost(ctx context.Context) error {
	h, err := gpus.Open(ctx, "", "")
	if err != nil {
		return fmt.Errorf("no GPU here: say which with -gpus, such as -gpus 4xA100-40GB (%s)", firstLine(err))
	}
	defer h.Source.Close()
	for _, d := range h.Devices {
		model, _ := d.GPU()
		in.gpus = append(in.gpus, colloc.GPU{ID: fmt.Sprint("gpu", d.Index), Model: model})
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "no GPU: ")
}

// tasks reads one operand.
func (o *options) tasks(path string) ([]taskfile.Task, error) {
	batch, told := max(1, o.batch), o.batch > 0
	if file, n, ok := cutBatch(path); ok {
		path, batch, told = file, n, true
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file; a task is a task file, a model file or a folder of a training", path)
	case err != nil:
		return nil, err
	}
	options := &modelfile.Options{SequenceLength: o.seq}
	if info.IsDir() {
		f, err := find.ReadFolder(path, batch, options)
		switch {
		case errors.Is(err, find.ErrNothing):
			return nil, fmt.Errorf("%s: %w; colloc describe %s says what each file lacks", path, find.ErrNothing, path)
		case err != nil:
			return nil, err
		}
		return []taskfile.Task{f.Task}, nil
	}
	if find.IsTask(path) {
		f, err := taskfile.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return f.Tasks, nil
	}
	f, err := modelfile.ReadFile(path, options)
	if err != nil {
		return seen(path, err)
	}
	t := taskfile.Task{ID: named(path)}
	t.Spec = f.Spec(batch)
	t.Training = o.training
	t.Training.BatchSize = batch
	if !told {
		t.Warnings = append(t.Warnings, "batch 1 is assumed: FILE@32 says 32")
	}
	return []taskfile.Task{t}, nil
}

// cutBatch takes FILE@32 apart, unless there is a file of that name.
func cutBatch(path string) (file string, batch int, ok bool) {
	at := strings.LastIndexByte(path, '@')
	if at < 0 {
		return path, 0, false
	}
	if _, err := os.Stat(path); err == nil {
		return path, 0, false
	}
	n, err := strconv.Atoi(path[at+1:])
	return path[:at], n, err == nil && n > 0
}

// seen reads a log of GPU use, of which no model is known; other is why it is no model.
func seen(path string, other error) ([]taskfile.Task, error) {
	log, err := tracefile.ReadFile(path, nil)
	if err != nil {
		if errors.Is(other, modelfile.ErrFormat) && errors.Is(err, tracefile.ErrFormat) {
			return nil, fmt.Errorf("%s: neither a task file, a model, what torchinfo, torchsummary or print(model) print, nor a log of GPU use; colloc profile -- python train.py writes a task file", path)
		}
		return nil, other
	}
	solos, err := find.Seen(path, log)
	if err != nil {
		return nil, err
	}
	var tasks []taskfile.Task
	for _, solo := range solos {
		if _, ok := solo.Product(); !ok {
			return nil, fmt.Errorf("%s: the log does not name the GPU: colloc profile -- python train.py does", path)
		}
		t := taskfile.Task{ID: named(path), Solo: solo}
		t.Training.BatchSize = 1
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// named is the ID of the task that a file describes: its name, or that of its folder where
// all such files have one name.
func named(path string) string {
	base := filepath.Base(path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if name == "config" || name == "model" || name == "summary" {
		if full, err := filepath.Abs(path); err == nil && filepath.Base(filepath.Dir(full)) != string(filepath.Separator) {
			return filepath.Base(filepath.Dir(full))
		}
	}
	return name
}

// add takes a task over. One that has the ID of another is a further one of them.
func (in *input) add(t *taskfile.Task) error {
	id := t.ID
	for n := 2; ; n++ {
		if _, used := in.places[t.ID]; !used {
			break
		}
		t.ID = fmt.Sprintf("%s-%d", id, n)
	}
	for _, gap := range t.Missing {
		t.Warnings = append(t.Warnings, "missing: "+gap.String())
	}
	task, err := t.Colloc()
	if err != nil {
		return err
	}
	in.places[t.ID] = ""
	if place := t.Place(); place != "" {
		in.places[t.ID] = place + ": "
	}
	in.tasks = append(in.tasks, task)
	return nil
}

// changed is the question with a change.
func (in *input) changed(change string) (tasks []colloc.Task, on []colloc.GPU, err error) {
	if n, ok := strings.CutPrefix(change, "gpus+"); ok {
		more, err := strconv.Atoi(n)
		if err != nil || more < 1 || more > gpus.Most {
			return nil, nil, fmt.Errorf("-what-if %q: want gpus+N with N from 1", change)
		}
		on = slices.Clone(in.gpus)
		for i := range more {
			g := in.gpus[len(in.gpus)-1]
			g.ID = fmt.Sprintf("%s+%d", g.ID, i+1)
			on = append(on, g)
		}
		return in.tasks, on, nil
	}
	if id, ok := strings.CutPrefix(change, "without "); ok {
		i := slices.IndexFunc(in.tasks, func(t colloc.Task) bool { return t.ID == id })
		if i < 0 {
			return nil, nil, fmt.Errorf("-what-if %q: there is no task %q; -v lists them", change, id)
		}
		return slices.Delete(slices.Clone(in.tasks), i, i+1), in.gpus, nil
	}
	return nil, nil, fmt.Errorf("-what-if %q: want gpus+1 or \"without TASK\"", change)
}
