package station

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
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
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).SetWriteDeadline(s.config.Clock.Now().Add(tailPatience)) // not every server has one
		_ = json.NewEncoder(w).Encode(value)                                                       // the client is gone
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
	var e *api.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		e = api.Errorf(api.TooLarge, "", "submit in several requests", "the request is longer than %d bytes", large.Limit)
	case !errors.As(err, &e):
		e = api.Errorf(api.Failed, "", "", "%s", strings.TrimPrefix(err.Error(), "runner: "))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.Status())
	_ = json.NewEncoder(w).Encode(e) // the client is gone
}

// read reads the JSON of a request.
func read(r *http.Request, to any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("there is more text behind it")
		}
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return api.Errorf(api.Invalid, r.Method+" "+r.URL.Path, "", "the body is not understood: %v", err)
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
