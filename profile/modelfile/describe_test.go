package modelfile

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// sample is a file and what is read of it, as told prints it, or the error.
type sample struct {
	name, text string
	want       string
}

// check reads each file and compares.
func check(t *testing.T, read func(text string) (*File, error), list []sample) {
	t.Helper()
	for _, r := range list {
		t.Run(r.name, func(t *testing.T) {
			f, err := read(r.text)
			got := fmt.Sprint(err)
			if err == nil {
				got = told(f)
			}
			if want := strings.TrimSpace(r.want); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// readText reads a text of any format.
func readText(text string) (*File, error) { return Read(strings.NewReader(text), nil) }

// told prints a file: a line for the whole, one for each leaf with what is not 0 of it,
// and one for each warning.
func told(f *File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %q", f.Format, f.Model.Name)
	for _, part := range []struct{ name, value string }{
		{"", f.Model.Architecture},
		{"", strings.TrimSuffix(f.Model.Family.String(), profile.UnknownFamily.String())},
		{"total ", f.TotalParams.String()},
		{"batch ", f.BatchSize.String()},
		{"sample ", f.SampleElements.String()},
	} {
		if part.value != "" && part.value != noCount.String() {
			b.WriteString(", " + part.name + part.value)
		}
	}
	for _, l := range f.Model.Layers {
		fmt.Fprintf(&b, "\n%s: %v", l.Name, l.Kind)
		for _, n := range []struct {
			name  string
			count int64
		}{{"units", l.Neurons}, {"params", l.Params}, {"frozen", l.Frozen}, {"out", l.Activations}} {
			if n.count != 0 {
				fmt.Fprintf(&b, " %s %d", n.name, n.count)
			}
		}
		if n, ok := l.MACs.Get(); ok {
			fmt.Fprintf(&b, " macs %d", n)
		}
		if l.InPlace {
			b.WriteString(" in place")
		}
		if l.Unknown != 0 {
			fmt.Fprintf(&b, " without %v", l.Unknown)
		}
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "\n! %v", w)
	}
	return b.String()
}

var noCount profile.Opt[int64]
