package decide

import (
	"context"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

const (
	// arrival is how long a request may take to arrive, if that is more than a part of the patience.
	arrival, part = 5 * time.Second, 4
	// brief is the length of a request that is read however many others are.
	brief = 64 * profile.KiB
	// longs is how many longer ones are read or wait for their turn at the same time.
	longs = 16
)

// declared is an error for a request over TCP that does not say that it is JSON: a page of
// another site may let a browser send all else without asking first.
func declared(r *http.Request) error {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || at.Network() == "unix" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return wire.Errorf(wire.Invalid, "Content-Type", "send the header Content-Type: application/json", "%.100q is not JSON's", r.Header.Get("Content-Type"))
	}
	return nil
}

// intake reads requests.
type intake struct {
	most  profile.Bytes // of each
	late  time.Duration // is what has not arrived by then
	longs chan struct{} // has an element for each long one
}

// read reads a request before it takes a turn, so that one which hangs holds up nobody. A
// long one has one of few places until done is called: so these bound the memory.
func (in *intake) read(ctx context.Context, w http.ResponseWriter, r *http.Request, to any) (done func(), err error) {
	done = func() {}
	if r.ContentLength > int64(in.most) {
		return done, wire.Errorf(wire.TooLarge, "", "send several requests", "the request is longer than %d bytes", in.most)
	}
	connection := http.NewResponseController(w)
	expect := func() {
		arriving, stop := context.WithTimeout(ctx, in.late)
		late, _ := arriving.Deadline()
		stop()
		_ = connection.SetReadDeadline(late) // not every server has one
	}
	body := &arriving{ReadCloser: http.MaxBytesReader(w, r.Body, int64(in.most)), brief: int(brief)}
	body.long = func() error {
		if err := take(ctx, in.longs, "long requests are being read"); err != nil {
			return err
		}
		done = func() { <-in.longs }
		expect()
		return nil
	}
	r.Body = body
	expect()
	switch err = wire.Read(r, to); {
	case body.refused != nil:
		err = body.refused
	case err == nil:
		_ = connection.SetReadDeadline(time.Time{}) // else the server would wait for the rest
	}
	return done, err
}

// arriving is a body that asks before it is long.
type arriving struct {
	io.ReadCloser

	brief   int // bytes until then
	long    func() error
	refused error // what it was told
}

// Read implements [io.Reader].
func (a *arriving) Read(b []byte) (int, error) {
	if a.long == nil {
		return a.ReadCloser.Read(b)
	}
	if a.brief == 0 {
		a.refused, a.long = a.long(), nil
		if a.refused != nil {
			return 0, a.refused
		}
		return a.ReadCloser.Read(b)
	}
	n, err := a.ReadCloser.Read(b[:min(len(b), a.brief)])
	a.brief -= n
	return n, err
}

// take takes one of the places of a kind, or says that there is none in time.
func take(ctx context.Context, places chan struct{}, are string) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return wire.Errorf(wire.Unavailable, "", "try again", "%d %s already", cap(places), are)
	}
}
