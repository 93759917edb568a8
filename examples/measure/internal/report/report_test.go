package report_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/report"
	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/profile"
)

// TestMemoryOfPairs: two hundred pairs take 0, 1, ... 199 MiB less than their tasks alone, in
// no order; the 99 % are the nearest rank.
func TestMemoryOfPairs(t *testing.T) {
	task := func(cell, name, mechanism string, member int, mib float64) table.Row {
		return table.Row{
			Cell: cell, Task: name, Mechanism: mechanism, Member: profile.Some(float64(member)), Peak: profile.Some(mib * (1 << 20)),
		}
	}
	rows := []table.Row{task("a", "a", "exclusive", 0, 400), task("b", "b", "exclusive", 0, 600)}
	for i := range 200 {
		cell := strconv.Itoa(i)
		rows = append(rows, task(cell, "a", "mps", 0, 400), task(cell, "b", "mps", 1, 600-float64(i*7%200)))
	}
	var out strings.Builder
	if err := report.Print(&out, rows); err != nil {
		t.Fatal(err)
	}
	const want = "mps 200 -100 MiB -2 MiB 0 MiB\n"
	if got := strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == ' ' }), " "); !strings.Contains(got, want) {
		t.Errorf("no line %q in\n%s", want, out.String())
	}
}

// FuzzPrint goes the way of measurements, from the text of a raw file to the report.
func FuzzPrint(f *testing.F) {
	const header = `{"format":"colloc-measure","version":1}` + "\n"
	const result = `{"result":{"cell":{"mechanism":"exclusive","tasks":["lstm"],"repeat":0},"status":"crash","members":[{"task":"lstm","status":"crash"}]}}` + "\n"
	for _, text := range []string{header, header + result, header + strings.ReplaceAll(result, "crash", "ok")} {
		f.Add(text)
	}
	f.Add(header + `{"result":{"cell":{"mechanism":"mps","tasks":["a"],"threads":[0.5]},"status":"ok","window":{"from":1,"to":2},"members":[{"task":"a","status":"ok","times":[0,3],"counts":[0,9]}]}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := raw.Read("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		if err := report.Print(io.Discard, table.Tidy(c)); err != nil {
			t.Error(err)
		}
	})
}
