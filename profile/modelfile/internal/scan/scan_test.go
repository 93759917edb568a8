package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLines: lines come without their ends, numbered from 1, and errors name them.
func TestLines(t *testing.T) {
	var got []string
	var done bool
	collect := func(number int, line []byte) error {
		got = append(got, fmt.Sprintf("%d %s", number, line))
		done = string(line) == "b"
		if string(line) == "bad" {
			return errors.New("no good")
		}
		return nil
	}
	if err := NewLines(strings.NewReader("a\r\n\n\r\nb\nbad\n")).Each(&done, collect); err != nil {
		t.Error(err)
	}
	if want := []string{"1 a", "2 ", "3 ", "4 b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	done = false
	if err := NewLines(strings.NewReader("\nbad\n")).Each(&done, collect); err == nil || err.Error() != "line 2: no good" {
		t.Errorf("got %v", err)
	}
	for n, long := range map[int]bool{MaxLine - 1: false, MaxLine: true} { // with its end
		err := NewLines(strings.NewReader("a\n"+strings.Repeat("x", n)+"\n")).Each(new(bool), func(int, []byte) error { return nil })
		if long != (err != nil && err.Error() == "line 2 is longer than 65536 bytes") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestWire: fields of all types, and messages that end too early or too late.
func TestWire(t *testing.T) {
	largest := "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for data, want := range map[string]string{
		"\x08\x96\x01": "1=150",
		"\x09\x01\x00\x00\x00\x00\x00\x00\x00\x10\x07": "1=1 2=7",
		"\x0d\x02\x00\x00\x00\x10\x07":                 "1=2 2=7",
		"\x08" + largest:                               "1=18446744073709551615",
		"\x0a\x03abc\x10\x07":                          "1:5 2=7",
		"\x08" + strings.Repeat("\xff", 9) + "\x02":    "offset 0: offset 11: a varint longer than 64 bits",
		"\x80":                 "offset 0: unexpected EOF",
		"\x08":                 "offset 0: unexpected EOF",
		"\x10\x07\x0d\x02\x00": "offset 2: offset 5: unexpected EOF",
		"\x0b":                 "offset 0: wire type 3 is not known: no protobuf",
	} {
		for _, stream := range []bool{false, true} {
			r := io.Reader(bytes.NewReader([]byte(data)))
			if stream {
				r = io.MultiReader(r)
			}
			w := Wire{In: NewInput(r)}
			var fields []string
			err := w.Message(w.In.Size, func(f Field) error {
				if f.Kind == WireBytes {
					fields = append(fields, fmt.Sprintf("%d:%d", f.Number, f.End))
				} else {
					fields = append(fields, fmt.Sprintf("%d=%d", f.Number, f.Value))
				}
				return nil
			})
			got := strings.Join(fields, " ")
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q, as a stream %t: got %s, want %s", data, stream, got, want)
			}
		}
	}
	for data, want := range map[string]string{"\x08\x07": "offset 2: unexpected EOF", "\x08\x07\x0a\x05": "offset 2: field 1 of 5 bytes passes the end of its message"} {
		w := Wire{In: NewInput(io.MultiReader(strings.NewReader(data)))}
		if err := w.Message(8, func(Field) error { return nil }); err == nil || err.Error() != want {
			t.Errorf("%q in a message of 8 bytes: got %v, want %s", data, err, want)
		}
	}
}

// TestWireText: texts and lists of numbers are read within their bounds.
func TestWireText(t *testing.T) {
	wire := func(data string) *Wire { return &Wire{In: NewInput(strings.NewReader(data))} }
	if err := wire("\x0d\x01\x02\x03\x04").Message(3, func(Field) error { return nil }); err == nil || err.Error() != "offset 5: a field passes the end of its message" {
		t.Errorf("a number over the end: %v", err)
	}
	field := Field{Number: 7, Kind: WireBytes, Value: 3, End: 3}
	if got, err := wire("abc").Text(field); got != "abc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := wire("ab").Text(field); err == nil {
		t.Error("a text that is cut off was read")
	}
	full := wire("abc")
	if err := full.Hold(MaxText - 66); err != nil {
		t.Fatal(err)
	}
	if _, err := full.Text(field); err == nil || !strings.Contains(err.Error(), "names and shapes take more than") {
		t.Errorf("a text more than is held: %v", err)
	}
	if got, err := wire("\x01\xac\x02").Numbers([]int64{9}, field); !slices.Equal(got, []int64{9, 1, 300}) || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := wire("").Numbers(nil, Field{Kind: WireVarint, Value: 5}); !slices.Equal(got, []int64{5}) || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := wire("\x01\xac").Numbers(nil, field); err == nil || err.Error() != "offset 2: unexpected EOF" {
		t.Errorf("numbers that are cut off: %v", err)
	}
	for name, read := range map[string]func(Field) error{
		"text": func(f Field) error { _, err := wire("abcdefgh").Text(f); return err },
		"list": func(f Field) error { _, err := wire("abcdefgh").Numbers(nil, f); return err },
	} {
		if err := read(Field{Number: 7, Kind: wireFixed64}); err == nil || !strings.HasPrefix(err.Error(), "offset 0: field 7 is no "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHold: what is kept of names and shapes ends at MaxText bytes.
func TestHold(t *testing.T) {
	w := Wire{In: NewInput(strings.NewReader(""))}
	if err := w.Hold(MaxText); err != nil {
		t.Error(err)
	}
	if err := w.Hold(1); err == nil {
		t.Error("a byte more is kept")
	}
}

// TestSkip: skipping is reading on, in files and streams, as far as they go.
func TestSkip(t *testing.T) {
	text := strings.Repeat("x", 3*Ahead) + "abc"
	for name, r := range map[string]io.Reader{"file": strings.NewReader(text), "stream": io.MultiReader(strings.NewReader(text))} {
		in := NewInput(r)
		if err := in.Skip(0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := in.Peek(10); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, n := range []int64{10, int64(len(text)) - 12} {
			if err := in.Skip(n); err != nil {
				t.Errorf("%s: %d bytes: %v", name, n, err)
			}
		}
		if got, err := in.Bytes(2, 2); string(got) != "bc" || err != nil || in.Offset != int64(len(text)) {
			t.Errorf("%s: got %q at %d, %v", name, got, in.Offset, err)
		}
		if err := in.Skip(1); err == nil || !strings.Contains(err.Error(), "a length of 1 bytes passes the end of the file") {
			t.Errorf("%s: behind the end: %v", name, err)
		}
		if err := in.Skip(-1); err == nil {
			t.Errorf("%s: skipped backwards", name)
		}
	}
	in := NewInput(strings.NewReader("abc"))
	if _, err := in.Bytes(3, 2); err == nil || err.Error() != "offset 0: a length of 3 bytes, at most 2 are allowed" {
		t.Error(err)
	}
	if _, err := in.Bytes(4, 9); err == nil || err.Error() != "offset 0: a length of 4 bytes passes the end of the file" {
		t.Error(err)
	}
	if got, err := in.Bytes(3, 3); string(got) != "abc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestMiddle: a reader that was read from is read on from there, as a file of its own.
func TestMiddle(t *testing.T) {
	r := strings.NewReader("12345678")
	if _, err := io.CopyN(io.Discard, r, 3); err != nil {
		t.Fatal(err)
	}
	in := NewInput(r)
	if in.Size != 5 || in.Offset != 0 {
		t.Errorf("%d bytes from %d, want 5 from 0", in.Size, in.Offset)
	}
	whole, err := io.ReadAll(io.NewSectionReader(in.At(), 0, 9))
	if string(whole) != "45678" || err != nil {
		t.Errorf("%q, %v", whole, err)
	}
	if NewInput(io.MultiReader(strings.NewReader("1"))).At() != nil {
		t.Error("a stream is read anywhere")
	}
	if n := NewInput(io.MultiReader(strings.NewReader("1"))).Size; n != math.MaxInt64 {
		t.Errorf("a stream has %d bytes", n)
	}
}

// TestCounts: counts saturate, and only sensible ones are read.
func TestCounts(t *testing.T) {
	for _, c := range []struct{ got, want int64 }{
		{Mul(), 1},
		{Mul(3, 4), 12},
		{Mul(3, -1), 0},
		{Mul(1<<31, 1<<31), 1 << 62},
		{Mul(1<<32, 1<<31), math.MaxInt64},
		{Mul(1<<62, 1<<62), math.MaxInt64},
		{Mul(math.MaxInt64, 1), math.MaxInt64},
		{Add(), 0},
		{Add(3, 4), 7},
		{Add(math.MaxInt64-1, 1), math.MaxInt64},
		{Add(math.MaxInt64-1, 2), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
	for text, want := range map[string]int64{"0": 0, " 25,557,032 ": 25_557_032, "1000000000000000": 1e15, "1000000000000001": -1, "-1": -1, "": -1, "1.5": -1} {
		n, err := ParseCount(text)
		if err != nil {
			n = -1
		}
		if n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, err, want)
		}
	}
	for _, c := range []struct {
		shape []int64
		fault string
	}{
		{nil, ""},
		{[]int64{0, MaxDim}, ""},
		{make([]int64, MaxRank), ""},
		{make([]int64, MaxRank+1), "a shape of 17 dimensions, at most 16 are allowed"},
		{[]int64{1, -1}, "a dimension of -1"},
		{[]int64{MaxDim + 1}, "a dimension of 1099511627777"},
	} {
		if err := CheckShape(c.shape); (err == nil) != (c.fault == "") || err != nil && err.Error() != c.fault {
			t.Errorf("%v: got %v, want %q", c.shape, err, c.fault)
		}
	}
}

// cycle repeats a text without end.
type cycle struct {
	text string
	at   int
}

func (c *cycle) Read(p []byte) (int, error) {
	n := copy(p, c.text[c.at:])
	c.at = (c.at + n) % len(c.text)
	return n, nil
}

// TestReadersFail: what a reader fails with in the middle is told, with the place, and a text
// without end has one.
func TestReadersFail(t *testing.T) {
	broken := errors.New("disk on fire")
	failing := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) }
	none := func(int, []byte) error { return nil }
	if err := NewLines(failing("one\ntwo")).Each(new(bool), none); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("in a line: %v", err)
	}
	if err := NewLines(failing("one\n")).Each(new(bool), none); !errors.Is(err, broken) {
		t.Errorf("between lines: %v", err)
	}
	if _, err := Document(failing("{")); !errors.Is(err, broken) {
		t.Errorf("in a document: %v", err)
	}
	if _, err := NewInput(io.MultiReader(strings.NewReader("abc"))).Bytes(5, 9); err == nil || err.Error() != "offset 0: unexpected EOF" {
		t.Errorf("a stream that ends: %v", err)
	}
	line := strings.Repeat("x", MaxLine-1) + "\n"
	if err := NewLines(&cycle{text: line}).Each(new(bool), none); err == nil || err.Error() != "line 1025: the text is longer than 67108864 bytes" {
		t.Errorf("a text without end: %v", err)
	}
}
