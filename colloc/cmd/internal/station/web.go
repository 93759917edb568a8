package station

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/metrics"
	"example.com/colloc/colloc/station/page"
	"example.com/colloc/internal/few"
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
	l, usage, err := cli.Loopback("http", w.address)
	if usage != nil {
		return nil, cli.Usage("%w", usage)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "colloc station: http://%s/ and /metrics\n", l.Addr())
	client := api.NewClient(socket)
	asker := func(ctx context.Context, c net.Conn) context.Context { return decide.WithAsker(ctx, few.Holder(c)) }
	stop := cli.Serve(l, pages(client, decider), asker, nil)
	return func() error {
		err := stop()
		client.Close()
		return err
	}, nil
}

// pages are what browsers, Prometheus and other schedulers of this machine ask for.
func pages(client *api.Client, decider http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(client.State))
	mux.Handle("GET /{$}", page.Handler(client.State))
	if decider != nil {
		for _, pattern := range decide.Addresses() {
			mux.Handle(pattern, decider)
		}
	}
	return cli.OwnName(mux)
}
