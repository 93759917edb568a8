package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"example.com/colloc/colloc/station/internal/peer"
)

// SystemSocket is where the station of a machine listens that root runs for all users.
const SystemSocket = "/run/colloc/station.sock"

// SocketVariable names the socket to use in the environment.
const SocketVariable = "COLLOC_STATION"

// OwnSocket is where the station that this user runs for himself listens.
func OwnSocket() string { return socketOf(os.Geteuid()) }

func socketOf(uid int) string {
	if uid == 0 {
		return SystemSocket
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "colloc", "station.sock")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("colloc-%d", uid), "station.sock")
}

// FindSocket returns the socket to talk to: the one that [SocketVariable] names, else the
// user's own if it is there, else the machine's.
func FindSocket() string { return findSocket(OwnSocket()) }

func findSocket(own string) string {
	if path := os.Getenv(SocketVariable); path != "" {
		return path
	}
	if peer.Made(own) {
		return own
	}
	return SystemSocket
}

// Client talks to a station. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a Client of the station that listens on a unix socket; empty is
// [FindSocket]. It connects when it is used.
func NewClient(socket string) *Client {
	if socket == "" {
		socket = FindSocket()
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Socket is where the station is expected.
func (c *Client) Socket() string { return c.socket }

// Close lets go of connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Submit queues tasks, all or none, and returns the IDs of their jobs, in order.
func (c *Client) Submit(ctx context.Context, tasks ...Task) (ids []string, err error) {
	var answer IDs
	err = c.call(ctx, http.MethodPost, "/v1/jobs", nil, Submission{Tasks: tasks}, &answer)
	return answer.IDs, err
}

// IDs is a list of jobs.
type IDs struct {
	IDs []string `json:"ids"`
}

// Jobs lists all jobs that a Query without Limit names, or the last ones of these, in the
// order of submission. It asks for one page after the other.
func (c *Client) Jobs(ctx context.Context, q Query) (jobs []Job, err error) {
	var pages [][]Job
	for page, err := range c.Pages(ctx, q) {
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	jobs = []Job{} // a list in JSON, too
	for _, page := range slices.Backward(pages) {
		jobs = append(jobs, page...)
	}
	return jobs, nil
}

// Pages gives the same jobs by pages, the last submitted page first, and an error at the
// end if there is one.
func (c *Client) Pages(ctx context.Context, q Query) iter.Seq2[[]Job, error] {
	return func(yield func([]Job, error) bool) {
		for left := q.Limit; ; {
			if q.Limit = min(left, MaxPage); left <= 0 {
				q.Limit = MaxPage
			}
			page, err := c.page(ctx, q)
			if !yield(page, err) || err != nil || len(page) < q.Limit || len(page) == left {
				return
			}
			q.Before = page[0].ID
			left -= len(page)
			if q.Ended > 0 {
				q.Ended = max(0, q.Ended-ended(page))
			}
		}
	}
}

// ended counts the jobs that are over.
func ended(jobs []Job) (n int) {
	for i := range jobs {
		if jobs[i].State.Over() {
			n++
		}
	}
	return n
}

// page asks for one page.
func (c *Client) page(ctx context.Context, q Query) (jobs []Job, err error) {
	values := url.Values{"ended": {strconv.Itoa(q.Ended)}, "limit": {strconv.Itoa(q.Limit)}, "brief": {strconv.FormatBool(q.Brief)}}
	if q.Before != "" {
		values.Set("before", q.Before)
	}
	if q.User != "" {
		values.Set("user", q.User)
	}
	for _, s := range q.States {
		values.Add("state", s.String())
	}
	return jobs, c.call(ctx, http.MethodGet, "/v1/jobs", values, nil, &jobs)
}

// Job returns one job.
func (c *Client) Job(ctx context.Context, id string) (j Job, err error) {
	return j, c.call(ctx, http.MethodGet, "/v1/jobs/"+id, nil, nil, &j)
}

// Do cancels, requeues, holds or releases jobs, at most [MaxTasks]: all of them or none.
func (c *Client) Do(ctx context.Context, verb string, ids ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/jobs/"+verb, nil, IDs{ids}, nil)
}

// GPUs drains, undrains or reserves GPUs.
func (c *Client) GPUs(ctx context.Context, verb string, r GPURequest) error {
	return c.call(ctx, http.MethodPost, "/v1/gpus/"+verb, nil, r, nil)
}

// State returns the station as it is now.
func (c *Client) State(ctx context.Context) (s State, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/state", nil, nil, &s)
}

// pollFor is how long one request waits for the end of jobs.
const pollFor = 30 * time.Second

// Wait returns once all of the jobs are over, or ctx is.
func (c *Client) Wait(ctx context.Context, ids ...string) (jobs []Job, err error) {
	for part := range slices.Chunk(ids, MaxIDs) {
		for over := false; !over; {
			some, err := c.wait(ctx, pollFor, part)
			if err != nil {
				return nil, err
			}
			if over = !slices.ContainsFunc(some, func(j Job) bool { return !j.State.Over() }); over {
				jobs = append(jobs, some...)
			}
		}
	}
	return jobs, nil
}

// Look returns jobs as they are, in the order of ids.
func (c *Client) Look(ctx context.Context, ids ...string) (jobs []Job, err error) {
	for part := range slices.Chunk(ids, MaxIDs) {
		some, err := c.wait(ctx, 0, part)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, some...)
	}
	return jobs, nil
}

// wait asks for jobs once they are over or the time is.
func (c *Client) wait(ctx context.Context, longest time.Duration, ids []string) (jobs []Job, err error) {
	values := url.Values{"id": ids, "timeout": {longest.String()}}
	return jobs, c.call(ctx, http.MethodGet, "/v1/wait", values, nil, &jobs)
}

// Log writes the output of a job to w: what there is, or, with follow, until it is over.
func (c *Client) Log(ctx context.Context, w io.Writer, id string, follow bool) error {
	values := url.Values{"follow": {strconv.FormatBool(follow)}}
	answer, err := c.send(ctx, http.MethodGet, "/v1/jobs/"+id+"/log", values, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	_, err = io.Copy(w, answer.Body)
	return err
}

// call sends a request and reads the answer into to, if that is not nil.
func (c *Client) call(ctx context.Context, method, path string, values url.Values, body, to any) error {
	answer, err := c.send(ctx, method, path, values, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if to == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	if err := json.NewDecoder(answer.Body).Decode(to); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return Errorf(Unavailable, c.socket, "", "the station went away while it answered")
		}
		return Errorf(Failed, c.socket, "", "the answer is not understood: %v", err)
	}
	return nil
}

// send sends a request; an answer that is an error becomes one.
func (c *Client) send(ctx context.Context, method, path string, values url.Values, body any) (*http.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	target := url.URL{Scheme: "http", Host: "station", Path: path, RawQuery: values.Encode()}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	e := new(Error)
	if err := json.NewDecoder(io.LimitReader(answer.Body, int64(MaxArguments))).Decode(e); err != nil || e.Code == "" {
		e = Errorf(Failed, c.socket, "", "%s", answer.Status)
	}
	return nil, e
}

// unreachable says why there was no answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	const start = "start one with: colloc station serve"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Errorf(Unavailable, c.socket, start+", or name its socket in "+SocketVariable, "no station runs here")
	case errors.Is(err, syscall.ECONNREFUSED):
		return Errorf(Unavailable, c.socket, start, "the station does not run any more")
	case errors.Is(err, fs.ErrPermission):
		return Errorf(Forbidden, c.socket, "ask whoever runs it", "this user may not use the station")
	}
	return Errorf(Unavailable, c.socket, "", "%v", errors.Unwrap(err))
}
