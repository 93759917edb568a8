package nvmlx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Recorder is a Source that writes down what is read through it. Everything it
// returns is exactly what the source below returned: a failing disk never
// disturbs reading. [Recorder.Err] and Close tell whether the recording is
// whole.
//
// Each line goes out in one call of Write. After a Write that failed nothing
// more is written, so a recording is whole up to some line; if the failed Write
// left a part of its line and w can seek and truncate, as an *os.File can, that
// part is cut off again. A row that JSON cannot hold (a year beyond 9999) is
// left out and reported, and the recording goes on.
//
// Rows are in the order in which the calls returned. A Recorder is safe for
// concurrent use; lines are never mixed.
type Recorder struct {
	source Source

	mu      sync.Mutex
	out     io.Writer
	started bool
	stopped bool
	err     error
}

var (
	_ Source        = (*Recorder)(nil)
	_ ProcessReader = (*Recorder)(nil)
	_ MIGReader     = (*Recorder)(nil)
	_ EventReader   = (*Recorder)(nil)
)

// Record returns src with a recording of all its answers on w, in the format of
// the package comment, which [Replay] reads. The header is written with the
// first answer, when the source's Info and Devices are asked once. The Recorder
// closes src, not w.
func Record(w io.Writer, src Source) *Recorder {
	return &Recorder{source: src, out: w}
}

// Info asks the source below; it is not recorded, the header has it.
func (r *Recorder) Info(ctx context.Context) (SystemInfo, error) { return r.source.Info(ctx) }

// Devices asks the source below; it is not recorded, the header has it.
func (r *Recorder) Devices(ctx context.Context) ([]DeviceInfo, error) { return r.source.Devices(ctx) }

// Read reads from the source below and records the sample, or the error if it
// concerns the device. A cancelled call and the end of a recording below are no
// answers and leave no row.
func (r *Recorder) Read(ctx context.Context, id DeviceID, what Fields) (Sample, error) {
	sample, err := r.source.Read(ctx, id, what)
	row := traceRow{Sample: sample}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrUnavailable), errors.Is(err, ErrNoDevice):
		return sample, err
	case err != nil:
		c := causeOf(err)
		row = traceRow{Error: &c}
	}
	row.Device = id
	r.write(ctx, &row)
	return sample, err
}

// Processes asks the source below and records the answer. It returns
// ErrNotSupported if that source is no ProcessReader.
func (r *Recorder) Processes(ctx context.Context, id DeviceID) ([]Process, error) {
	below, ok := r.source.(ProcessReader)
	if !ok {
		return nil, fmt.Errorf("nvmlx: record: processes of %s: %w", id, ErrNotSupported)
	}
	list, err := below.Processes(ctx, id)
	if err == nil {
		row := traceRow{Sample: Sample{Device: id}, Processes: &list}
		if list == nil {
			row.Processes = &[]Process{} // null would be a row without processes
		}
		r.write(ctx, &row)
	}
	return list, err
}

// MIG asks the source below and records the answer. It returns ErrNotSupported
// if that source is no MIGReader.
func (r *Recorder) MIG(ctx context.Context, id DeviceID) (MIGInventory, error) {
	below, ok := r.source.(MIGReader)
	if !ok {
		return MIGInventory{}, fmt.Errorf("nvmlx: record: MIG of %s: %w", id, ErrNotSupported)
	}
	inventory, err := below.MIG(ctx, id)
	if err == nil {
		r.write(ctx, &traceRow{Sample: Sample{Device: id}, MIG: &inventory})
	}
	return inventory, err
}

// Events passes the events of the source below on and records each one. It
// returns ErrNotSupported if that source is no EventReader.
func (r *Recorder) Events(ctx context.Context, ids ...DeviceID) (<-chan Event, error) {
	below, ok := r.source.(EventReader)
	if !ok {
		return nil, fmt.Errorf("nvmlx: record: events: %w", ErrNotSupported)
	}
	in, err := below.Events(ctx, ids...)
	if err != nil {
		return nil, err
	}
	out := make(chan Event, cap(in))
	go func() {
		defer close(out)
		for event := range in {
			r.write(ctx, &traceRow{Sample: Sample{Device: event.Device}, Event: &event})
			select {
			case out <- event:
			default: // nobody takes them: dropped, as the source below would
			}
		}
	}()
	return out, nil
}

// Err returns the first error of the recording itself, or nil. Answers before
// it are in the recording.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close closes the source below and returns its error joined with Err.
func (r *Recorder) Close() error {
	return errors.Join(r.source.Close(), r.Err())
}

// write appends one row, after the header if it is the first.
func (r *Recorder) write(ctx context.Context, row *traceRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	if !r.started {
		r.started = true
		if err := r.header(context.WithoutCancel(ctx)); err != nil {
			r.stop(err)
		}
		if r.stopped {
			return
		}
	}
	if !row.At.IsZero() {
		row.At = row.At.Round(0).UTC() // no monotonic reading, no zone: what a reader gets back
	}
	if err := r.line(row); err != nil && r.err == nil {
		r.err = fmt.Errorf("nvmlx: record: a row of %s is left out: %w", row.Device, err)
	}
}

func (r *Recorder) header(ctx context.Context) error {
	header := traceHeader{Format: traceFormat, Version: traceVersion}
	var err error
	if header.System, err = r.source.Info(ctx); err != nil {
		return fmt.Errorf("nvmlx: record: header: %w", err)
	}
	if header.Devices, err = r.source.Devices(ctx); err != nil {
		return fmt.Errorf("nvmlx: record: header: %w", err)
	}
	if err := r.line(header); err != nil {
		return fmt.Errorf("nvmlx: record: header: %w", err)
	}
	return nil
}

// line writes v as one line in one call. The error is that of encoding; an
// error of writing stops the recording.
func (r *Recorder) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	n, err := r.out.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		r.stop(errors.Join(fmt.Errorf("nvmlx: record: %w", err), r.cut(n)))
	}
	return nil
}

// stop ends the recording because of err.
func (r *Recorder) stop(err error) {
	r.stopped = true
	if r.err == nil {
		r.err = err
	}
}

// cut takes the n bytes of a torn line off the end of the output, if it can.
func (r *Recorder) cut(n int) error {
	file, ok := r.out.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok || n <= 0 {
		return nil
	}
	end, err := file.Seek(int64(-n), io.SeekCurrent)
	if err == nil {
		err = file.Truncate(end)
	}
	if err != nil {
		return fmt.Errorf("nvmlx: record: the last line is torn and cannot be cut off: %w", err)
	}
	return nil
}
