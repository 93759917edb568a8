//go:build kube

package kubetest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Faults is an API server that does not do as it is told with some of the writes.
type Faults struct {
	// URL is where it listens.
	URL string

	mu   sync.Mutex
	rng  *rand.Rand
	rate float64
	n    map[string]int
}

// The kinds of faults, each as likely as the others.
const (
	conflict = "409"             // somebody else was faster
	busy     = "429"             // come again in a second
	broken   = "500"             // nothing was written
	late     = "504 but written" // the answer is a time-out, the object is changed
	lost     = "cut but written" // no answer, the object is changed
)

// Faults starts a server before the API server that fails with a rate in [0, 1] of all
// writes, in an order that the seed decides. It ends with the test.
func (c *Cluster) Faults(rate float64, seed uint64) *Faults {
	c.tb.Helper()
	target, err := url.Parse(c.Server)
	if err != nil {
		c.tb.Fatal(err)
	}
	f := &Faults{rng: rand.New(rand.NewPCG(seed, 0)), rate: rate, n: make(map[string]int)}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,                                                                                               // a watch is never full
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}, //nolint:gosec // a server of this test
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(proxy, w, r) }))
	server.EnableHTTP2 = true
	server.Config.BaseContext = func(net.Listener) context.Context { return c.tb.Context() } // a watch ends with the test, or Close waits for it
	server.StartTLS()                                                                        // no client sends a token in the clear
	c.tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.URL = server.URL
	return f
}

// Counts returns how often each kind of fault has happened.
func (f *Faults) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.n)
}

// draw says what is to happen to a request, "" for what it asks.
func (f *Faults) draw(r *http.Request) string {
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method) {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rng.Float64() >= f.rate {
		return ""
	}
	kinds := []string{conflict, busy, broken, late, lost}
	kind := kinds[f.rng.IntN(len(kinds))]
	f.n[kind]++
	return kind
}

func (f *Faults) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	switch f.draw(r) {
	case conflict:
		refuse(w, r, http.StatusConflict, metav1.StatusReasonConflict)
	case busy:
		w.Header().Set("Retry-After", "1")
		refuse(w, r, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case broken:
		refuse(w, r, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case late:
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		refuse(w, r, http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	case lost:
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // how net/http is told to cut the connection
	default:
		proxy.ServeHTTP(w, r)
	}
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, r *http.Request, code int32, reason metav1.StatusReason) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the connection can be used again
	status := apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "a fault that the test makes",
	}}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(status.ErrStatus) // who asked has gone
}
