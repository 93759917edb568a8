package grammar

import (
	"fmt"
	"regexp"
	"strings"
)

// placeholder is {}, {#} or {NAME}, or one of them in another pair of braces,
// which stands for the placeholder as text. Other braces are left alone, so
// that JSON can be an argument.
var placeholder = regexp.MustCompile(`\{\{(?:#|[A-Za-z_][A-Za-z0-9_.-]*)?\}\}|\{(?:#|[A-Za-z_][A-Za-z0-9_.-]*)?\}`)

// values are what placeholders stand for, by name: "" is {}, "#" is {#}.
type values map[string]string

// substitute replaces the placeholders of one word. quote is applied to each
// value. A placeholder without a value is an error.
func (v values) substitute(word string, quote func(string) string) (string, error) {
	var err error
	out := placeholder.ReplaceAllStringFunc(word, func(p string) string {
		if strings.HasPrefix(p, "{{") {
			return p[1 : len(p)-1]
		}
		value, ok := v[p[1:len(p)-1]]
		switch {
		case ok:
			return quote(value)
		case err != nil:
		case p == "{}":
			err = fmt.Errorf("%q: {} is the number of a repeat: it needs -n N; {{}} is the text {}", word)
		default:
			err = fmt.Errorf("%q: %s has no values: add -p %s=..., or write {%s} for the text", word, p, p[1:len(p)-1], p)
		}
		return p
	})
	return out, err
}

// used adds the names of the placeholders of a word to names.
func used(word string, names map[string]bool) {
	for _, p := range placeholder.FindAllString(word, -1) {
		if !strings.HasPrefix(p, "{{") {
			names[p[1:len(p)-1]] = true
		}
	}
}
