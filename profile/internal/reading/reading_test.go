package reading

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// TestUTF8: text of any plane comes out of UTF-16 as it went in, in either order of bytes
// and however little is read at once; a lone half of a pair is replaced.
func TestUTF8(t *testing.T) {
	const text = "GPU 0: Wärme 80 °C, 温度, 𝛼 and 😀😀 end"
	encode := func(units []uint16, big bool) []byte {
		var b []byte
		for _, u := range append([]uint16{0xfeff}, units...) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return b
	}
	for _, tt := range []struct {
		name  string
		units []uint16
		want  string
	}{
		{"text", utf16.Encode([]rune(text)), text},
		{"half a pair", []uint16{'a', 0xd83d, 'b', 'c'}, "a\ufffdbc"},
		{"two halves", []uint16{0xd83d, 0xd83d, 0xde00, 0xde00}, "\ufffd😀\ufffd"},
		{"half a pair at the end", []uint16{'a', 0xd83d}, "a\ufffd"},
		{"nothing", nil, ""},
	} {
		for _, big := range []bool{false, true} {
			for _, few := range []bool{false, true} {
				r := UTF8(bytes.NewReader(encode(tt.units, big)))
				if few {
					r = iotest.OneByteReader(r)
				}
				if got, err := io.ReadAll(r); err != nil || string(got) != tt.want {
					t.Errorf("%s, big %v, one by one %v: %q, %v; want %q", tt.name, big, few, got, err, tt.want)
				}
			}
		}
	}
}

// TestUTF8Cut: half a unit at the end is none, and what a reader fails with is told.
func TestUTF8Cut(t *testing.T) {
	if got, err := io.ReadAll(UTF8(strings.NewReader("\xff\xfea\x00b"))); err != nil || string(got) != "a" {
		t.Errorf("cut off in the middle: %q, %v", got, err)
	}
	broken := errors.New("disk on fire")
	if _, err := io.ReadAll(UTF8(io.MultiReader(strings.NewReader("\xff\xfea\x00"), iotest.ErrReader(broken)))); !errors.Is(err, broken) {
		t.Errorf("of a broken reader: %v", err)
	}
}

// TestClip: what is clipped ends behind a whole letter.
func TestClip(t *testing.T) {
	for n, want := range map[int]string{60: strings.Repeat("é", 30), 62: strings.Repeat("é", 30) + "..."} {
		if got := Clip(strings.Repeat("é", n/2)); got != want {
			t.Errorf("%d bytes are clipped to %q", n, got)
		}
	}
	if got, want := Clip("x"+strings.Repeat("é", 40)), "x"+strings.Repeat("é", 29)+"..."; got != want {
		t.Errorf("clipped in a letter: %q, want %q", got, want)
	}
}
