package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Record is one line of colloc's own layout: a JSON object with these fields, of
// which id, arrival_s and work_s are required. Unknown fields are an error.
type Record struct {
	ID         string                   `json:"id"`
	Arrival    float64                  `json:"arrival_s"`
	Work       float64                  `json:"work_s"`
	GPUs       int                      `json:"gpus,omitempty"`
	OneNode    bool                     `json:"one_node,omitempty"`
	HostOnly   bool                     `json:"host_only,omitempty"`
	User       string                   `json:"user,omitempty"`
	Priority   int                      `json:"priority,omitempty"`
	Only       []string                 `json:"only,omitempty"`
	Memory     profile.Bytes            `json:"memory_bytes,omitempty"`
	Share      float64                  `json:"share,omitempty"`
	CPU        float64                  `json:"cpu,omitempty"`
	HostMemory profile.Bytes            `json:"host_memory_bytes,omitempty"`
	Type       string                   `json:"type,omitempty"`
	Class      string                   `json:"class,omitempty"`
	Busy       float64                  `json:"busy,omitempty"`
	Bandwidth  float64                  `json:"bandwidth,omitempty"`
	Startup    float64                  `json:"startup_s,omitempty"`
	Stages     *[4]float64              `json:"stages_s,omitempty"` // load, compute, exchange, iteration
	Estimates  map[string]profile.Bytes `json:"estimates_bytes,omitempty"`
}

// maxLine is the longest line that is read.
const maxLine = 1 << 20

func readJSONLines(r io.Reader) (*Trace, error) {
	tr := &Trace{Layout: "jsonl"}
	seen := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		t, column, err := parseRecord(line)
		if err == nil {
			err = t.Validate()
		}
		if err == nil && seen[t.ID] > 0 {
			err = fmt.Errorf("task %q was on line %d already", t.ID, seen[t.ID])
		}
		if err != nil {
			return nil, &SyntaxError{"jsonl", n, column, err.Error()}
		}
		seen[t.ID] = n
		tr.Tasks = append(tr.Tasks, t)
	}
	if err := lines.Err(); err != nil {
		return nil, &SyntaxError{"jsonl", n + 1, 1, err.Error()}
	}
	return tr, nil
}

// parseRecord reads one line; column is where it went wrong.
func parseRecord(line []byte) (t sim.Task, column int, err error) {
	var rec Record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&rec); err != nil {
		column = int(d.InputOffset()) + 1
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			column = int(syntax.Offset)
		case errors.As(err, &kind):
			column = int(kind.Offset)
		}
		return t, max(1, column), err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return t, int(d.InputOffset()) + 1, errors.New("more than one object on a line")
	}
	t, err = rec.task()
	return t, 1, err
}

func (rec *Record) task() (sim.Task, error) {
	var err error
	seconds := func(name string, x float64) time.Duration {
		if !(x >= 0 && x <= maxSeconds) {
			err = fmt.Errorf("%s is %v, want 0 s to a century", name, x)
			return 0
		}
		return time.Duration(math.Round(float64(x * float64(time.Second))))
	}
	t := sim.Task{
		ID: rec.ID, Arrival: seconds("arrival_s", rec.Arrival), Work: seconds("work_s", rec.Work), GPUs: rec.GPUs,
		OneNode: rec.OneNode, HostOnly: rec.HostOnly, User: rec.User, Priority: rec.Priority, Only: rec.Only, Memory: rec.Memory, Share: rec.Share,
		CPU: rec.CPU, HostMemory: rec.HostMemory, Type: rec.Type, Class: rec.Class, Busy: rec.Busy, Bandwidth: rec.Bandwidth,
		Startup: seconds("startup_s", rec.Startup), Estimates: rec.Estimates,
	}
	if st := rec.Stages; st != nil {
		t.Stages = sim.StageTimes{
			Load: seconds("stages_s", st[0]), Compute: seconds("stages_s", st[1]),
			Exchange: seconds("stages_s", st[2]), Iteration: seconds("stages_s", st[3]),
		}
	}
	return t, err
}
