package station

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/metrics"
	"example.com/colloc/colloc/station/page"
)

// web shows the station over TCP to this machine alone, if it is asked to.
type web struct{ address string }

func (w *web) flag(f *flag.FlagSet) {
	f.StringVar(&w.address, "http", "", "show the station to this machine's browsers, and at /metrics to Prometheus, on `[HOST]:PORT`; HOST is a loopback address")
}

// open begins to show the station that listens, or will, on a socket, until close is called.
// decider, if there is one, answers questions there.
func (w *web) open(socket string, decider http.Handler, out io.Writer) (closer func() error, err error) {
	if w.address == "" {
		return func() error { return nil }, nil
	}
	host, port, err := net.SplitHostPort(w.address)
	switch {
	case err != nil:
		return nil, wrong("-http %s: want HOST:PORT or :PORT: %w", w.address, err)
	case host == "":
		host = "localhost"
	}
	if !loopback(host) {
		return nil, wrong("-http %s: want localhost, 127.0.0.1 or [::1]: everybody who reaches the address sees the station", w.address)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("-http %s: %w", w.address, err)
	}
	fmt.Fprintf(out, "colloc station: http://%s/ and /metrics\n", l.Addr())
	client := api.NewClient(socket)
	server := &http.Server{Handler: pages(client, decider), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		client.Close()
		return err
	}, nil
}

// pages answers those who call this machine by its own name: a site of somebody else's
// whose name leads here gets nothing.
func pages(client *api.Client, decider http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(client.State))
	mux.Handle("GET /{$}", page.Handler(client.State))
	if decider != nil {
		for _, pattern := range decide.Addresses() {
			mux.Handle(pattern, decider)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback(host) {
			http.Error(w, "ask for localhost", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// loopback says whether a host is this machine by a name that nobody else has.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
