package grammar

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
		err  string
	}{
		{line: ""},
		{line: " \t # nothing"},
		{line: "python train.py --lr 0.1", want: []string{"python", "train.py", "--lr", "0.1"}},
		{line: `a 'b c' "d 'e' \" \\ \$ \n" f\ g '' x#y # z`, want: []string{"a", "b c", `d 'e' " \ $ \n`, "f g", "", "x#y"}},
		{line: `--cfg={"a":1}`, want: []string{"--cfg={a:1}"}},
		{line: `--cfg='{"a":1}' *.py ~`, want: []string{`--cfg={"a":1}`, "*.py", "~"}},
		{line: "a\r", want: []string{"a"}},
		{line: "a 'b", err: "column 3: this ' is never closed"},
		{line: `a "b\"`, err: `column 3: this " is never closed`},
		{line: `a \`, err: `column 3: a \ that protects nothing`},
		{line: "a b > c", err: "column 5: '>' means something to a shell only"},
		{line: "a $HOME", err: "column 3: '$' means something"},
		{line: `a "x $y"`, err: "column 6: '$' means something to a shell only: use '...'"},
		{line: "a|b", err: "column 2: '|'"},
	} {
		got, err := splitWords(tt.line)
		if !failsWith(err, tt.err) {
			t.Errorf("%q: error %v, want %q", tt.line, err, tt.err)
		}
		if err == nil && !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// failsWith reports whether err is what text says: nothing, or an error with it.
func failsWith(err error, text string) bool {
	if text == "" || err == nil {
		return text == "" && err == nil
	}
	return strings.Contains(err.Error(), text)
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g # h`)
	f.Add("a |")
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		var fault *SyntaxError
		switch {
		case errors.As(err, &fault):
			if fault.Column < 1 || fault.Column > len(line) {
				t.Errorf("%q: column %d", line, fault.Column)
			}
			return
		case err != nil:
			t.Fatalf("%q: %v has no column", line, err)
		}
		again, err := splitWords(QuoteWords(words))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: %q is quoted as %q and read as %q, %v", line, words, QuoteWords(words), again, err)
		}
	})
}

func TestParseParam(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
		err  string
	}{
		{text: "x=0.1,0.01", want: []string{"0.1", "0.01"}},
		{text: "x=0..4,42", want: []string{"0", "1", "2", "3", "4", "42"}},
		{text: "x=4..0:2", want: []string{"4", "2", "0"}},
		{text: "x=0..1:0.3", want: []string{"0", "0.3", "0.6", "0.9"}},
		{text: "x=-1..1", want: []string{"-1", "0", "1"}},
		{text: "x=7..7", want: []string{"7"}},
		{text: "x=1e-4..1e-1:x10", want: []string{"0.0001", "0.001", "0.01", "0.1"}},
		{text: "x=64..8:x2", want: []string{"64", "32", "16", "8"}},
		{text: "x=3..3:x2", want: []string{"3"}},
		{text: `x="64,64",128\,128,'a"b',"c\"d\\",''`, want: []string{"64,64", "128,128", `a"b`, `c"d\`, ""}},
		{text: "x=../data,a..b,\"0..3\"", want: []string{"../data", "a..b", "0..3"}},
		{text: "x=a b,c", want: []string{"a b", "c"}},
		{text: "x", err: "column 2: want NAME=VALUE"},
		{text: "=1", err: "column 1: want NAME=VALUE"},
		{text: "1x=1", err: "column 1: want NAME"},
		{text: "x=", err: "column 3: a value is missing"},
		{text: "x=1,,2", err: "column 5: a value is missing"},
		{text: "x=1,", err: "column 5: a value is missing"},
		{text: "x=1,2,1", err: `column 7: the value "1" is there twice`},
		{text: "x='a", err: "column 3: this ' is never closed"},
		{text: `x=a\`, err: `column 4: a \ that protects nothing`},
		{text: "x=0..x", err: `column 3: "0..x" is no range`},
		{text: "x=0..4:0", err: "column 3: the step 0 is not above 0"},
		{text: "x=0..4:-1", err: "is not above 0"},
		{text: "x=0..1000000", err: "more than 100000 values"},
		{text: "x=0..1:1e-20", err: "more than 100000 values"},
		{text: "x=0..8:x2", err: "above 0 only"},
		{text: "x=1..8:x1", err: "leads nowhere"},
		{text: "x=9..1:x3", err: "the factor 3 leads away from 1"},
		{text: "x=1..2:x1.0001", err: "more than 200 values"},
	} {
		got, err := ParseParam(tt.text)
		if !failsWith(err, tt.err) {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
		}
		if err == nil && !slices.Equal(got.Values, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got.Values, tt.want)
		}
	}
}

func FuzzParseParam(f *testing.F) {
	for _, s := range []string{"lr=0.1,0.01", "s=0..4:2", "b=1e-9..1:x10", `q="a,b",c\,d`, "x=99e99..1e-99:x0.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParam(text)
		var fault *SyntaxError
		switch {
		case errors.As(err, &fault):
			if fault.Column < 1 || fault.Column > len(text)+1 {
				t.Errorf("%q: column %d", text, fault.Column)
			}
			return
		case err != nil:
			t.Fatalf("%q: %v has no column", text, err)
		}
		if len(p.Values) == 0 || len(p.Values) > MaxTasks || !strings.HasPrefix(text, p.Name+"=") {
			t.Fatalf("%q: %q with %d values", text, p.Name, len(p.Values))
		}
		if len(p.Values) > 100 || !utf8.ValidString(text) {
			return
		}
		quoted := make([]string, len(p.Values)) // a list of the values, each quoted, is the same list
		for i, v := range p.Values {
			quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
		}
		again, err := ParseParam(p.Name + "=" + strings.Join(quoted, ","))
		if err != nil || !slices.Equal(again.Values, p.Values) {
			t.Errorf("%q: %q, again %q, %v", text, p.Values, again.Values, err)
		}
	})
}

func TestParseTemplates(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{"fine", "@id=a x\n@after=a @priority=-1 y\n", ""},
		{"empty", "# nothing\n\n", "f: no commands"},
		{"mark", "\ufeff# nothing\n", "f: no commands"},
		{"quotes", "a\nb 'c\n", "f:2: column 3: this ' is never closed"},
		{"after an attribute", "@id=a b |\n", "f:1: column 9: '|'"},
		{"unknown attribute", " @name=a b\n", "f:1: column 2: unknown attribute @name"},
		{"no value", "@id= b\n", "f:1: column 1: @id= has no value"},
		{"no name", "@id=a/b c\n", `the id "a/b" is no plain name`},
		{"no number", "@id=a @priority=high c\n", "f:1: column 7: the priority \"high\""},
		{"no command", "@id=a\n", "f:1: column 6: attributes without a command"},
		{"twice", "@id=a b\n@id=a c\n", "f:2: the id \"a\" was used before, in line 1"},
		{"nobody", "@after=b a\n", "f:1: @after=b: no command has this @id"},
		{"circle", "@id=a @after=b x\n@id=b @after=a y\n", "f:2: @after=a: a waits for this command, too"},
		{"itself", "@id=a @after=a x\n", "f:1: @after=a: a waits for this command, too"},
		{"long", strings.Repeat("x", maxLine+1), "a line is longer than 1 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			templates, err := parseTemplates(strings.NewReader(tt.text), "f", false)
			if err == nil {
				g := Grid{Templates: templates}
				_, err = g.Jobs()
			}
			if !failsWith(err, tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
