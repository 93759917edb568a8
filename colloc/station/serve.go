package station

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
)

// Listen makes the unix socket of a station at path, for all users of the machine or for
// the present one alone, and its folder. One that nobody listens on any more is replaced.
func Listen(path string, all bool) (net.Listener, error) {
	l, err := peer.Listen(path, all)
	if err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	return l, nil
}

// What a connection may take; a client that hangs loses it.
const (
	idlePatience   = 2 * time.Minute
	maxHeader      = 1 << 16
	maxConnections = 256 // of one user at once; root may have any number
	maxRequests    = 4   // of one user that are done at once, each with all of it in memory
)

// Serve answers requests on l, a unix socket, until ctx is done. It closes l.
func (s *Station) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ConnContext: peer.Context, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: s.config.patience.header, ReadTimeout: s.config.patience.body, IdleTimeout: idlePatience,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(peer.Limit(l, maxConnections)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	err := server.Close()
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Handler answers the requests of package api. The server that it is given to must say
// who asks: [Station.Serve] does, and any http.Server with [ConnContext] on a unix socket.
func (s *Station) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]answerer{
		"POST /v1/jobs":        s.submit,
		"GET /v1/jobs":         s.list,
		"GET /v1/jobs/{id}":    s.show,
		"POST /v1/jobs/{verb}": s.do,
		"GET /v1/state":        s.state,
		"POST /v1/gpus/{verb}": s.gpus,
	} {
		mux.Handle(pattern, s.inTurn(s.reply(answer)))
	}
	mux.HandleFunc("GET /v1/wait", s.wait)
	mux.HandleFunc("GET /v1/jobs/{id}/log", s.log)
	for _, pattern := range decide.Addresses() {
		mux.Handle(pattern, s.inTurn(http.HandlerFunc(s.decide)))
	}
	mux.Handle("/", s.reply(func(r *http.Request, _ peer.User) (any, error) {
		return nil, api.Errorf(api.NotFound, r.Method+" "+r.URL.Path, "see: go doc example.com/colloc/colloc/station/api", "there is no such address")
	}))
	return mux
}

// Decider answers the requests of package decide but for observe, which nobody may send
// whom no socket tells: for a server that shows the station to this machine. It is nil
// without [Config].Decide.
func (s *Station) Decider() http.Handler { return s.decider }

// decide lets users of the socket ask the Planner.
func (s *Station) decide(w http.ResponseWriter, r *http.Request) {
	u, err := s.who(r)
	if err == nil && s.decider == nil {
		err = api.Errorf(api.NotFound, r.Method+" "+r.URL.Path, "whoever runs the station starts it with: colloc station serve -decide", "this station decides nothing for others")
	}
	if err != nil {
		fail(w, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(s.config.Clock.Now().Add(decide.DefaultPatience + s.config.patience.read)) // not every server has one
	s.decider.ServeHTTP(w, r.WithContext(decide.WithAsker(r.Context(), userName(u.UID))))
}

// mayTeach is an error for those who may not say what the Planner learns.
func (s *Station) mayTeach(r *http.Request) error {
	u, ok := peer.From(r.Context())
	switch {
	case !ok:
		return api.Errorf(api.Forbidden, "POST /v1/observe", "use the unix socket", "nobody knows who asks")
	case !s.governs(u):
		return api.Errorf(api.Forbidden, "POST /v1/observe", "ask whoever runs the station", "only root may teach what all go by")
	}
	return nil
}

// ConnContext lets a handler know who is at the other end of a unix socket; give it to the
// http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context { return peer.Context(ctx, c) }
