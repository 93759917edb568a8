package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/pods"
)

// get reads a pod; another one of its name is none.
func (c *Controller) get(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	now, err := c.config.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if now.UID != pod.UID {
		return nil, errOther
	}
	return pods.Needed(now), nil
}

var errOther = errors.New("controller: there is another pod of that name")

// gone reports whether a pod is no more.
func gone(err error) bool { return apierrors.IsNotFound(err) || errors.Is(err, errOther) }

// definite reports whether an error says that a write was not done and will not be.
func definite(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// isUnclear reports whether an error leaves open whether a write was done.
func isUnclear(err error) bool {
	return !definite(err) && !gone(err) && !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err)
}

// insist sends a write until it is done, will not be done, or was tried often enough, and returns what became of the last try.
func (c *Controller) insist(ctx context.Context, write func() error) (err error) {
	for try := range maxTries {
		if try > 0 {
			c.config.Pause(ctx, try-1)
		}
		if err = write(); err == nil || gone(err) || definite(err) || ctx.Err() != nil {
			return err
		}
		c.wrote(err)
	}
	return err
}

// wrote counts an error of a write.
func (c *Controller) wrote(err error) {
	if c.config.Metrics == nil {
		return
	}
	reason := string(apierrors.ReasonForError(err))
	switch {
	case reason != "":
	case errors.Is(err, context.DeadlineExceeded):
		reason = "Timeout"
	default:
		reason = "Unknown"
	}
	c.config.Metrics.WriteError(reason)
}
