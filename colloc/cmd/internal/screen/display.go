package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/runner"
)

// Display shows the sweep while it runs. Its methods may be called at any time.
type Display interface {
	// Event tells what happened to a task or a GPU, Note anything else.
	Event(e *runner.Event)
	Note(text string)
	// Line passes on a line that a task printed.
	Line(task, text string)
	// Tick shows how it stands, End what it came to.
	Tick(v *View)
	End(r *Report)
}

// plain writes a line for all that happens: for log files and pipes.
type plain struct {
	mu    sync.Mutex
	out   io.Writer
	names *Names
}

// NewPlain returns the display for a file or a pipe.
func NewPlain(w io.Writer, names *Names) Display { return &plain{out: w, names: names} }

func (p *plain) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

func (p *plain) Event(e *runner.Event) {
	if text := p.names.in(eventText(e)); text != "" {
		p.printf("%s %s\n", e.At.Local().Format(time.TimeOnly), text)
	}
}

func (p *plain) Note(text string)       { p.printf("%s\n", text) }
func (p *plain) Line(task, text string) { p.printf("%s | %s\n", task, text) }
func (p *plain) Tick(*View)             {}

func (p *plain) End(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.write(p.out)
}

// eventText says what happened, or nothing if it is not worth a line.
func eventText(e *runner.Event) string {
	r := &e.Record
	switch e.Kind {
	case runner.EventQueued, runner.EventProgress:
		return ""
	case runner.EventStarted:
		text := fmt.Sprintf("%s started on %s, %v reserved", r.Task.ID, r.On(), r.Reserved)
		if r.Predicted.Confidence > 0 {
			text += fmt.Sprintf(", predicted speed %.2f", r.Predicted.Value)
		}
		return text
	case runner.EventFinished:
		text := r.Task.ID + " " + joblog.StatusOf(r)
		if !r.Started.IsZero() {
			text += fmt.Sprintf(" after %v", Rounded(r.Ended.Sub(r.Started)))
		}
		if r.Err != "" && r.State != runner.Succeeded {
			text += ": " + r.Err
		}
		return text
	default:
		return e.Text
	}
}

// jsonLines writes JSON Lines: {"event": ...} for all that happens, and in the
// end {"report": ...}.
type jsonLines struct {
	mu  sync.Mutex
	out *json.Encoder
}

// NewJSONLines returns the display for programs.
func NewJSONLines(w io.Writer) Display { return &jsonLines{out: json.NewEncoder(w)} }

func (j *jsonLines) encode(v any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.out.Encode(v) // a closed pipe ends the program anyway
}

// jsonEvent is one line.
type jsonEvent struct {
	Event  string         `json:"event"`
	At     time.Time      `json:"at"`
	Task   string         `json:"task,omitempty"`
	GPU    string         `json:"gpu,omitempty"`
	Text   string         `json:"text,omitempty"`
	Record *runner.Record `json:"record,omitempty"`
}

func (j *jsonLines) Event(e *runner.Event) {
	line := jsonEvent{Event: e.Kind.String(), At: e.At, Task: e.Record.Task.ID, GPU: string(e.GPU), Text: e.Text}
	if line.Task != "" {
		line.Record, line.GPU = &e.Record, string(e.Record.GPU)
	}
	j.encode(line)
}

func (j *jsonLines) Note(text string) {
	j.encode(jsonEvent{Event: "note", At: time.Now(), Text: text})
}

func (j *jsonLines) Line(string, string) {}
func (j *jsonLines) Tick(*View)          {}

func (j *jsonLines) End(r *Report) {
	j.encode(struct {
		Report *Report `json:"report"`
	}{r})
}
