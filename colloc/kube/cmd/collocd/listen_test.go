package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc/kube/controller"
	"example.com/colloc/colloc/kube/metrics"
)

// serving is the address of a collocd that decides nothing.
func serving(t *testing.T) string {
	t.Helper()
	var f flags
	f.maxSet = 2
	all, err := f.books(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.New(controller.Config{Client: fake.NewClientset(), Books: all, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := serveAt(l, prometheus.NewRegistry(), c)
	t.Cleanup(stop)
	return l.Addr().String()
}

// Who takes all connections that one address may have, and says nothing, keeps no other
// address's probe out.
func TestListenHostile(t *testing.T) {
	addr := serving(t)
	from := func(ip string) *net.Dialer { return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}} }
	for range 3 * mostOfOne {
		c, err := from("127.0.0.2").DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Skipf("this system has one address alone: %v", err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	probe := http.Client{Transport: &http.Transport{DialContext: from("127.0.0.1").DialContext}}
	ask := func(method, path, header string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X", header)
		resp, err := probe.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, tt := range []struct {
		method, path, header string
		want                 int
	}{
		{http.MethodGet, "/healthz", "", http.StatusOK},
		{http.MethodGet, "/metrics", "", http.StatusOK},
		{http.MethodGet, "/debug/pprof/heap", "", http.StatusNotFound},
		{http.MethodGet, "/metrics/../etc", "", http.StatusNotFound},
		{http.MethodPost, "/v1/decide", "", http.StatusNotFound},
		{http.MethodGet, "/healthz", strings.Repeat("x", 64<<10), http.StatusRequestHeaderFieldsTooLarge},
	} {
		if got := ask(tt.method, tt.path, tt.header); got != tt.want {
			t.Errorf("%s %s with %d bytes: %d, want %d", tt.method, tt.path, len(tt.header), got, tt.want)
		}
	}
}

// The books are asked at most once in a time, whoever asks for metrics.
func TestNowAndThen(t *testing.T) {
	asked := 0
	state := nowAndThen(time.Hour, func() metrics.State {
		asked++
		return metrics.State{Pending: asked}
	})
	for range 3 {
		if got := state().Pending; got != 1 {
			t.Errorf("told %d, want what was told at first", got)
		}
	}
}
