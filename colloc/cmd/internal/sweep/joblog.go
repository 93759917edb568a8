package sweep

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

	"example.com/colloc/colloc/runner"
	"example.com/colloc/profile"
)

// columns are those of the job log; the package comment says what they mean.
var columns = []string{
	"number", "task", "status", "exit", "signal", "runs", "gpu", "mechanism", "started", "seconds",
	"steps", "step_seconds", "predicted_speed", "speed", "peak_bytes", "reserved_bytes", "error", "command",
}

// entry is what a resumed sweep needs of a row of the job log.
type entry struct {
	Number  int
	Task    string
	Status  string
	Started string
	Command string
}

// jobLog is the file of the tasks that are over. Its rows are appended one by one;
// the last one of a task counts.
type jobLog struct {
	file    *os.File
	entries map[string]entry // by task
}

// openJobLog opens the job log at path, or begins it. What a crash left of a last
// row is cut off.
func openJobLog(path string) (*jobLog, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	l := &jobLog{entries: make(map[string]entry)}
	if err := l.read(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	_, err = l.file.Seek(int64(len(text)), io.SeekStart)
	if err = errors.Join(err, l.file.Truncate(int64(len(text)))); err == nil && len(text) == 0 {
		err = l.write(columns)
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// read reads the rows; an empty file is fine.
func (l *jobLog) read(r io.Reader) error {
	rows := csv.NewReader(r)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && !slices.Equal(head, columns) {
		err = fmt.Errorf("line 1: these are not the columns of a job log: want %q", columns)
	}
	if err != nil {
		return err
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e := entry{Task: row[1], Status: row[2], Started: row[8], Command: row[len(row)-1]}
		if e.Number, err = strconv.Atoi(row[0]); err != nil {
			line, column := rows.FieldPos(0)
			return fmt.Errorf("line %d, column %d: %q is no number of a task", line, column, row[0])
		}
		l.entries[e.Task] = e
	}
}

// write appends a row at once, so that a crash leaves whole rows or part of one.
func (l *jobLog) write(row []string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(row); err != nil {
		return err
	}
	w.Flush()
	_, err := l.file.Write(b.Bytes())
	return err
}

// add appends the row of a task that is over, unless it is there.
func (l *jobLog) add(j *job, r *runner.Record) error {
	started := ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format(time.RFC3339Nano)
	}
	e := entry{Number: j.Number, Task: j.ID, Status: statusOf(r), Started: started, Command: quoteWords(j.Command)}
	if l.entries[j.ID] == e {
		return nil
	}
	seconds := ""
	if !r.Started.IsZero() {
		seconds = decimals(r.Ended.Sub(r.Started).Seconds(), 3)
	}
	predicted := ""
	if r.Predicted.Confidence > 0 {
		predicted = decimals(r.Predicted.Value, 3)
	}
	err := l.write([]string{
		strconv.Itoa(j.Number), j.ID, e.Status, strconv.Itoa(r.Exit), strconv.Itoa(r.Signal), strconv.Itoa(r.Runs),
		string(r.GPU), mechanismOf(r), started, seconds,
		text(r.Step, func(n int64) string { return strconv.FormatInt(n, 10) }),
		text(r.StepTime, func(d time.Duration) string { return decimals(d.Seconds(), 6) }),
		predicted,
		text(r.Speed, func(x float64) string { return decimals(x, 3) }),
		text(r.Peak, func(b profile.Bytes) string { return strconv.FormatInt(int64(b), 10) }),
		strconv.FormatInt(int64(r.Reserved), 10), r.Err, e.Command,
	})
	if err != nil {
		return fmt.Errorf("job log: %w", err)
	}
	l.entries[j.ID] = e
	return nil
}

// Close closes the file.
func (l *jobLog) Close() error { return l.file.Close() }

// The words of the column status.
const (
	statusOK        = "ok"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
	statusRunning   = "running" // in tables only
	statusWaiting   = "waiting"
)

func statusOf(r *runner.Record) string {
	switch r.State {
	case runner.Succeeded:
		return statusOK
	case runner.Failed:
		return statusFailed
	case runner.Cancelled:
		return statusCancelled
	case runner.Running, runner.Starting:
		return statusRunning
	default:
		return statusWaiting
	}
}

// state is the inverse of statusOf; without a row a task waits.
func (e entry) state() runner.State {
	switch e.Status {
	case statusOK:
		return runner.Succeeded
	case statusFailed:
		return runner.Failed
	case statusCancelled:
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

func decimals(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// text writes what is known; what is missing is empty.
func text[T any](o profile.Opt[T], write func(T) string) string {
	v, ok := o.Get()
	if !ok {
		return ""
	}
	return write(v)
}
