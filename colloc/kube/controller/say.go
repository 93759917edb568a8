package controller

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/pods"
)

// news notes a reason that a pod is to be told, and reports whether it is not the one that it was told last.
func (c *Controller) news(pod *corev1.Pod, reason string) bool {
	last, told := c.said.Load(pod.UID)
	if !told {
		if said := pods.Said(pod); said != nil {
			last = said.Reason
		}
	}
	if last == reason {
		return false
	}
	c.said.Store(pod.UID, reason)
	return true
}

// refuse says why a pod waits.
func (c *Controller) refuse(ctx context.Context, r *books.Refusal) {
	c.say(ctx, r.Pod, pods.Condition(false, r.Reason, r.Text))
}

// maxMessage is the most text of a condition and of an Event.
const maxMessage = 1024

// say writes our condition and an Event, and with it what points the pod to its claim. A
// condition that could not be written hurts nobody but the reader; it is said again.
func (c *Controller) say(ctx context.Context, pod *corev1.Pod, condition corev1.PodCondition, points ...corev1.PodResourceClaimStatus) {
	condition.Message = short(condition.Message)
	if c.config.Events != nil {
		kind := corev1.EventTypeNormal
		if condition.Status != corev1.ConditionTrue && !c.config.Shadow {
			kind = corev1.EventTypeWarning
		}
		c.config.Events.Event(pod, kind, condition.Reason, condition.Message)
	}
	condition.LastTransitionTime = metav1.NewTime(c.config.Now())
	body := statusPatch(pod, points, condition)
	if err := c.insist(ctx, func() error { return c.patchStatus(ctx, pod, body) }); err != nil && !gone(err) {
		c.claimed.Delete(pod.UID)
		if !definite(err) { // what may not be written is not tried for ever
			c.said.Delete(pod.UID) // Unsaid says it again, or the next refusal
		}
		c.config.Log.Warn("condition not written", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}

// short is a text as far as there is room for it, to the end of a character.
func short(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
}

// statusPatch adds what a pod is told and points it to claims.
func statusPatch(pod *corev1.Pod, points []corev1.PodResourceClaimStatus, conditions ...corev1.PodCondition) []byte {
	status := map[string]any{}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(points) > 0 {
		status["resourceClaimStatuses"] = points
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return nil // unreachable: the types of Kubernetes can be written
	}
	return body
}

func (c *Controller) patchStatus(ctx context.Context, pod *corev1.Pod, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := c.config.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{FieldManager: api.FieldManager}, "status")
	return err
}
