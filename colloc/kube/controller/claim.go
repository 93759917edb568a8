package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
)

// claim makes the claim of a pod that is placed, if there is none yet, and returns what
// points the pod to it.
func (c *Controller) claim(ctx context.Context, pod *corev1.Pod, at api.Placement) ([]corev1.PodResourceClaimStatus, error) {
	want, err := claims.For(pod, at)
	if err != nil {
		return nil, err
	}
	if err := c.insist(ctx, func() error { return c.createClaim(ctx, want) }); err != nil { // not found is that its namespace is gone, or about to go
		return nil, fmt.Errorf("controller: claim of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return claims.Status(pod, at), nil
}

// createClaim creates a claim once. One of its name is the same: the name says whose it
// is and what it asks for.
func (c *Controller) createClaim(ctx context.Context, want *resourcev1.ResourceClaim) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := c.config.Client.ResourceV1().ResourceClaims(want.Namespace).Create(ctx, want, metav1.CreateOptions{FieldManager: api.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// complete makes the claim of a pod that was placed by somebody who did not live to make
// it, or could not.
func (c *Controller) complete(ctx context.Context, b *books.Bound) {
	status, err := c.claim(ctx, b.Pod, b.At)
	if err == nil {
		err = c.patchStatus(ctx, b.Pod, statusPatch(b.Pod, status))
	}
	if err != nil { // not found too, until the pod is seen to be gone
		c.wrote(err)
		c.later(b.Pod, "NoClaim", "it is placed, but cannot start", err)
		return
	}
	c.claimed.Store(b.Pod.UID, claims.Name(b.Pod, b.At))
	c.retries.Delete(b.Pod.UID)
}

// retry is when something for a pod that could not be done is tried again.
type retry struct {
	at   time.Time
	wait time.Duration
	said bool // that it is no matter of time
}

// maxRetry is the most time between two tries.
const maxRetry = 5 * time.Minute

// due reports whether something for a pod may be tried.
func (c *Controller) due(pod *corev1.Pod) bool {
	return !c.config.Now().Before(c.retryOf(pod).at)
}

// retryOf is the zero retry for a pod for which nothing has failed.
func (c *Controller) retryOf(pod *corev1.Pod) retry {
	v, _ := c.retries.Load(pod.UID)
	r, _ := v.(retry)
	return r
}

// later notes that something for a pod could not be done: it is tried again after a
// second, then after twice the time. What the API server will not do its user is told,
// once, with a reason and a text.
func (c *Controller) later(pod *corev1.Pod, reason, text string, err error) {
	r := c.retryOf(pod)
	r.wait = min(max(2*r.wait, time.Second), maxRetry)
	r.at = c.config.Now().Add(r.wait)
	c.config.Log.Warn(reason, "pod", pod.Namespace+"/"+pod.Name, "again", r.wait, "err", err)
	if definite(err) && !r.said {
		r.said = true
		if c.config.Events != nil {
			c.config.Events.Eventf(pod, corev1.EventTypeWarning, reason, "%s: %.800v", text, err)
		}
	}
	c.retries.Store(pod.UID, r)
}

// leave takes the claim of a pod that the scheduler refuses away, unless it has just
// taken it, and lets the books decide again.
func (c *Controller) leave(ctx context.Context, b *books.Bound) {
	gone, err := c.unclaim(ctx, b)
	switch {
	case err != nil:
		c.wrote(err)
		c.config.Log.Warn("claim not taken back", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "err", err)
	case gone:
		c.config.Log.Info("the scheduler refuses it: deciding again", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "gpu", b.At.GPU())
		c.claimed.Delete(b.Pod.UID)
		c.retries.Delete(b.Pod.UID)
		c.config.Books.Leave(b.Pod.UID)
		c.Wake()
	}
}

// unclaim deletes a claim that holds nothing, and reports whether it is gone.
func (c *Controller) unclaim(ctx context.Context, b *books.Bound) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	of := c.config.Client.ResourceV1().ResourceClaims(b.Pod.Namespace)
	claim, err := of.Get(ctx, claims.Name(b.Pod, b.At), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case claim.Status.Allocation != nil:
		return false, nil // it is about to start
	}
	err = of.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, nil
	}
	return false, err
}

// errNoClaims means that the API server is too old for claims.
var errNoClaims = errors.New("controller: the API server does not serve resource.k8s.io/v1, which claims need: Kubernetes 1.36 is the first that counts them by default")
