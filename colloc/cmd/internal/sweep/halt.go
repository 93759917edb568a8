package sweep

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/colloc/cmd/internal/grammar"
)

// halt says when to give up: after so many failures or, in per cent of all
// tasks, so large a share of them. The zero value does when tasks fail at their
// start, one after the other.
type halt struct {
	never bool // not even when one task after the other fails at its start
	now   bool // end what runs, instead of letting it finish
	fail  int
	share float64 // in (0, 1]; 0 if fail is set
}

// parseHalt reads "never", or "now" or "soon" with ",fail=N" or ",fail=N%";
// without it the first failure is enough.
func parseHalt(text string) (halt, error) {
	when, count, counted := strings.Cut(text, ",")
	h := halt{now: when == "now", fail: 1}
	if text == "never" || text == "" {
		return halt{never: text != ""}, nil
	}
	if when != "now" && when != "soon" {
		return halt{}, &grammar.SyntaxError{Column: 1, What: fmt.Sprintf("%q: want never, now or soon, the latter two with ,fail=N or ,fail=N%%", when)}
	}
	if !counted {
		return h, nil
	}
	column := len(when) + 2
	number, ok := strings.CutPrefix(count, "fail=")
	if !ok {
		return halt{}, &grammar.SyntaxError{Column: column, What: fmt.Sprintf("%q: want fail=N or fail=N%%", count)}
	}
	column += len("fail=")
	if percent, ok := strings.CutSuffix(number, "%"); ok {
		p, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return halt{}, &grammar.SyntaxError{Column: column, What: fmt.Sprintf("%q: want more than 0%%, at most 100%%", number)}
		}
		return halt{now: h.now, share: p / 100}, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return halt{}, &grammar.SyntaxError{Column: column, What: fmt.Sprintf("%q: want a whole number from 1, or one with %%", number)}
	}
	h.fail = n
	return h, nil
}

// inARow is how many tasks may fail at their start, as the runner takes it.
func (h halt) inARow() int {
	if h.never {
		return -1
	}
	return 0
}

// failures returns how many failed tasks of total are enough to give up; 0 is
// never.
func (h halt) failures(total int) int {
	if h.share > 0 {
		return max(1, int(math.Ceil(h.share*float64(total))))
	}
	return h.fail
}
