package grammar

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Job is one task of the sweep as the command line describes it.
type Job struct {
	Number   int      // from 1, in the order of the grid
	ID       string   // for people, files and the job log; unique
	Command  []string // the program and its arguments, or one line for a shell
	After    []string // the IDs of the tasks that must have succeeded before
	Priority int      // the highest goes first
	Kind     string   // tasks of one kind are taken to be alike
}

// Template is one command with placeholders.
type Template struct {
	Words    []string // one word if it is for a shell
	id       string   // "" for the command of the command line
	after    []string
	priority int
	place    string // where it was written, for errors
}

// Grid is what the tasks are made of.
type Grid struct {
	Templates []Template
	File      string // -f; "" if there is a command
	Params    []Param
	Repeats   int      // -n; 0 if it was not given
	Shell     bool     // -shell
	Along     string   // -after NAME
	Priority  int      // -priority
	By        []string // -by

	before [][]int // by template: those that its tasks wait for
}

// Jobs returns every task: for each template, for each combination of values,
// of which those of the first parameter change most slowly, each repeat.
func (g *Grid) Jobs() ([]Job, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	total := len(g.Templates) * max(1, g.Repeats)
	for _, p := range g.Params {
		total *= len(p.Values)
		if total > MaxTasks {
			break // before it overflows
		}
	}
	if total > MaxTasks {
		return nil, fmt.Errorf("more than %d tasks", MaxTasks)
	}
	var jobs []Job
	for _, t := range g.Templates {
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
func (g *Grid) check() error {
	names := make(map[string]bool)
	for _, t := range g.Templates {
		for _, w := range t.Words {
			used(w, names)
		}
	}
	seen := make(map[string]bool)
	for _, p := range g.Params {
		switch {
		case seen[p.Name]:
			return fmt.Errorf("-p %s is there twice: give all its values in one list", p.Name)
		case !names[p.Name]:
			return fmt.Errorf("-p %s is used nowhere: put {%s} into the command", p.Name, p.Name)
		}
		seen[p.Name] = true
	}
	for _, name := range g.By {
		if !seen[name] {
			return fmt.Errorf("-by %s: there is no -p %s", name, name)
		}
	}
	if g.Along != "" && !seen[g.Along] {
		return fmt.Errorf("-after %s: there is no -p %s", g.Along, g.Along)
	}
	return g.resolve()
}

// combinations yields every combination of values with every repeat.
func (g *Grid) combinations() iter.Seq[values] {
	return func(yield func(values) bool) {
		var walk func(v values, rest []Param) bool
		walk = func(v values, rest []Param) bool {
			if len(rest) > 0 {
				for _, value := range rest[0].Values {
					v[rest[0].Name] = value
					if !walk(v, rest[1:]) {
						return false
					}
				}
				return true
			}
			for i := range max(1, g.Repeats) {
				if g.Repeats > 0 {
					v[""] = strconv.Itoa(i)
				}
				if !yield(v) {
					return false
				}
			}
			return true
		}
		walk(make(values), g.Params)
	}
}

// Job fills a template in.
func (g *Grid) job(t *Template, v values, number int) (Job, error) {
	v["#"] = strconv.Itoa(number)
	j := Job{Number: number, ID: g.name(t, v), Priority: g.Priority + t.priority, Kind: g.kind(t, v)}
	quote := func(s string) string { return s }
	if g.Shell {
		quote = QuoteWord
	}
	for _, word := range t.Words {
		text, err := v.substitute(word, quote)
		if err != nil {
			return Job{}, fmt.Errorf("%s%w", t.place, err)
		}
		if strings.ContainsRune(text, 0) {
			return Job{}, fmt.Errorf("%stask %s: %q has a zero byte, which no argument can hold", t.place, j.ID, text)
		}
		j.Command = append(j.Command, text)
	}
	return j, nil
}

// name builds an ID such as lr=0.1,seed=3 that can also be a file's name.
func (g *Grid) name(t *Template, v values) string {
	var parts []string
	if t.id != "" {
		parts = append(parts, t.id)
	}
	for _, p := range g.Params {
		parts = append(parts, p.Name+"="+clean(v[p.Name]))
	}
	if g.Repeats > 0 {
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
func (g *Grid) kind(t *Template, v values) string {
	parts := []string{KindOf(t.Words)}
	for _, name := range g.By {
		parts = append(parts, name+"="+v[name])
	}
	return strings.Join(parts, " ")
}

// KindOf names the program and script of a command: python train.py, python -m train.
func KindOf(words []string) string {
	switch {
	case len(words) > 2 && words[1] == "-m":
		words = words[:3]
	case len(words) > 1 && !strings.HasPrefix(words[1], "-"):
		words = words[:2]
	default:
		words = words[:1]
	}
	return strings.Join(words, " ")
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
func (g *Grid) link(jobs []Job) {
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
	block := len(jobs) / len(g.Templates)
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
func (g *Grid) stride() (stride, count int) {
	stride = max(1, g.Repeats)
	for _, p := range slices.Backward(g.Params) {
		if p.Name == g.Along {
			return stride, len(p.Values)
		}
		stride *= len(p.Values)
	}
	return 1, 1
}

// resolve finds the templates that others wait for, and circles among them.
func (g *Grid) resolve() error {
	index := make(map[string]int, len(g.Templates))
	for i, t := range g.Templates {
		index[t.id] = i
	}
	g.before = make([][]int, len(g.Templates))
	for i, t := range g.Templates {
		for _, id := range t.after {
			k, ok := index[id]
			if !ok {
				return fmt.Errorf("%s@after=%s: no command has this @id", t.place, id)
			}
			g.before[i] = append(g.before[i], k)
		}
	}
	const open, done = 1, 2
	state := make([]int, len(g.Templates))
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = open
		for _, k := range g.before[i] {
			if state[k] == open {
				return fmt.Errorf("%s@after=%s: %s waits for this command, too", g.Templates[i].place, g.Templates[k].id, g.Templates[k].id)
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
	for i := range g.Templates {
		if state[i] == done {
			continue
		}
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}
