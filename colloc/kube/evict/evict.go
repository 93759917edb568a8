package evict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/metrics"
)

// Config says how an Evictor works. Fields without a default are required.
type Config struct {
	// Client evicts. It must not wait and try again by itself where a budget leaves no
	// room.
	Client kubernetes.Interface
	// Metrics count, Events tell users, Log says what it does; nil is nowhere.
	Metrics *metrics.Metrics
	Events  record.EventRecorder
	Log     *slog.Logger
	// Most is how many pods are evicted within a Pause; 0 means 3, and 10 minutes.
	Most  int
	Pause time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Defaults of Config.
const (
	DefaultMost  = 3
	DefaultPause = 10 * time.Minute
)

// ErrLimit means that too many pods were evicted lately.
var ErrLimit = errors.New("evict: too many pods were evicted lately")

// Evictor evicts pods. Make one with [New]. Safe for concurrent use.
type Evictor struct {
	config Config
	mu     sync.Mutex
	done   []time.Time // within the last Pause
}

// New returns an Evictor that has evicted nobody.
func New(c Config) (*Evictor, error) {
	if c.Client == nil || c.Now == nil || c.Most < 0 || c.Pause < 0 {
		return nil, errors.New("evict: config: want a Client, a clock Now, and Most and Pause of 0 for the default or more")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Most, c.Pause = cmp.Or(c.Most, DefaultMost), cmp.Or(c.Pause, DefaultPause)
	return &Evictor{config: c}, nil
}

// Evict evicts a pod for a reason, and tells it in a text. The error says why it runs on:
// [ErrLimit], or what the API server answered, which is apierrors.IsTooManyRequests where
// a disruption budget leaves no room.
func (e *Evictor) Evict(ctx context.Context, pod *corev1.Pod, reason, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.room(1); err != nil {
		e.note(pod, reason, err)
		return err
	}
	return e.evict(ctx, pod, reason, text)
}

// All evicts pods for a reason, or none of them if the limit or the API server would
// refuse one now: each is asked about first. That one was refused all the same, because
// two have one budget, is an error too; the others are evicted then.
func (e *Evictor) All(ctx context.Context, list []*corev1.Pod, reason, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, pod := range list {
		err := e.room(len(list))
		if err == nil {
			err = e.ask(ctx, pod, metav1.DryRunAll)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			e.note(pod, reason, err)
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	var errs []error
	for _, pod := range list {
		if err := e.evict(ctx, pod, reason, text); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	return errors.Join(errs...)
}

// room reports whether n pods may be evicted now.
func (e *Evictor) room(n int) error {
	now := e.config.Now()
	e.done = slices.DeleteFunc(e.done, func(at time.Time) bool { return now.Sub(at) >= e.config.Pause })
	if len(e.done)+n > e.config.Most {
		return fmt.Errorf("%w: %d within %v, and %d more are wanted where %d are allowed", ErrLimit, len(e.done), e.config.Pause, n, e.config.Most)
	}
	return nil
}

// ask sends the eviction of this very pod.
func (e *Evictor) ask(ctx context.Context, pod *corev1.Pod, dryRun ...string) error {
	return e.config.Client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}, DryRun: dryRun},
	})
}

func (e *Evictor) evict(ctx context.Context, pod *corev1.Pod, reason, text string) error {
	err := e.ask(ctx, pod)
	e.note(pod, reason, err)
	if err != nil {
		return err
	}
	e.done = append(e.done, e.config.Now())
	if e.config.Events != nil {
		e.config.Events.Event(pod, corev1.EventTypeWarning, "Evicted", text)
	}
	return nil
}

// note counts what became of an eviction.
func (e *Evictor) note(pod *corev1.Pod, reason string, err error) {
	result := "done"
	switch {
	case errors.Is(err, ErrLimit):
		result = "limit"
	case apierrors.IsTooManyRequests(err): // a budget; whoever wants it asks again
		result = "budget"
	case err != nil:
		result = "failed"
	}
	if e.config.Metrics != nil {
		e.config.Metrics.Evicted(reason, result)
	}
	if err != nil {
		e.config.Log.Warn("not evicted", "pod", pod.Namespace+"/"+pod.Name, "reason", reason, "err", err)
	} else {
		e.config.Log.Info("evicted", "pod", pod.Namespace+"/"+pod.Name, "reason", reason)
	}
}
