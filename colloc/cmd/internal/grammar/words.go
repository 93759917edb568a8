package grammar

import (
	"fmt"
	"strings"
)

// SyntaxError is a fault in something that a user wrote on one line.
type SyntaxError struct {
	Column int // of the first byte at fault, from 1
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

// operators are what a shell would act upon. Without a shell they would reach
// the program as text, which nobody means who leaves them unquoted.
const operators = "|&;<>()`$"

// splitWords splits a command line as a POSIX shell would: words are separated
// by spaces, '...' is taken as it is, in "..." a backslash protects " \ $ ` and
// outside of quotes any character, and # at the start of a word begins a comment.
// Nothing is expanded: an unquoted operator, and a $ or ` in "...", is an error
// that says so.
func splitWords(line string) ([]string, error) {
	w := wordReader{line: line}
	for {
		word, ok, err := w.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return w.words, nil
		}
		w.words = append(w.words, word)
	}
}

// wordReader reads one line; at is the next byte.
type wordReader struct {
	line  string
	at    int
	words []string
}

func (r *wordReader) fault(at int, format string, args ...any) error {
	return &SyntaxError{Column: at + 1, What: fmt.Sprintf(format, args...)}
}

// next returns the next word, or false at the end of the line.
func (r *wordReader) next() (word string, ok bool, err error) {
	for r.at < len(r.line) && isSpace(r.line[r.at]) {
		r.at++
	}
	if r.at == len(r.line) || r.line[r.at] == '#' {
		return "", false, nil
	}
	var b strings.Builder
	for r.at < len(r.line) && !isSpace(r.line[r.at]) {
		switch c := r.line[r.at]; {
		case c == '\'':
			err = r.single(&b)
		case c == '"':
			err = r.double(&b)
		case c == '\\' && r.at+1 == len(r.line):
			err = r.fault(r.at, `a \ that protects nothing`)
		case c == '\\':
			b.WriteByte(r.line[r.at+1])
			r.at += 2
		case strings.IndexByte(operators, c) >= 0:
			err = r.fault(r.at, "%q means something to a shell only: quote it, or ask for a shell with -shell", c)
		default:
			b.WriteByte(c)
			r.at++
		}
		if err != nil {
			return "", false, err
		}
	}
	return b.String(), true, nil
}

// single reads '...'.
func (r *wordReader) single(b *strings.Builder) error {
	n := strings.IndexByte(r.line[r.at+1:], '\'')
	if n < 0 {
		return r.fault(r.at, "this ' is never closed")
	}
	b.WriteString(r.line[r.at+1 : r.at+1+n])
	r.at += n + 2
	return nil
}

// double reads "...".
func (r *wordReader) double(b *strings.Builder) error {
	start := r.at
	for r.at++; r.at < len(r.line); r.at++ {
		switch c := r.line[r.at]; {
		case c == '"':
			r.at++
			return nil
		case c == '\\' && r.at+1 < len(r.line) && strings.IndexByte("\"\\$`", r.line[r.at+1]) >= 0:
			r.at++
			b.WriteByte(r.line[r.at])
		case c == '$' || c == '`':
			return r.fault(r.at, `%q means something to a shell only: use '...' or \%c, or ask for a shell with -shell`, c, c)
		default:
			b.WriteByte(c)
		}
	}
	return r.fault(start, `this " is never closed`)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// QuoteWord is the inverse of splitWords for one word: what a shell, too, reads
// as that word.
func QuoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=./:,@%^", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// QuoteWords writes a command for people and for shells.
func QuoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = QuoteWord(w)
	}
	return strings.Join(quoted, " ")
}
