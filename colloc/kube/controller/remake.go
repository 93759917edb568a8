package controller

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
)

// remake deletes a pod that can never start where it was placed, so that its owner makes
// another, which is decided anew.
func (c *Controller) remake(ctx context.Context, s *books.Stuck) {
	c.config.Books.Shun(s.Pod.UID) // first: its owner is fast
	err := c.deleteStuck(ctx, s)
	switch {
	case err == nil:
		c.retries.Delete(s.Pod.UID)
		c.config.Log.Info("cannot start: deleted, for its owner makes another", "pod", s.Pod.Namespace+"/"+s.Pod.Name, "gpu", s.At.GPU(), "reason", s.Reason)
		if c.config.Metrics != nil {
			c.config.Metrics.Evicted(s.Reason, "done")
		}
		if c.config.Events != nil {
			c.config.Events.Event(s.Pod, corev1.EventTypeWarning, s.Reason, s.Text)
		}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), errors.Is(err, errStarts): // the watch tells what it is now
	default:
		c.wrote(err)
		c.later(s.Pod, "NotDeleted", "it cannot start, and collocd cannot delete it so that its owner makes another", err)
	}
}

// errStarts means that a pod reached a node after all.
var errStarts = errors.New("controller: the pod is on a node")

// deleteStuck says in the condition DisruptionTarget that a pod does not end by a fault of
// its own, as a Job's podFailurePolicy reads it, and deletes it. Both hold for the pod as
// it was read: one that was bound meanwhile stays.
func (c *Controller) deleteStuck(ctx context.Context, s *books.Stuck) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.Pod.UID, "resourceVersion": s.Pod.ResourceVersion},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: s.Reason, Message: s.Text, LastTransitionTime: metav1.NewTime(c.config.Now()),
		}}},
	})
	if err != nil {
		return err
	}
	of := c.config.Client.CoreV1().Pods(s.Pod.Namespace)
	pod, err := of.Patch(ctx, s.Pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: api.FieldManager}, "status")
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != "" {
		return errStarts
	}
	return of.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}})
}
