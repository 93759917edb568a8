package main

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/colloc/colloc/kube/evict"
	"example.com/colloc/colloc/kube/observe"
	"example.com/colloc/colloc/kube/prom"
)

// atOnce lets client-go return what the API server refuses for now, such as an eviction
// for which a budget leaves no room, and not wait and ask again: the next look does.
type atOnce struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (a atOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// atOnceClient is a client that does not wait for the API server.
func atOnceClient(config *rest.Config) (kubernetes.Interface, error) {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return atOnce{next} })
	return kubernetes.NewForConfig(own)
}

// evictor sends pods away for those that have no room; nil is that nobody does.
func (f *flags) evictor(config *rest.Config, c evict.Config) (*evict.Evictor, error) {
	if !f.preempts() {
		return nil, nil //nolint:nilnil // nil is none
	}
	var err error
	if c.Client, err = atOnceClient(config); err != nil {
		return nil, err
	}
	c.Most, c.Pause = f.preempt, f.evictPause
	return evict.New(c)
}

// preempts says whether pods are evicted for others that have no room.
func (f *flags) preempts() bool { return f.preempt > 0 && !f.shadow }

// observer returns what looks at all that runs and keeps what it teaches; nil is that
// nobody is to look.
func (f *flags) observer(config *rest.Config, c observe.Config) (func(context.Context) error, error) {
	if f.prometheus == "" {
		return nil, nil //nolint:nilnil // nil is none
	}
	var err error
	if c.Profiles, err = dynamicClient(config); err != nil {
		return nil, err
	}
	if c.Client, err = atOnceClient(config); err != nil {
		return nil, err
	}
	c.Prometheus, c.Policy, c.Window = &prom.Server{URL: f.prometheus}, observe.Policy(f.alarm), f.observeWindow
	c.Most, c.Pause, c.QueryTime = f.evictMost, f.evictPause, f.queryTime
	o, err := observe.New(c)
	if err != nil {
		return nil, err
	}
	k := &keeper{flags: f, books: c.Books}
	return func(ctx context.Context) error {
		return errors.Join(o.Step(ctx), k.keep(o.Learned())) // kept too where Step was the last
	}, nil
}
