package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Leaves compares with the file of a name in testdata which other values each number, text, truth and list
// of some JSON documents may have: in the first place of each path, and in the last. It says so of the numbers
// that are given, of other texts, and of lists that lack their first entry or have it twice. skip says which paths are left alone, nil is none. takes reads a document and
// says whether it is one; what it takes must then be as good as any.
func Leaves(tb testing.TB, name string, docs [][]byte, numbers []string, skip func(path string) bool, takes func(doc []byte) bool) {
	tb.Helper()
	said := make(map[string]map[string][2]int) // by path and value: how often it was refused, and taken
	for _, doc := range docs {
		in := json.NewDecoder(bytes.NewReader(doc))
		in.UseNumber()
		var root any
		if err := in.Decode(&root); err != nil {
			tb.Fatal(err)
		}
		places := make(map[string][]leaf)
		walk("", root, func(any) {}, places)
		for _, path := range slices.Sorted(maps.Keys(places)) {
			if skip != nil && skip(path) {
				continue
			}
			list := places[path]
			if len(list) > 1 {
				list = []leaf{list[0], list[len(list)-1]}
			}
			for _, l := range list {
				for _, other := range l.others(numbers) {
					l.set(other.value)
					text, err := json.Marshal(root)
					l.set(l.value)
					if err != nil {
						tb.Fatal(err)
					}
					if said[path] == nil {
						said[path] = make(map[string][2]int)
					}
					n := said[path][other.name]
					if takes(text) {
						n[1]++
					} else {
						n[0]++
					}
					said[path][other.name] = n
				}
			}
		}
	}
	var table strings.Builder
	for _, path := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&table, "%s:", path)
		for _, value := range slices.Sorted(maps.Keys(said[path])) {
			switch n := said[path][value]; {
			case n[0] == 0:
				fmt.Fprintf(&table, " %s", value)
			case n[1] > 0:
				fmt.Fprintf(&table, " %s(%d of %d)", value, n[1], n[0]+n[1])
			}
		}
		table.WriteByte('\n')
	}
	Check(tb, name, table.String())
}

// leaf is a value in a document, and how to set it.
type leaf struct {
	value any
	set   func(any)
}

// other is what a leaf may be instead.
type other struct {
	name  string
	value any
}

func (l *leaf) others(numbers []string) []other {
	var list []other
	switch v := l.value.(type) {
	case json.Number:
		for _, n := range numbers {
			list = append(list, other{n, json.Number(n)})
		}
	case string:
		list = []other{{`"nobody"`, "nobody"}, {`""`, ""}}
	case bool:
		list = []other{{"not", !v}}
	case []any:
		if len(v) > 0 {
			list = []other{{"less", v[1:]}, {"twice", append(v[:1:1], v...)}}
		}
	}
	return list
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
