package sweep

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// job is one task of the sweep as the command line describes it.
type job struct {
	Number   int      // from 1, in the order of the grid
	ID       string   // for people, files and the job log; unique
	Command  []string // the program and its arguments, or one line for a shell
	After    []string // the IDs of the tasks that must have succeeded before
	Priority int      // the highest goes first
	Kind     string   // tasks of one kind are taken to be alike
}

// template is one command with placeholders.
type template struct {
	words    []string // one word if it is for a shell
	id       string   // "" for the command of the command line
	after    []string
	priority int
	place    string // where it was written, for errors
}

// grid is what the tasks are made of.
type grid struct {
	templates []template
	params    []param
	repeats   int      // -n; 0 if it was not given
	shell     bool     // -shell
	along     string   // -after NAME
	priority  int      // -priority
	by        []string // -by

	before [][]int // by template: those that its tasks wait for
}

// jobs returns every task: for each template, for each combination of values,
// of which those of the first parameter change most slowly, each repeat.
func (g *grid) jobs() ([]job, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	total := len(g.templates) * max(1, g.repeats)
	for _, p := range g.params {
		total *= len(p.Values)
		if total > maxTasks {
			break // before it overflows
		}
	}
	if total > maxTasks {
		return nil, fmt.Errorf("more than %d tasks", maxTasks)
	}
	var jobs []job
	for _, t := range g.templates {
		for combination := range g.combinations() {
			j, err := g.job(&t, combination, len(jobs)+1)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
	}
	g.link(jobs)
	return jobs, nil
}

// check finds what is wrong with the whole.
func (g *grid) check() error {
	names := make(map[string]bool)
	for _, t := range g.templates {
		for _, w := range t.words {
			used(w, names)
		}
	}
	seen := make(map[string]bool)
	for _, p := range g.params {
		switch {
		case seen[p.Name]:
			return fmt.Errorf("-p %s is there twice: give all its values in one list", p.Name)
		case !names[p.Name]:
			return fmt.Errorf("-p %s is used nowhere: put {%s} into the command", p.Name, p.Name)
		}
		seen[p.Name] = true
	}
	for _, name := range g.by {
		if !seen[name] {
			return fmt.Errorf("-by %s: there is no -p %s", name, name)
		}
	}
	if g.along != "" && !seen[g.along] {
		return fmt.Errorf("-after %s: there is no -p %s", g.along, g.along)
	}
	return g.resolve()
}

// combinations yields every combination of values with every repeat.
func (g *grid) combinations() iter.Seq[values] {
	return func(yield func(values) bool) {
		var walk func(v values, rest []param) bool
		walk = func(v values, rest []param) bool {
			if len(rest) > 0 {
				for _, value := range rest[0].Values {
					v[rest[0].Name] = value
					if !walk(v, rest[1:]) {
						return false
					}
				}
				return true
			}
			for i := range max(1, g.repeats) {
				if g.repeats > 0 {
					v[""] = strconv.Itoa(i)
				}
				if !yield(v) {
					return false
				}
			}
			return true
		}
		walk(make(values), g.params)
	}
}

// job fills a template in.
func (g *grid) job(t *template, v values, number int) (job, error) {
	v["#"] = strconv.Itoa(number)
	j := job{Number: number, ID: g.name(t, v), Priority: g.priority + t.priority, Kind: g.kind(t, v)}
	quote := func(s string) string { return s }
	if g.shell {
		quote = quoteWord
	}
	for _, word := range t.words {
		text, err := v.substitute(word, quote)
		if err != nil {
			return job{}, fmt.Errorf("%s%w", t.place, err)
		}
		if strings.ContainsRune(text, 0) {
			return job{}, fmt.Errorf("%stask %s: %q has a zero byte, which no argument can hold", t.place, j.ID, text)
		}
		j.Command = append(j.Command, text)
	}
	return j, nil
}

// name builds an ID such as lr=0.1,seed=3 that can also be a file's name.
func (g *grid) name(t *template, v values) string {
	var parts []string
	if t.id != "" {
		parts = append(parts, t.id)
	}
	for _, p := range g.params {
		parts = append(parts, p.Name+"="+clean(v[p.Name]))
	}
	if g.repeats > 0 {
		parts = append(parts, "run-"+v[""])
	}
	if len(parts) == 0 {
		return "task"
	}
	return strings.Join(parts, ",")
}

// kind names the tasks that are taken to be alike: those of the same program and
// script, python train.py or python -m train, with the same values of the
// parameters of -by.
func (g *grid) kind(t *template, v values) string {
	parts := t.words[:1:1]
	switch {
	case len(t.words) > 2 && t.words[1] == "-m":
		parts = t.words[:3:3]
	case len(t.words) > 1 && !strings.HasPrefix(t.words[1], "-"):
		parts = t.words[:2:2]
	}
	for _, name := range g.by {
		parts = append(parts, name+"="+v[name])
	}
	return strings.Join(parts, " ")
}

// clean leaves of a value what any file system takes.
func clean(value string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r)) {
			return r
		}
		return '_'
	}, value)
}

// maxID is the longest name; longer ones are cut and get the task's number.
const maxID = 64

// link makes the IDs unique and ties each task to those it waits for. The tasks
// of one template are a block, in which those of a combination stand alike.
func (g *grid) link(jobs []job) {
	taken := make(map[string]bool, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		if taken[j.ID] || len(j.ID) > maxID {
			j.ID = fmt.Sprintf("%.*s-%d", maxID, j.ID, j.Number)
		}
		for taken[j.ID] {
			j.ID += "+" // somebody gave a value that looks like that
		}
		taken[j.ID] = true
	}
	block := len(jobs) / len(g.templates)
	stride, count := g.stride()
	for i := range jobs {
		for _, before := range g.before[i/block] {
			jobs[i].After = append(jobs[i].After, jobs[before*block+i%block].ID)
		}
		if i%block/stride%count > 0 {
			jobs[i].After = append(jobs[i].After, jobs[i-stride].ID)
		}
	}
}

// stride returns how far apart tasks are that differ in -after's parameter only,
// and how many values it has; 1 and 1 without.
func (g *grid) stride() (stride, count int) {
	stride = max(1, g.repeats)
	for _, p := range slices.Backward(g.params) {
		if p.Name == g.along {
			return stride, len(p.Values)
		}
		stride *= len(p.Values)
	}
	return 1, 1
}

// resolve finds the templates that others wait for, and circles among them.
func (g *grid) resolve() error {
	index := make(map[string]int, len(g.templates))
	for i, t := range g.templates {
		index[t.id] = i
	}
	g.before = make([][]int, len(g.templates))
	for i, t := range g.templates {
		for _, id := range t.after {
			k, ok := index[id]
			if !ok {
				return fmt.Errorf("%s@after=%s: no command has this @id", t.place, id)
			}
			g.before[i] = append(g.before[i], k)
		}
	}
	const open, done = 1, 2
	state := make([]int, len(g.templates))
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = open
		for _, k := range g.before[i] {
			if state[k] == open {
				return fmt.Errorf("%s@after=%s: %s waits for this command, too", g.templates[i].place, g.templates[k].id, g.templates[k].id)
			}
			if state[k] == done {
				continue
			}
			if err := visit(k); err != nil {
				return err
			}
		}
		state[i] = done
		return nil
	}
	for i := range g.templates {
		if state[i] == done {
			continue
		}
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}
