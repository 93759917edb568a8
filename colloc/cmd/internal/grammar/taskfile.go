package grammar

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"example.com/colloc/internal/regular"
)

// maxLine is the longest line of a file of commands, in bytes.
const maxLine = 1 << 20

// readTemplates reads a file of commands, - being standard input.
func readTemplates(path string, stdin io.Reader, shell bool) ([]Template, error) {
	if path == "-" {
		return parseTemplates(stdin, "standard input", shell)
	}
	f, err := regular.Named(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseTemplates(f, path, shell)
}

// parseTemplates reads one command per line; the form is in the package comment.
func parseTemplates(r io.Reader, name string, shell bool) ([]Template, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var all []Template
	seen := make(map[string]int)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // as editors on Windows write it
		}
		t, err := parseTemplate(line, shell)
		t.place = fmt.Sprintf("%s:%d: ", name, n)
		if err != nil {
			return nil, fmt.Errorf("%s%w", t.place, err)
		}
		if len(t.Words) == 0 {
			continue
		}
		if t.id == "" {
			t.id = "line-" + strconv.Itoa(n)
		}
		if seen[t.id] > 0 {
			return nil, fmt.Errorf("%sthe id %q was used before, in line %d", t.place, t.id, seen[t.id])
		}
		seen[t.id] = n
		if all = append(all, t); len(all) > MaxTasks {
			return nil, fmt.Errorf("%s: more than %d commands", name, MaxTasks)
		}
	}
	err := lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("%s: a line is longer than 1 MiB", name)
	case err != nil:
		err = fmt.Errorf("%s: %w", name, err)
	case len(all) == 0:
		err = fmt.Errorf("%s: no commands: want one on each line", name)
	}
	return all, err
}

var attribute = regexp.MustCompile(`^[ \t]*@([a-z]+)=(\S*)`)

// parseTemplate reads one line: attributes such as @id=prep, then the command.
// An empty line and a comment have no words.
func parseTemplate(line string, shell bool) (Template, error) {
	var t Template
	rest := line
	for {
		m := attribute.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		if err := t.set(m[1], m[2]); err != nil {
			column := len(line) - len(rest) + strings.IndexByte(rest, '@') + 1
			return t, &SyntaxError{column, err.Error()}
		}
		rest = rest[len(m[0]):]
	}
	text := strings.TrimSpace(rest)
	if shell {
		if text != "" && text[0] != '#' {
			t.Words = []string{text}
		}
	} else {
		words, err := splitWords(rest)
		var fault *SyntaxError
		if errors.As(err, &fault) {
			fault.Column += len(line) - len(rest)
		}
		if err != nil {
			return t, err
		}
		t.Words = words
	}
	if len(t.Words) == 0 && rest != line {
		return t, &SyntaxError{len(line) + 1, "attributes without a command"}
	}
	return t, nil
}

// set takes one attribute.
func (t *Template) set(key, value string) error {
	if value == "" {
		return fmt.Errorf("@%s= has no value", key)
	}
	switch key {
	case "id":
		if clean(value) != value {
			return fmt.Errorf("the id %q is no plain name: want letters, digits, . _ + -", value)
		}
		t.id = value
	case "after":
		t.after = append(t.after, strings.Split(value, ",")...)
	case "priority":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("the priority %q is no whole number", value)
		}
		t.priority = n
	default:
		return fmt.Errorf("unknown attribute @%s: want @id, @after or @priority", key)
	}
	return nil
}
