package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// file is one of the folder.
type file struct {
	name    string
	studies []study
}

// study is a command and what it printed. Its title is empty where the picture leaves it out.
type study struct {
	title, command, printed string
}

// read reads the files of a folder, by name.
func read(folder string) ([]file, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := file{name: strings.TrimSuffix(filepath.Base(name), ".txt")}
		if f.studies, err = parse(string(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// parse cuts a file into studies: a title after "# ", if it has one, a command after "$ ", and
// what that printed.
func parse(text string) ([]study, error) {
	var out []study
	title := ""
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			title = line[2:]
		case strings.HasPrefix(line, "$ "):
			out = append(out, study{title: title, command: line[2:]})
			title = ""
		case len(out) > 0:
			out[len(out)-1].printed += line + "\n"
		case line != "":
			return nil, fmt.Errorf("line %d is before any command", i+1)
		}
	}
	for i := range out {
		out[i].printed = strings.TrimRight(out[i].printed, "\n")
	}
	return out, nil
}

// text is the file as it is read.
func (f *file) text() []byte {
	var b bytes.Buffer
	for i, s := range f.studies {
		if i > 0 {
			b.WriteByte('\n')
		}
		if s.title != "" {
			fmt.Fprintf(&b, "# %s\n", s.title)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n", s.command, s.printed)
	}
	return b.Bytes()
}

// above are how often policies have what is proven, in makespan and completion time, in the
// order of the first table of a study; none where nothing is proven, and without those that left
// tasks unfinished.
func (s *study) above() []point {
	var out []point
	makespan, jct := -1, -1
	for line := range strings.SplitSeq(s.printed, "\n") {
		cells := strings.Fields(line)
		if len(cells) > 0 && cells[0] == "policy" {
			if len(out) > 0 {
				break
			}
			names := headings(line)
			makespan, jct = slices.Index(names, "makespan over bound, x"), slices.Index(names, "JCT over bound, x")
			continue
		}
		if makespan < 0 || jct < 0 || len(cells) <= max(makespan, jct) || cells[1] == "*" {
			continue
		}
		x, err1 := number(cells[makespan])
		y, err2 := number(cells[jct])
		if err1 == nil && err2 == nil {
			out = append(out, point{cells[0], x, y})
		}
	}
	return out
}

// headings are the names of columns, which two blanks or more keep apart.
func headings(line string) []string {
	var out []string
	for name := range strings.SplitSeq(line, "  ") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// number is a mean without its interval.
func number(cell string) (float64, error) {
	mean, _, _ := strings.Cut(cell, "±")
	return strconv.ParseFloat(mean, 64)
}

// point is one policy.
type point struct {
	policy        string
	makespan, jct float64
}
