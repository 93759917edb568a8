package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Percent writes a fraction as "82 %".
func Percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }

// Rounded leaves of a duration what people want to read.
func Rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d
}

// Plural writes "1 GPU", "2 GPUs", "2 retries".
func Plural(n int, what string) string {
	if n != 1 {
		if rest, ok := strings.CutSuffix(what, "y"); ok {
			what = rest + "ie"
		}
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
