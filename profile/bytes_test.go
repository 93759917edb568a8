package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bytes
	}{
		{"0", 0},
		{"1073741824", GiB},
		{"9223372036854775807", math.MaxInt64},
		{"9007199254740993", 1<<53 + 1}, // not a float64
		{"512b", 512},
		{"24GiB", 24 * GiB},
		{"24 GiB", 24 * GiB},
		{" 24576 MiB\n", 24 * GiB},
		{"24G", 24 * GiB},
		{"24gib", 24 * GiB},
		{"24Gi", 24 * GiB},
		{"24gb", 24_000_000_000},
		{"1.5 TB", 1_500_000_000_000},
		{"1.5 TiB", TiB + 512*GiB},
		{"4k", 4 * KiB},
		{"3KB", 3000},
		{"7MB", 7_000_000},
		{".5K", 512},
		{"1e3 KiB", 1000 * KiB},
		{"0.4", 0},
		{"7T", 7 * TiB},
	} {
		got, err := ParseBytes(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: got %d, %v, want %d", c.text, got, err, c.want)
		}
	}
}

func TestParseBytesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":              "has no number",
		"GiB":           "has no number",
		".":             "has no number",
		"0x10":          "has no number",
		"1_000":         "has no number",
		"--4":           "has no number",
		"inf":           "has no number",
		"NaN":           "has no number",
		"4 XiB":         "unknown unit",
		"4 GiB 3":       "has no number",
		"-4":            "not between",
		"-1 GiB":        "not between",
		"1e400":         "not between",
		"9e18 GiB":      "not between",
		"8388608 TiB":   "not between",
		"10000000000 G": "not between",
	} {
		got, err := ParseBytes(text)
		if err == nil || !strings.Contains(err.Error(), want) || got != 0 {
			t.Errorf("%q: got %d, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestBytesString(t *testing.T) {
	for b, want := range map[Bytes]string{
		0: "0 B", 512: "512 B", 1023: "1023 B", KiB: "1 KiB", 1536: "1.5 KiB", 40 * GiB: "40 GiB",
		GiB + GiB/3: "1.33 GiB", 100 * TiB: "100 TiB", -MiB: "-1 MiB", math.MinInt64: "-8388608 TiB",
	} {
		if got := b.String(); got != want {
			t.Errorf("%d: got %q, want %q", int64(b), got, want)
		}
	}
}

func TestBytesOf(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want Bytes
	}{
		{0, 0},
		{-3, 0},
		{math.NaN(), 0},
		{math.Inf(-1), 0},
		{0.1, 1},
		{1024.5, 1025},
		{1e30, math.MaxInt64},
		{math.Inf(1), math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
	} {
		if got := BytesOf(c.n); got != c.want {
			t.Errorf("%v: got %d, want %d", c.n, got, c.want)
		}
	}
}

func TestBytesJSON(t *testing.T) {
	var got struct {
		A, B, C Bytes
		D       *Bytes
	}
	got.C = 7
	if err := json.Unmarshal([]byte(`{"A":1048576,"B":"24 GiB","C":null,"D":null}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.A != MiB || got.B != 24*GiB || got.C != 7 || got.D != nil {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []string{`true`, `"24 XB"`, `-1`, `[]`, `{}`, `"\q"`} {
		var b Bytes
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s was read as %v", bad, b)
		}
	}
}

func TestBytesJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Bytes(rapid.Int64Min(0).Draw(t, "bytes"))
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Bytes
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Fatalf("%s: got %d, %v", data, got, err)
		}
	})
}

// FuzzParseBytes checks that what is read prints to something that reads as
// nearly the same amount: String keeps two decimals.
func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"", "24GiB", "1.5 TB", "9223372036854775807", "-1", "0x1p4", "1e400", "٣ GiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			return
		}
		if b < 0 {
			t.Fatalf("%q: got %d", text, b)
		}
		again, err := ParseBytes(b.String())
		if err != nil && b < math.MaxInt64-TiB/100 {
			t.Fatalf("%q prints as %q: %v", text, b, err)
		}
		if err == nil && !(math.Abs(float64(again-b)) <= 0.005*float64(b)+1) {
			t.Fatalf("%q: %d prints as %q, which reads %d", text, b, b, again)
		}
	})
}

func ExampleParseBytes() {
	for _, text := range []string{"24GiB", "24576 MiB", "24 GB", "lots"} {
		b, err := ParseBytes(text)
		fmt.Println(b, err)
	}
	// Output:
	// 24 GiB <nil>
	// 24 GiB <nil>
	// 22.35 GiB <nil>
	// 0 B profile: parse bytes: "lots" has no number; write for example 24GiB
}

func ExampleBytesOf() {
	fmt.Println(BytesOf(1.5*float64(GiB)), BytesOf(-1))
	// Output: 1.5 GiB 0 B
}
