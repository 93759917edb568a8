package joblog

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

// columns are those of the job log; the package comment says what they mean.
var columns = []string{
	"number", "task", "status", "exit", "signal", "runs", "gpu", "mechanism", "started", "seconds",
	"steps", "step_seconds", "predicted_speed", "speed", "peak_bytes", "reserved_bytes", "error", "command",
}

// Entry is what a resumed sweep needs of a row of the job log.
type Entry struct {
	Number  int
	Task    string
	Status  string
	Started string
	Command string
}

// Log is the file of the tasks that are over. Its rows are appended one by one;
// the last one of a task counts.
type Log struct {
	file    *os.File
	Entries map[string]Entry // by task
	// Unreadable is how many rows were left out because they are none: what is
	// left of one after a crash, or damage.
	Unreadable int
}

// Open opens the job log at path, or begins it. It only ever appends: what a crash
// left of a last row gets a line of its own.
func Open(path string) (*Log, error) {
	text, err := regular.Read(path, regular.Large)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l := &Log{Entries: make(map[string]Entry)}
	if err := l.read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	switch {
	case len(text) == 0:
		err = l.write(columns)
	case text[len(text)-1] != '\n':
		_, err = l.file.WriteString("\n")
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// read reads the rows; an empty file is fine. Where a row makes no sense the next
// line may begin one.
func (l *Log) read(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	rows := csv.NewReader(bytes.NewReader(text))
	head, err := rows.Read()
	if err == nil && !slices.Equal(head, columns) {
		err = fmt.Errorf("line 1: these are not the columns of a job log: want %q", columns)
	}
	if err != nil {
		return err
	}
	var begin int64 // where rows began to read
	for at := rows.InputOffset(); ; {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && l.take(row) {
			at = begin + rows.InputOffset()
			continue
		}
		l.Unreadable++
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return nil
		}
		begin = at + int64(end) + 1
		at = begin
		rows = csv.NewReader(bytes.NewReader(text[begin:]))
		rows.FieldsPerRecord = len(columns)
	}
}

// take notes a row; false if it is none.
func (l *Log) take(row []string) bool {
	number, err := strconv.Atoi(row[0])
	if err != nil {
		return false
	}
	l.Entries[row[1]] = Entry{Number: number, Task: row[1], Status: row[2], Started: row[8], Command: row[len(row)-1]}
	return true
}

// write appends a row at once, so that a crash leaves whole rows or part of one.
func (l *Log) write(row []string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(row); err != nil {
		return err
	}
	w.Flush()
	_, err := l.file.Write(b.Bytes())
	return err
}

// Add appends the row of a task that is over, unless it is there.
func (l *Log) Add(j *grammar.Job, r *runner.Record) error {
	started := ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format(time.RFC3339Nano)
	}
	e := Entry{Number: j.Number, Task: j.ID, Status: StatusOf(r), Started: started, Command: grammar.QuoteWords(j.Command)}
	if l.Entries[j.ID] == e {
		return nil
	}
	seconds := ""
	if !r.Started.IsZero() {
		seconds = Decimals(r.Ended.Sub(r.Started).Seconds(), 3)
	}
	predicted := ""
	if r.Predicted.Confidence > 0 {
		predicted = Decimals(r.Predicted.Value, 3)
	}
	err := l.write([]string{
		strconv.Itoa(j.Number), j.ID, e.Status, strconv.Itoa(r.Exit), strconv.Itoa(r.Signal), strconv.Itoa(r.Runs),
		r.On(), mechanismOf(r), started, seconds,
		Text(r.Step, func(n int64) string { return strconv.FormatInt(n, 10) }),
		Text(r.StepTime, func(d time.Duration) string { return Decimals(d.Seconds(), 6) }),
		predicted,
		Text(r.Speed, func(x float64) string { return Decimals(x, 3) }),
		Text(r.Peak, func(b profile.Bytes) string { return strconv.FormatInt(int64(b), 10) }),
		strconv.FormatInt(int64(r.Reserved), 10), r.Err, e.Command,
	})
	if err != nil {
		return fmt.Errorf("job log: %w", err)
	}
	l.Entries[j.ID] = e
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// The words of the column status.
const (
	StatusOK        = "ok"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
	StatusRunning   = "running" // in tables only
	statusWaiting   = "waiting"
)

// StatusOf says in which state a task is, in a word of the column status, or of the
// tables.
func StatusOf(r *runner.Record) string {
	switch r.State {
	case runner.Succeeded:
		return StatusOK
	case runner.Failed:
		return StatusFailed
	case runner.Cancelled:
		return StatusCancelled
	case runner.Running, runner.Starting:
		return StatusRunning
	default:
		return statusWaiting
	}
}

// State is the inverse of statusOf; without a row a task waits.
func (e Entry) State() runner.State {
	switch e.Status {
	case StatusOK:
		return runner.Succeeded
	case StatusFailed:
		return runner.Failed
	case StatusCancelled:
		return runner.Cancelled
	}
	return runner.Queued
}

func mechanismOf(r *runner.Record) string {
	if r.GPU == "" {
		return ""
	}
	return r.Mechanism.String()
}

// Decimals writes a number with so many digits behind the point.
func Decimals(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Text writes what is known; what is missing is empty.
func Text[T any](o profile.Opt[T], write func(T) string) string {
	v, ok := o.Get()
	if !ok {
		return ""
	}
	return write(v)
}

// Matches reports tasks in the job log that are others than those of the sweep.
func (l *Log) Matches(jobs []grammar.Job) error {
	byID := make(map[string]*grammar.Job, len(jobs))
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	for _, e := range l.Entries {
		j := byID[e.Task]
		if j == nil || j.Number != e.Number || grammar.QuoteWords(j.Command) != e.Command {
			return fmt.Errorf("-resume: the job log has task %s: %s; that is not in this sweep: give the same command, or none", e.Task, e.Command)
		}
	}
	return nil
}
