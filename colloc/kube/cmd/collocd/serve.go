package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/controller"
	"example.com/colloc/colloc/kube/evict"
	"example.com/colloc/colloc/kube/groups"
	"example.com/colloc/colloc/kube/metrics"
	"example.com/colloc/colloc/kube/observe"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/profiles"
	"example.com/colloc/colloc/kube/volumes"
)

// connect returns how the API server is reached, and the namespace that is meant where
// none is named.
func connect(kubeconfig string) (config *rest.Config, namespace string, err error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules() // $KUBECONFIG, then the home's file, then the pod's account
	loading.ExplicitPath = kubeconfig
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil)
	if config, err = from.ClientConfig(); err == nil {
		namespace, _, err = from.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("no API server: %w; name a file with -kubeconfig, or run in a pod", err)
	}
	config.QPS, config.Burst = -1, -1 // the API server has its own priority and fairness
	config.UserAgent = api.FieldManager
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, namespace, nil
}

// serve runs until ctx is over.
func serve(ctx context.Context, f *flags, logTo io.Writer) error {
	if f.binding != "annotate" && f.binding != "claim" {
		return fmt.Errorf("-binding is %q, want annotate or claim", f.binding)
	}
	log := slog.New(slog.NewTextHandler(logTo, nil))
	config, _, err := connect(f.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var known profiles.Store
	var bound groups.Store
	var stored volumes.Store
	all, err := f.books(known.Known, bound.Pods, stored.Refuses)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var c *controller.Controller // made below, before anybody asks for metrics
	counted, err := metrics.New(registry, nowAndThen(time.Second, func() metrics.State { return stateOf(all, c.Idle()) }))
	if err != nil {
		return err
	}
	events := record.NewBroadcaster()
	defer events.Shutdown()
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: api.FieldManager})
	look, err := f.observer(config, observe.Config{Books: all, Metrics: counted, Events: recorder, Log: log, Now: time.Now})
	evictor, none := f.evictor(config, evict.Config{Metrics: counted, Events: recorder, Log: log, Now: time.Now})
	if err := errors.Join(err, none); err != nil {
		return err
	}
	c, err = controller.New(controller.Config{
		Begin: f.recall(all), Evictor: evictor, Observe: look, ObserveEvery: f.observeEvery,
		Client: client, Books: all, Metrics: counted, Log: log, Shadow: f.shadow, Claims: f.claims(), Unpinned: !f.pin, Window: f.window, Writers: f.writers, Now: time.Now,
		Events: recorder,
	})
	if err != nil {
		return err
	}
	stop, err := listen(ctx, f.metricsAddr, registry, c, log)
	if err != nil {
		return err
	}
	defer stop()
	if err := errors.Join(watchProfiles(ctx, config, client, &known, all, c.Wake, log), watchGroups(ctx, config, client, &bound, all, c.Wake), stored.Watch(ctx, client, all.Reconsider)); err != nil {
		return err
	}
	election, err := f.election()
	if err != nil {
		return err
	}
	if err := c.Run(ctx, election); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// watchProfiles keeps the Profiles, if the API server knows any.
func watchProfiles(ctx context.Context, config *rest.Config, client kubernetes.Interface, known *profiles.Store, all *books.Books, wake func(), log *slog.Logger) error {
	served, err := profiles.Served(client.Discovery())
	if err != nil {
		return err
	}
	if !served {
		log.Warn("the API server does not know Profiles: every task runs alone; install their definition and start again", "resource", profiles.Resource().GroupResource().String())
		return nil
	}
	dynamics, err := dynamicClient(config)
	if err != nil {
		return err
	}
	return known.Watch(ctx, dynamics, func(namespace, name string) {
		all.Refresh(namespace, name)
		wake()
	})
}

// watchGroups keeps the PodGroups, if the API server serves any.
func watchGroups(ctx context.Context, config *rest.Config, client kubernetes.Interface, bound *groups.Store, all *books.Books, wake func()) error {
	dynamics, r, err := groupsClient(config, client)
	if err != nil || dynamics == nil {
		return err
	}
	return bound.Watch(ctx, dynamics, r, func(namespace, name string) {
		all.Regroup(namespace, name)
		wake()
	})
}

// groupsClient is one for PodGroups, and the name under which they are served; nil is that
// none are.
func groupsClient(config *rest.Config, client kubernetes.Interface) (dynamic.Interface, schema.GroupVersionResource, error) {
	r, served, err := groups.Served(client.Discovery())
	if err != nil || !served {
		return nil, r, err
	}
	dynamics, err := dynamicClient(config)
	return dynamics, r, err
}

// dynamicClient is one for Profiles, which are JSON.
func dynamicClient(config *rest.Config) (dynamic.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", ""
	return dynamic.NewForConfig(config)
}

// claims says whether pods are bound by ResourceClaims.
func (f *flags) claims() bool { return f.binding == "claim" }

// books are those that the flags ask for, without anything in them.
func (f *flags) books(known func(namespace, name string) pods.Known, bound pods.Groups, stored func(string, []string, *corev1.Node) string) (*books.Books, error) {
	planner, err := f.planner()
	if err != nil {
		return nil, err
	}
	tenancy, err := pods.ParseTenancy(f.share)
	if err != nil {
		return nil, fmt.Errorf("-share: %w", err)
	}
	return books.New(books.Config{Planner: planner, Profile: known, Groups: bound, Volumes: stored, Tenancy: tenancy, Batch: f.batch, Shadow: f.shadow, Claims: f.claims(), Unpinned: !f.pin, Limits: f.gpus, Preempt: f.preempts(), Patience: f.patience, Now: time.Now})
}

// election is that which the flags ask for; nil is none.
func (f *flags) election() (*controller.Election, error) {
	if !f.leaderElect {
		return nil, nil //nolint:nilnil // nil is none
	}
	identity := f.identity
	if identity == "" {
		var err error
		if identity, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("-identity is empty and the host has no name: %w", err)
		}
	}
	return &controller.Election{Namespace: f.leaseNamespace, Identity: identity}, nil
}

// stateOf is what the metrics tell of the books.
func stateOf(b *books.Books, idle time.Duration) metrics.State {
	s := metrics.State{Pending: b.Pending(), Plugins: b.Plugins(), Drift: b.Drift(), Idle: idle}
	for _, c := range b.Cards() {
		s.Cards = append(s.Cards, metrics.Card{Node: c.Node, Device: c.Device, Tasks: len(c.Tasks), Reserved: c.Reserved, Over: c.Over})
	}
	return s
}
