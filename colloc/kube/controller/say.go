package controller

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/pods"
)

// news reports whether a reason is not the one that the pod was told last.
func (c *Controller) news(pod *corev1.Pod, reason string) bool {
	last, told := c.said.Load(pod.UID)
	if !told {
		if said := pods.Said(pod); said != nil {
			last = said.Reason
		}
	}
	c.said.Store(pod.UID, reason)
	return last != reason
}

// refuse says why a pod waits.
func (c *Controller) refuse(ctx context.Context, r *books.Refusal) {
	c.say(ctx, r.Pod, pods.Condition(false, r.Reason, r.Text))
}

// maxMessage is the most text of a condition and of an Event.
const maxMessage = 1024

// say writes our condition and an Event. That it could not be written hurts nobody but
// the reader; it is said again.
func (c *Controller) say(ctx context.Context, pod *corev1.Pod, condition corev1.PodCondition) {
	if len(condition.Message) > maxMessage {
		condition.Message = condition.Message[:maxMessage]
	}
	if c.config.Events != nil {
		kind := corev1.EventTypeNormal
		if condition.Status != corev1.ConditionTrue && !c.config.Shadow {
			kind = corev1.EventTypeWarning
		}
		c.config.Events.Event(pod, kind, condition.Reason, condition.Message)
	}
	condition.LastTransitionTime = metav1.NewTime(c.config.Now())
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{condition}},
	})
	if err != nil {
		return
	}
	for try := range maxTries {
		if try > 0 {
			c.config.Pause(ctx, try-1)
		}
		if err = c.patchStatus(ctx, pod, body); err == nil || gone(err) || definite(err) || ctx.Err() != nil {
			break
		}
		c.wrote(err)
	}
	if err != nil && !gone(err) {
		if !definite(err) { // what may not be written is not tried for ever
			c.said.Delete(pod.UID) // Unsaid says it again, or the next refusal
		}
		c.config.Log.Warn("condition not written", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}

func (c *Controller) patchStatus(ctx context.Context, pod *corev1.Pod, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := c.config.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{FieldManager: api.FieldManager}, "status")
	return err
}
