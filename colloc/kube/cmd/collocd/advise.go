package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc/kube/advice"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/prom"
)

// advise says which pods could share. It writes nothing there.
func advise(ctx context.Context, f *flags, window time.Duration, most int, asJSON bool, out io.Writer) error {
	if f.prometheus == "" {
		return errors.New("-prometheus names no server; kubectl port-forward makes one of a cluster reachable")
	}
	config, _, err := connect(f.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	planner, err := f.planner()
	if err != nil {
		return err
	}
	tenancy, err := pods.ParseTenancy(f.share)
	if err != nil {
		return fmt.Errorf("-share: %w", err)
	}
	r, err := advice.New(ctx, advice.Config{
		Client: client, Prometheus: &prom.Server{URL: f.prometheus, Timeout: f.queryTime}, Planner: planner, Tenancy: tenancy, Window: window,
	})
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	return r.Write(out, most)
}
