package station

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/internal/regular"
)

// wait is GET /v1/wait. While it waits it holds the IDs and no more, and it takes turns to look and to answer: one user
// may have many that wait.
func (s *Station) wait(w http.ResponseWriter, r *http.Request) {
	u, err := s.who(r)
	if err == nil {
		err = s.await(r, u)
	}
	if err != nil {
		fail(w, err)
		return
	}
	s.inTurn(s.reply(s.waited)).ServeHTTP(w, r)
}

// waited tells of the jobs of a request that waited for them.
func (s *Station) waited(r *http.Request, u peer.User) (any, error) {
	ids := r.URL.Query()["id"]
	records := make([]runner.Record, len(ids))
	for i, id := range ids {
		var err error
		if records[i], err = s.find(id); err != nil {
			return nil, err
		}
	}
	return s.jobs(u, records), nil
}

// await returns once the jobs of a request are over, its time is, or nobody waits any more.
func (s *Station) await(r *http.Request, u peer.User) error {
	longest, err := timeout(r)
	if err != nil {
		return err
	}
	ids := r.URL.Query()["id"]
	switch n := len(ids); {
	case n == 0:
		return api.Errorf(api.Invalid, "id", "name at least one", "there is none")
	case n > api.MaxIDs:
		return api.Errorf(api.TooLarge, "id", "name them in several requests", "%d jobs, want at most %d", n, api.MaxIDs)
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
	look := func(i int) (over bool, err error) {
		record, err := s.find(ids[i])
		return record.State.Over(), err
	}
	for next := 0; ; {
		changed := s.change()
		if next, err = s.pass(r, u, look, next, len(ids)); err != nil || next == len(ids) {
			return err
		}
		for over := false; !over; {
			select {
			case <-changed:
			case <-end:
				return nil
			}
			changed = s.change()
			if over, err = look(next); err != nil {
				return err
			}
		}
	}
}

// pass looks at jobs in the user's turn, as the history on disk may be asked for each, and returns the first that is not over.
func (s *Station) pass(r *http.Request, u peer.User, look func(int) (bool, error), from, n int) (int, error) {
	leave, err := s.requests.Take(r.Context(), u)
	if err != nil {
		return from, err
	}
	defer leave()
	for ; from < n; from++ {
		if over, err := look(from); err != nil || !over {
			return from, err
		}
	}
	return n, nil
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
	file, err := regular.OpenOf(uidOf(&t.record), t.path, os.O_RDONLY, 0)
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
