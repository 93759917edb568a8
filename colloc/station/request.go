package station

import (
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

// answer calls an answerer for those who may ask, and writes what it says.
func (s *Station) answer(f answerer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := s.who(r)
		var value any
		if err == nil {
			r.Body = http.MaxBytesReader(w, r.Body, int64(api.MaxBody))
			value, err = f(r, u)
		}
		if err != nil {
			fail(w, err)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(s.config.Clock.Now().Add(tailPatience)) // not every server has one
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

// patience reads the time that a request wants to wait.
func patience(r *http.Request) (time.Duration, error) {
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
