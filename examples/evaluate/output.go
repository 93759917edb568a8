package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// writeJSON prints one object a line: set, split, model, n and the metrics; with
// calibration also the asked and the seen risk of running out of memory.
func writeJSON(w io.Writer, lines []line, calibration bool) error {
	var out bytes.Buffer
	for _, l := range lines {
		out.WriteByte('{')
		for _, f := range []struct{ key, value string }{{"set", l.set}, {"split", l.split}, {"model", l.Model}} {
			text, err := json.Marshal(f.value)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%q:%s,", f.key, text)
		}
		fmt.Fprintf(&out, "%q:%d", "n", l.N)
		for _, m := range l.Metrics {
			if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
				return fmt.Errorf("%s, %s, %s: %s is %v", l.set, l.split, l.Model, m.Name, m.Value)
			}
			fmt.Fprintf(&out, ",%q:%s", m.Name, rounded(m.Value))
		}
		out.WriteString("}\n")
		for _, r := range l.Risks {
			if calibration {
				fmt.Fprintf(&out, "{\"kind\":\"oom_calibration\",\"set\":%q,\"split\":%q,\"n\":%d,\"asked_pct\":%s,\"seen_pct\":%s}\n",
					l.set, l.split, l.N, rounded(100*r.Asked), rounded(100*r.Seen))
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writeTable prints the same for people, one block a set and split.
func writeTable(w io.Writer, lines []line) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var set, split string
	for _, l := range lines {
		if l.set != set || l.split != split {
			set, split = l.set, l.split
			fmt.Fprintf(t, "\n%s, %s\tn", set, split)
			for _, m := range l.Metrics {
				fmt.Fprintf(t, "\t%s", m.Name)
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "  %s\t%d", l.Model, l.N)
		for _, m := range l.Metrics {
			fmt.Fprintf(t, "\t%s", rounded(m.Value))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// rounded prints four decimals without trailing zeros, so that the last bits of
// a sum, which differ between machines, do not show.
func rounded(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64)
}
