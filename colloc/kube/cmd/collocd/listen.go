package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/colloc/colloc/kube/controller"
	"example.com/colloc/colloc/kube/metrics"
	"example.com/colloc/internal/few"
)

// stepTime is how long a step may take before the loop counts as dead: a full round over
// 10,000 pods takes half a second.
const stepTime = 2 * time.Minute

// What those may ask for who reach the port, which may be every pod of the cluster: as much
// as kubelets and some Prometheus need. Nobody keeps the kubelet's probes out from one address.
const (
	maxHeader       = 4 << 10 // bytes
	requestTime     = 5 * time.Second
	answerTime      = time.Minute
	mostConnections = 128
	mostOfOne       = 8
)

// listen serves /metrics, /readyz, which says whether the caches are filled, and /healthz,
// which says whether the loop goes on, until stop is called.
func listen(ctx context.Context, addr string, registry *prometheus.Registry, c *controller.Controller, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("-metrics-addr: %w", err)
	}
	log.Info("serving /metrics and /healthz", "addr", l.Addr().String())
	return serveAt(l, registry, c), nil
}

// serveAt serves at a listener until stop is called.
func serveAt(l net.Listener, registry *prometheus.Registry, c *controller.Controller) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
	answer := func(path, fault string, ok func() bool) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if !ok() {
				http.Error(w, fault, http.StatusServiceUnavailable)
				return
			}
			_, _ = io.WriteString(w, "ok\n")
		})
	}
	answer("/readyz", "the caches are not filled: the log says what cannot be read", c.Ready)
	answer("/healthz", "the loop has not come to its end for too long", func() bool { return c.Idle() < stepTime })
	server := &http.Server{
		Handler: mux, MaxHeaderBytes: maxHeader,
		ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: answerTime,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(few.Listener(l, mostConnections, mostOfOne, few.Address))
	}()
	return func() {
		_ = server.Close()
		<-done
	}
}

// nowAndThen asks for what the metrics tell no more often than once in a time, for the books
// stand still meanwhile.
func nowAndThen(every time.Duration, state func() metrics.State) func() metrics.State {
	var mu sync.Mutex
	var asked time.Time
	var last metrics.State
	return func() metrics.State {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); asked.IsZero() || now.Sub(asked) >= every {
			asked, last = now, state()
		}
		return last
	}
}
