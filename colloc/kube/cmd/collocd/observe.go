package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/observe"
	"example.com/colloc/colloc/kube/seen"
	"example.com/colloc/internal/replace"
)

// planner is a new one, or that which an earlier collocd has written.
func (f *flags) planner() (*colloc.Planner, error) {
	config := colloc.Config{LeaveOutFaulty: true}
	if f.state == "" {
		return colloc.New(config)
	}
	file, err := os.Open(f.state)
	if errors.Is(err, os.ErrNotExist) {
		return colloc.New(config)
	}
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only
	p, err := colloc.Load(file, config)
	if err != nil {
		return nil, fmt.Errorf("-state %s: %w; move it away to begin anew", f.state, err)
	}
	return p, nil
}

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
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return atOnce{next} })
	if c.Client, err = kubernetes.NewForConfig(own); err != nil {
		return nil, err
	}
	c.Prometheus, c.Policy, c.Window = &seen.Prometheus{URL: f.prometheus}, observe.Policy(f.alarm), f.observeWindow
	o, err := observe.New(c)
	if err != nil {
		return nil, err
	}
	k := &keeper{file: f.state, planner: c.Planner}
	return func(ctx context.Context) error {
		if err := o.Step(ctx); err != nil {
			return err
		}
		return k.keep(o.Taught())
	}, nil
}

// keeper keeps what a planner has learned in a file; none is nowhere.
type keeper struct {
	file    string
	planner *colloc.Planner
	kept    int // observations that the file tells of
}

// keep writes the file if there is more to tell than it does; what fails is tried again.
func (k *keeper) keep(taught int) error {
	if k.file == "" || taught == k.kept {
		return nil
	}
	if err := replace.File(k.file, func(file *os.File) error { return errors.Join(k.planner.Save(file), file.Sync()) }); err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	k.kept = taught
	return nil
}
