package jsondoc_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/jsondoc"
)

func read(t *testing.T, text string) *jsondoc.Document {
	t.Helper()
	d, err := jsondoc.Read(strings.NewReader(text), "a.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Lines are those of a count from the start.
func TestLine(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "\n\na\nbc\n", strings.Repeat("x\n", 1000)} {
		d := read(t, text)
		for at := range len(text) + 1 {
			if got, want := d.Line(at), 1+bytes.Count([]byte(text[:at]), []byte("\n")); got != want {
				t.Fatalf("%.20q: byte %d is in line %d, want %d", text, at, got, want)
			}
		}
	}
}

func TestMembers(t *testing.T) {
	d := read(t, "{\"a\": 1,\n \"list\": [ {\"n\": 2},\n{\"n\": \"3\"}, {\"m\": 4}]}\n")
	parts, err := d.Members(d.Whole())
	if err != nil || len(parts) != 2 || parts[1].Key != "list" || string(parts[0].Raw) != "1" {
		t.Fatalf("%+v, %v", parts, err)
	}
	list, err := d.Members(parts[1])
	if err != nil || len(list) != 3 || string(list[1].Raw) != `{"n": "3"}` || d.Line(list[1].Offset) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	var v struct {
		N int `json:"n"`
	}
	for i, want := range []string{"", "a.json:3: n is a JSON string, want int", `a.json:3: json: unknown field "m"`} {
		err := d.Decode(list[i], &v)
		if got := errorText(err); got != want {
			t.Errorf("part %d: got %q, want %q", i, got, want)
		}
	}
	if v.N != 2 {
		t.Errorf("n is %d, want 2", v.N)
	}
}

// own is a type that whoever writes JSON does not know.
type own struct{}

// TestDecode: what does not fit is told in the words of JSON, with its line.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"{\"n\": 1}":              "",
		"{\"n\": 1,\n\n\"a\" 2}":  "a.json:3: invalid character '2' after object key",
		"{\"n\": \"3\"\n\n}":      "a.json:1: n is a JSON string, want int",
		"{\"list\": 3}":           "a.json:1: list is a JSON number, want a list of strings",
		"{\"own\": 3}":            "a.json:1: own is a JSON number, want a list",
		"{\"n\": 1}\n\n, 7":       `a.json:3: unexpected ", 7" after the end`,
		"{\"n\": 1,\n\"m\": 2\n}": `a.json:3: json: unknown field "m"`,
	} {
		d := read(t, text)
		var v struct {
			N    int      `json:"n"`
			List []string `json:"list"`
			Own  []own    `json:"own"`
		}
		if got := errorText(d.Decode(d.Whole(), &v)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestMark: a byte order mark is no part of the document.
func TestMark(t *testing.T) {
	if d := read(t, "\ufeff[1]"); string(d.Data) != "[1]" {
		t.Errorf("got %q", d.Data)
	}
}

// TestMost: as much as is allowed is read, and no more.
func TestMost(t *testing.T) {
	d := read(t, "["+strings.Repeat("1,", jsondoc.MaxMembers-1)+"1]")
	if parts, err := d.Members(d.Whole()); err != nil || len(parts) != jsondoc.MaxMembers {
		t.Errorf("%d values, %v, want %d", len(parts), err, jsondoc.MaxMembers)
	}
	for most, fits := range map[int]bool{7: false, 8: true, 9: true} {
		if _, err := jsondoc.Read(strings.NewReader("12345678"), "a.json", most); (err == nil) != fits {
			t.Errorf("8 bytes where %d are allowed: %v", most, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": 1,\n\"a\": 2}":                  `a.json:2: "a" is there twice`,
		"{\"a\":\n\n":                            "a.json:3: the file ends in the middle of a value",
		"{}\n{}":                                 `a.json:2: unexpected "{}" after the end`,
		"[\n1 2]":                                "a.json:2: expected comma",
		"[" + strings.Repeat("1,", 1<<16) + "1]": "more than 65536 values",
	} {
		d := read(t, text)
		_, err := d.Members(d.Whole())
		var fault *jsondoc.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", text, err, want)
		}
	}
	if _, err := jsondoc.Read(strings.NewReader("123456789"), "a.json", 8); err == nil || !strings.Contains(err.Error(), "a.json is larger than") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := jsondoc.ReadFile(t.TempDir(), 8); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	path := filepath.Join(t.TempDir(), "b.json")
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := jsondoc.ReadFile(path, 8); err != nil || d.Name != "b.json" {
		t.Errorf("a file: %+v, %v", d, err)
	}
}
