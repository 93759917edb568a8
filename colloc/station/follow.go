package station

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
)

// wait is GET /v1/wait.
func (s *Station) wait(r *http.Request, u peer.User) (any, error) {
	longest, err := timeout(r)
	if err != nil {
		return nil, err
	}
	ids := r.URL.Query()["id"]
	if len(ids) == 0 {
		return nil, api.Errorf(api.Invalid, "id", "name at least one", "there is none")
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	end := make(chan struct{})
	go func() {
		defer close(end)
		waiter := s.config.Clock.NewWaiter()
		defer waiter.Stop()
		_ = waiter.Wait(ctx, s.config.Clock.Now().Add(longest)) // time is over, or nobody waits
	}()
	records := make([]runner.Record, len(ids))
	look := func() (over bool, err error) {
		over = true
		for i := range ids {
			if records[i].State.Over() {
				continue // what is over is looked for once: it may lie in the history
			}
			if records[i], err = s.find(ids[i]); err != nil {
				return false, err
			}
			over = over && records[i].State.Over()
		}
		return over, nil
	}
	changed := s.change()
	over, err := s.first(r, u, look)
	for late := false; err == nil && !over && !late; {
		select {
		case <-changed:
		case <-end:
			late = true
		}
		changed = s.change()
		over, err = look()
	}
	if err != nil {
		return nil, err
	}
	return s.jobs(u, records), nil
}

// first looks in the user's turn, as the history on disk may be asked for each job; the long wait after it takes no turn.
func (s *Station) first(r *http.Request, u peer.User, look func() (bool, error)) (over bool, err error) {
	leave, err := s.requests.Take(r.Context(), u)
	if err != nil {
		return false, err
	}
	defer leave()
	return look()
}

// jobs shows records to a user.
func (s *Station) jobs(u peer.User, records []runner.Record) []api.Job {
	v := s.viewer(u)
	jobs := make([]api.Job, len(records))
	for i := range records {
		jobs[i] = v.job(&records[i])
	}
	return jobs
}

// log is GET /v1/jobs/{id}/log.
func (s *Station) log(w http.ResponseWriter, r *http.Request) {
	u, err := s.who(r)
	var record runner.Record
	if err == nil {
		record, err = s.find(r.PathValue("id"))
	}
	if err == nil && !s.may(u, &record) {
		err = api.Errorf(api.Forbidden, "job "+record.Task.ID, "ask for yours only", "it is %s's", s.names.Of(uidOf(&record)))
	}
	offset, follow := int64(0), r.URL.Query().Get("follow") == "true"
	if text := r.URL.Query().Get("offset"); err == nil && text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			err = api.Errorf(api.Invalid, "offset", "want a number of bytes", "%.50q", text)
		}
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	t := &tail{s: s, to: w, control: http.NewResponseController(w), offset: offset}
	t.run(r.Context(), record.Task.ID, follow) // what fails ends the answer: its head is sent
}

// tail writes the output of a job to a client.
type tail struct {
	s       *Station
	to      io.Writer
	control *http.ResponseController
	offset  int64
	path    string // of the run that is shown
	record  runner.Record
}

// tailPause lies between two looks at an output.
const tailPause = 100 * time.Millisecond

// run writes what there is and, if it follows, what comes.
func (t *tail) run(ctx context.Context, id string, follow bool) {
	_ = t.control.SetReadDeadline(time.Time{}) // nothing more is to come; not every server has one
	waiter := t.s.config.Clock.NewWaiter()
	defer waiter.Stop()
	for {
		var ok bool
		if t.record, ok = t.s.runner.Record(id); !ok {
			return
		}
		n, err := t.more()
		if err != nil || n == 0 && (!follow || t.record.State.Over()) {
			return
		}
		if n == 0 && waiter.Wait(ctx, t.s.config.Clock.Now().Add(tailPause)) != nil {
			return
		}
	}
}

// more writes what is new; of another run than before it begins at the beginning.
func (t *tail) more() (int64, error) {
	if t.record.Log != t.path && t.path != "" {
		t.offset = 0
	}
	t.path = t.record.Log
	file, err := peer.Open(t.path, uidOf(&t.record))
	if errors.Is(err, fs.ErrNotExist) || t.path == "" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return 0, err
	}
	deadline := t.s.config.Clock.Now().Add(t.s.config.patience.read)
	_ = t.control.SetWriteDeadline(deadline) // not every server has one
	n, err := io.Copy(t.to, io.LimitReader(file, piece))
	t.offset += n
	if err == nil {
		err = t.control.Flush()
	}
	return n, err
}

const piece = 1 << 20 // bytes of an output that are sent at once
