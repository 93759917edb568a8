package station

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/wire"
)

// answerer answers a request with what becomes JSON.
type answerer func(*http.Request, peer.User) (any, error)

// inTurn lets few requests of one user be done at once, until their answers are taken: so
// nobody waits for the crowd of another, and none fills the memory.
func (s *Station) inTurn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := s.who(r)
		if err != nil {
			fail(w, err)
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), s.config.patience.body/2) // the other half is for the body
		defer stop()
		leave, err := s.requests.Take(ctx, u)
		if err != nil {
			fail(w, api.Errorf(api.OverLimit, r.Method+" "+r.URL.Path, "wait for their answers", "%d of your requests are being done already", maxRequests))
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// reply calls an answerer for those who may ask, and writes what it says.
func (s *Station) reply(f answerer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := s.who(r)
		var value any
		if err == nil && r.ContentLength > int64(api.MaxBody) {
			err = api.Errorf(api.TooLarge, "", "send several requests", "the request is %d bytes long, want at most %d", r.ContentLength, int64(api.MaxBody))
		}
		if err == nil {
			r.Body = http.MaxBytesReader(w, r.Body, int64(api.MaxBody))
			value, err = f(r, u)
		}
		if err != nil {
			fail(w, err)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(s.config.Clock.Now().Add(s.config.patience.read)) // not every server has one
		wire.Answer(w, value)
	})
}

// who says who asks, if that user may.
func (s *Station) who(r *http.Request) (peer.User, error) {
	u, ok := peer.From(r.Context())
	switch {
	case !ok:
		return u, api.Errorf(api.Forbidden, "", "use the unix socket", "nobody knows who asks")
	case !s.admits(u):
		return u, api.Errorf(api.Forbidden, "", "start one of your own, or let root run one for all: colloc station serve", "this station is %s's alone", s.names.Of(self()))
	}
	if lender := s.lender(u); lender != "" {
		return u, api.Errorf(api.Forbidden, "", "ask as that user, outside of user namespaces", "number %d is one of %s's subordinate numbers, and no user's", u.UID, lender)
	}
	return u, nil
}

// fail writes an error.
func fail(w http.ResponseWriter, err error) {
	if e := new(api.Error); !errors.As(err, &e) {
		err = errors.New(strings.TrimPrefix(err.Error(), "runner: "))
	}
	wire.Refuse(w, err)
}

// maxWait is how long a request may ask to wait: less than it may take to arrive.
const maxWait = 50 * time.Second

// timeout reads the time that a request wants to wait.
func timeout(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("timeout")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, api.Errorf(api.Invalid, "timeout", "", "%q: want 0s to %v", text, maxWait)
	}
	return d, nil
}
