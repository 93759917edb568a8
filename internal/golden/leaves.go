package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
)

// Leaves compares with the file of a name in testdata which other values each number, text, truth and list
// of some JSON documents may have: in the first place of each path, and in the last. It says so of the numbers
// that are given, of other texts, and of lists that lack their first entry or have it twice. skip says which paths are left alone, nil is none. takes reads a document and
// says whether it is one; what it takes must then be as good as any.
func Leaves(tb testing.TB, name string, docs [][]byte, numbers []string, skip func(path string) bool, takes func(doc []byte) bool) {
	tb.Helper()
	said := make(said)
	for _, doc := range docs {
		in := json.NewDecoder(bytes.NewReader(doc))
		in.UseNumber()
		var root any
		if err := in.Decode(&root); err != nil {
			tb.Fatal(err)
		}
		places := make(map[string][]leaf)
		walk("", root, func(any) {}, places)
		for path, list := range places {
			if drawn(path) && (skip == nil || !skip(path)) {
				said.ask(path, list, root, numbers, takes)
			}
		}
	}
	check(tb, name, said.String(), func(line string) bool {
		path, _, more := strings.Cut(line, ":")
		return !more || drawn(path)
	})
}

// drawn says which paths are looked at: one of eight with the race detector.
func drawn(path string) bool { return !race.Enabled || len(path)%8 == 0 }

// said is how often a value of a path was refused, and taken.
type said map[string]map[string][2]int

// ask tries the first place and the last.
func (s said) ask(path string, list []leaf, root any, numbers []string, takes func(doc []byte) bool) {
	if len(list) > 1 {
		list = []leaf{list[0], list[len(list)-1]}
	}
	for _, l := range list {
		l.try(numbers, func(value string) {
			text, err := json.Marshal(root) // what was read is written
			s.note(path, value, err == nil && takes(text))
		})
	}
}

func (s said) note(path, value string, taken bool) {
	if s[path] == nil {
		s[path] = make(map[string][2]int)
	}
	n := s[path][value]
	if taken {
		n[1]++
	} else {
		n[0]++
	}
	s[path][value] = n
}

// String is a line for each path, with the values that were taken.
func (s said) String() string {
	var table strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&table, "%s:", path)
		for _, value := range slices.Sorted(maps.Keys(s[path])) {
			switch n := s[path][value]; {
			case n[0] == 0:
				fmt.Fprintf(&table, " %s", value)
			case n[1] > 0:
				fmt.Fprintf(&table, " %s(%d of %d)", value, n[1], n[0]+n[1])
			}
		}
		table.WriteByte('\n')
	}
	return table.String()
}

// leaf is a value in a document, and how to set it.
type leaf struct {
	value any
	set   func(any)
}

// try sets a leaf to each other value that it may have, calls with its name, and puts it back.
func (l *leaf) try(numbers []string, with func(name string)) {
	one := func(name string, value any) {
		l.set(value)
		with(name)
		l.set(l.value)
	}
	switch v := l.value.(type) {
	case json.Number:
		for _, n := range numbers {
			one(n, json.Number(n))
		}
	case string:
		one(`"nobody"`, "nobody")
		one(`""`, "")
	case bool:
		one("not", !v)
	case []any:
		if len(v) > 0 {
			one("less", v[1:])
			one("twice", append(v[:1:1], v...))
		}
	}
}

// walk notes all leaves by their path.
func walk(path string, v any, set func(any), places map[string][]leaf) {
	switch x := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			walk(path+"."+key, x[key], func(other any) { x[key] = other }, places)
		}
		return
	case []any:
		for i := range x {
			walk(path+"[]", x[i], func(other any) { x[i] = other }, places)
		}
	}
	places[path] = append(places[path], leaf{v, set})
}
