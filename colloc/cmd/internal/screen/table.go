package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/profile"
)

// table redraws a few lines at the bottom of a terminal; what happens scrolls by
// above them.
type table struct {
	mu    sync.Mutex
	out   io.Writer
	size  func() (width, height int)
	names *Names
	drawn int    // lines of the table on the screen
	last  []byte // its text
}

// NewTable returns the display for a terminal.
func NewTable(f *os.File, names *Names) Display {
	return &table{out: f, names: names, size: func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 || h <= 0 {
			return 80, 24
		}
		return w, h
	}}
}

// above prints lines and draws the table below them again.
func (t *table) above(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw(text, t.last)
}

// draw replaces the table by text and a new table, in one write, so that nothing
// flickers.
func (t *table) draw(text string, body []byte) {
	var b bytes.Buffer
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn)
	}
	b.WriteString(text)
	b.Write(body)
	_, _ = t.out.Write(b.Bytes()) // a closed terminal ends the program anyway
	t.drawn, t.last = bytes.Count(body, []byte("\n")), body
}

func (t *table) Event(e *runner.Event) {
	switch e.Kind {
	case runner.EventStarted, runner.EventAdopted:
		return // the table shows it
	case runner.EventFinished:
		if e.Record.State == runner.Succeeded {
			return
		}
	default:
	}
	if text := t.names.in(eventText(e)); text != "" {
		t.above(e.At.Local().Format(time.TimeOnly) + " " + text + "\n")
	}
}

func (t *table) Note(text string)       { t.above(text + "\n") }
func (t *table) Line(task, text string) { t.above(task + " | " + text + "\n") }

func (t *table) Tick(v *View) {
	width, height := t.size()
	body := v.table(width, height-1, t.names)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw("", body)
}

func (t *table) End(r *Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw("", nil)
	r.write(t.out)
}

// table writes the view in at most so many lines of so many columns.
func (v *View) table(width, height int, names *Names) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, v.headline())
	fmt.Fprintln(&b, bar(v.Count.done(), v.Count.total(), min(width, 60)))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GPU\tMEMORY\tRESERVED\tBUSY\tTASKS")
	for i := range v.GPUs {
		g := &v.GPUs[i]
		state := joblog.Text(g.Busy, Percent)
		if g.Lost {
			state = "lost"
		}
		fmt.Fprintf(w, "%s\t%s\t%v of %v\t%s\t%d\n", names.of(g.Device.ID), joblog.Text(g.Used, profile.Bytes.String), g.Reserved, g.Usable, state, len(g.Tasks))
	}
	_ = w.Flush()
	fmt.Fprintln(w, "TASK\tGPU\tSTEP\tSPEED\tMEMORY\tTIME")
	for i := range v.Records {
		r := &v.Records[i]
		if r.State == runner.Running || r.State == runner.Starting {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%v\n", shorten(r.Task.ID, width-others), names.all(r), stepText(r), speedText(r), memoryText(r), Rounded(v.Now.Sub(r.Started)).Round(time.Second))
		}
	}
	_ = w.Flush() // a buffer takes everything
	return crop(b.String(), width, height)
}

const (
	others   = 66 // columns of a task beside its name
	shortest = 12 // what is left of a name
)

// shorten leaves the end of a name, in which tasks of a sweep differ most.
func shorten(name string, width int) string {
	letters := []rune(name)
	if width = max(width, shortest); len(letters) <= width {
		return name
	}
	return "…" + string(letters[len(letters)-width+1:])
}

// headline sums the view up.
func (v *View) headline() string {
	c := &v.Count
	text := fmt.Sprintf("%d of %d done, %d running, %d waiting", c.done(), c.total(), c.Running, c.Waiting)
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", c.Cancelled)
	}
	text += fmt.Sprintf("; %v so far", v.Elapsed.Round(time.Second))
	if left, ok := v.Left.Get(); ok && c.Running > 0 {
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	if v.Throughput > 0 {
		text += fmt.Sprintf("; %.2f tasks' worth at a time", v.Throughput)
	}
	return text
}

// bar draws how much is done.
func bar(done, total, width int) string {
	full := 0
	if width -= 2; total > 0 && width > 0 {
		full = done * width / total
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", max(0, width-full)) + "]"
}

// stepText writes how far a task is.
func stepText(r *runner.Record) string {
	step, ok := r.Step.Get()
	if !ok {
		return "-"
	}
	if total, ok := r.Total.Get(); ok && total > 0 {
		return fmt.Sprintf("%d/%d", step, total)
	}
	return strconv.FormatInt(step, 10)
}

// speedText writes the measured speed and, in brackets, the predicted one.
func speedText(r *runner.Record) string {
	seen := joblog.Text(r.Speed, func(x float64) string { return joblog.Decimals(x, 2) })
	if r.Predicted.Confidence > 0 {
		return strings.TrimSpace(fmt.Sprintf("%s (%.2f)", seen, r.Predicted.Value))
	}
	if seen == "" {
		return "-"
	}
	return seen
}

// memoryText writes the peak and what is reserved.
func memoryText(r *runner.Record) string {
	peak, ok := r.Peak.Get()
	if !ok {
		return r.Reserved.String() + " reserved"
	}
	return fmt.Sprintf("%v of %v", peak, r.Reserved)
}

// crop cuts a text to so many columns and lines and says what is missing.
func crop(body string, width, height int) []byte {
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if rest := len(lines) - height; rest > 0 && height > 0 {
		lines = append(lines[:height-1], fmt.Sprintf("and %d more lines", rest+1))
	}
	for i, l := range lines {
		if l = strings.TrimRight(l, " "); utf8.RuneCountInString(l) > width {
			l = string([]rune(l)[:width])
		}
		lines[i] = l
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
