package table

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// optEqual compares optional numbers in cmp.Diff.
var optEqual = cmp.Comparer(func(a, b profile.Opt[float64]) bool { return a == b })

// fullRow has a value in every column.
func fullRow() Row {
	var r Row
	for i, c := range columns {
		switch to := c.at(&r).(type) {
		case *string:
			*to = c.name
		case *profile.Opt[float64]:
			*to = profile.Some(float64(i) + 0.25)
		default:
			panic(c.name + " is neither text nor a number")
		}
	}
	return r
}

func TestCSV(t *testing.T) {
	bytesRow := Row{Cell: `a "b", c`, GPUMemory: profile.Some(150754820096.0), Speed: profile.Some(0.123456)}
	want := []Row{fullRow(), {}, bytesRow}
	var text bytes.Buffer
	if err := WriteCSV(&text, want); err != nil {
		t.Fatal(err)
	}
	got, err := readCSV("x.csv", bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, optEqual); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if empty := strings.Split(text.String(), "\n")[2]; strings.Trim(empty, ",") != "" {
		t.Errorf("a row of missing values is %q", empty)
	}
}

func TestCSVFaults(t *testing.T) {
	var good bytes.Buffer
	if err := WriteCSV(&good, []Row{{Cell: "c", Speed: profile.Some(0.5)}}); err != nil {
		t.Fatal(err)
	}
	text := good.String()
	tests := []struct{ name, text, want string }{
		{"empty", "", "x.csv: header"},
		{"other table", "a,b\n1,2\n", `no column "simulated"`},
		{"no number", strings.Replace(text, "0.5", "fast", 1), `x.csv:2: column speed: "fast"`},
		{"NaN", strings.Replace(text, "0.5", "NaN", 1), "column speed"},
		{"negative", strings.Replace(text, "0.5", "-0.5", 1), "column speed"},
		{"short line", text + "c,d\n", "x.csv: record on line 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readCSV("x.csv", strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSchema compares README.md with the columns.
func TestSchema(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, c := range columns {
		want.WriteString("| `" + c.name + "` | " + c.unit + " | " + c.doc + " |\n")
	}
	if !strings.Contains(string(readme), want.String()) {
		t.Errorf("README.md should have these lines:\n%s", want.String())
	}
}

func FuzzReadCSV(f *testing.F) {
	var good bytes.Buffer
	if err := WriteCSV(&good, []Row{fullRow(), {}}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.String())
	f.Add(strings.ReplaceAll(good.String(), ",", ";"))
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := readCSV("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range rows {
			if s, ok := rows[i].Speed.Get(); ok && (math.IsNaN(s) || s < 0) {
				t.Errorf("speed %v", s)
			}
		}
	})
}
