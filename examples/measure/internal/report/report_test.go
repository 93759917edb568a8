package report_test

import (
	"io"
	"strings"
	"testing"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/report"
	"example.com/colloc/examples/measure/internal/table"
)

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
